"""Pages under docs/ that are generated from code match the code."""

import pytest

from core.settings.tools import CHECKOUT
from supertwin.cli.main import main
from supertwin.pages import pages

PAGES = pages(main)


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_up_to_date(name: str) -> None:
    page = CHECKOUT / "docs" / name
    assert page.read_text("utf-8") == PAGES[name], "run `make docs`"


def test_every_page_is_linked_from_the_index() -> None:
    index = CHECKOUT / "docs" / "index.md"
    text = index.read_text("utf-8")
    pages = {path.name for path in index.parent.glob("*.md")} - {index.name}
    assert not [name for name in pages if f"({name})" not in text]


def test_readme_links_to_the_index() -> None:
    assert "(docs/index.md)" in (CHECKOUT / "README.md").read_text("utf-8")
