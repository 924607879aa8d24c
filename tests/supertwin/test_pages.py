"""Pages that are generated from code match the code, and are linked."""

from pathlib import Path

import pytest

from api.web.built_pages import BUILT
from core.settings.tools import CHECKOUT
from supertwin.cli.main import main
from supertwin.pages import pages, write_pages

PAGES = pages(main)
DOCS = CHECKOUT / "docs"


@pytest.mark.parametrize("name", sorted(PAGES.keys() - BUILT))
def test_generated_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == PAGES[name], "run `make docs`"


def test_git_ignores_pages_that_are_built(tmp_path: Path) -> None:
    ignored = (CHECKOUT / ".gitignore").read_text("utf-8").split()
    assert BUILT and all(name.startswith("built/") for name in BUILT)
    assert "/docs/built/" in ignored
    written = {path.relative_to(tmp_path) for path in write_pages(tmp_path, main)}
    assert written == {Path(name) for name in PAGES}


def test_only_the_index_links_to_built_pages() -> None:
    """The repository does not contain these pages; the index says how to get them."""
    pages = [*CHECKOUT.glob("*.md"), *DOCS.glob("*.md"), *DOCS.glob("reference/*.md")]
    linking = {path: text for path in pages if "](built/" in (text := path.read_text())}
    assert linking.keys() == {DOCS / "index.md"}
    assert "make docs`" in linking[DOCS / "index.md"]


def test_every_page_is_linked_from_the_index() -> None:
    text = (DOCS / "index.md").read_text("utf-8")
    paths = (*DOCS.glob("*.md"), *DOCS.glob("reference/*.md"))
    pages = {str(path.relative_to(DOCS)) for path in paths} - {"index.md"}
    assert not [name for name in pages | BUILT.keys() if f"({name})" not in text]


def test_reference_has_a_guide_of_one_page() -> None:
    references = list(DOCS.glob("reference/*.md"))
    assert references
    for reference in references:
        guide = (DOCS / reference.name).read_text("utf-8")
        assert f"(reference/{reference.name})" in guide
        assert len(guide.split()) <= 500, reference.name


def test_readme_and_change_log_are_short() -> None:
    assert len((CHECKOUT / "README.md").read_text("utf-8").splitlines()) <= 120
    _, *versions = (CHECKOUT / "CHANGELOG.md").read_text("utf-8").split("\n## ")
    assert max(len(version.split()) for version in versions) <= 800


def test_readme_links_to_the_index() -> None:
    assert "(docs/index.md)" in (CHECKOUT / "README.md").read_text("utf-8")
