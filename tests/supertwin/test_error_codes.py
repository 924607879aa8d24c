"""Every error has a stable code, which the command line and the API show alike."""

import ast
import re
from collections import Counter
from functools import cache

import pytest

from core.errors import FAILED, USER_CAN_FIX, ApiError, error_code, exit_code
from core.settings.tools import CHECKOUT
from supertwin.error_page import Occurrence, all_occurrences, error_classes
from tests.test_layout import SOURCES

CLASSES = error_classes()
WITH_CODE = [kind for kind in CLASSES if "code" in vars(kind)]
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Their instances get the code as an argument.
OF_API = [kind for kind in CLASSES if issubclass(kind, ApiError)]


@cache
def occurrences() -> list[Occurrence]:
    """All of them, which parses every module once."""
    return [*all_occurrences()]


def test_codes_of_classes_are_unique() -> None:
    found = Counter(kind.code for kind in WITH_CODE)
    assert len(WITH_CODE) > 80
    assert not [code for code, times in found.items() if times > 1]


def test_every_error_that_is_raised_has_its_own_code() -> None:
    """A class without a code is only the root of others."""
    roots = {kind.__name__ for kind in CLASSES if kind not in (*WITH_CODE, *OF_API)}
    raised = {
        node.func.id
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not roots & raised


def test_every_code_is_short_and_documented() -> None:
    page = (CHECKOUT / "docs" / "errors.md").read_text("utf-8")
    for one in occurrences():
        assert CODE.fullmatch(one.code) and len(one.code) <= 26, one
        assert re.search(rf"^\| `{one.code}` \| \w.* \|", page, re.M), one


def test_no_code_has_two_titles() -> None:
    titles: dict[str, set[str]] = {}
    for one in occurrences():
        titles.setdefault(one.code, set()).add(one.meaning)
    assert not {code: found for code, found in titles.items() if len(found) > 1}


def test_converted_errors_keep_their_titles() -> None:
    """Only `api_error` makes an answer from an error: its title is that of the code."""
    own_title = re.compile(r"\b(Api|NotFound|BadQuery)Error\([^()]*\b[a-z_]+\.code\b")
    found = {path.name for path in SOURCES if own_title.search(path.read_text("utf-8"))}
    assert found == {"errors.py"}


@pytest.mark.parametrize(
    "error", [FileNotFoundError(2, ""), PermissionError(13, ""), OSError(28, "")]
)
def test_page_has_the_exit_statuses_of_file_errors(error: OSError) -> None:
    found = {(one.code, one.exit_code) for one in occurrences()}
    assert (error_code(error), exit_code(error)) in found


def test_every_class_has_an_exit_status_and_an_http_status() -> None:
    for kind in WITH_CODE:
        assert kind.exit_code in (FAILED, USER_CAN_FIX), kind
        assert 400 <= kind.status < 600, kind
