"""Each shape file against its cases: which conform, and the report of the others.

A case is judged by our certifier (`is_valid`) and by pySHACL (`examine`).
"""

from pathlib import Path

import pytest
from rdflib import SH, Graph

from shapes.load import shape_paths
from shapes.validate import examine, is_valid

FOLDER = Path(__file__).parent
STEMS = [path.stem for path in shape_paths()]
CASES = sorted(FOLDER.glob("*/*.ttl"))


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _approved(case: Path) -> list[str]:
    """The approved report; empty if the case is valid."""
    text = case.with_suffix(".txt")
    return text.read_text("utf-8").splitlines() if text.exists() else []


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_case_is_reported_as_approved(case: Path) -> None:
    data = Graph().parse(case)
    report = examine(data)
    assert report.lines == _approved(case)
    assert report.conforms == case.stem.startswith(("valid", "warning"))
    assert is_valid(data) == (not report.lines)


def test_every_case_belongs_to_a_shape_file() -> None:
    assert {case.parent.name for case in CASES} == set(STEMS)


def test_every_report_belongs_to_a_case() -> None:
    cases = {case.with_suffix("") for case in CASES}
    assert {text.with_suffix("") for text in FOLDER.glob("*/*.txt")} <= cases


def test_every_shape_is_broken_by_a_case() -> None:
    """A shape that no case breaks may check nothing."""
    approved = "\n".join("\n".join(_approved(case)) for case in CASES)
    messages = {
        str(message)
        for path in shape_paths()
        for message in Graph().parse(path).objects(None, SH.message)
    }
    assert not [message for message in messages if message not in approved]
