"""The same failure has the same code on the command line and in the API."""

import re

import httpx
import pytest

from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

CASES = [
    ("unknown-query", ("query", "no/such"), "/queries/no/such"),
    (
        "bad-parameter",
        ("query", "cache/sharing", "--cpu", "x"),
        "/queries/cache/sharing?cpu=x",
    ),
    ("bad-policy", ("pin", "--policy", "none"), f"/pin?host={HOST}&policy=none"),
    ("unknown-host", ("pin", "--host", "n9"), "/pin?host=n9"),
    (
        "unknown-host",
        ("query", "cache/sharing", "--host", "n9"),
        "/queries/cache/sharing?host=n9",
    ),
    ("unknown-host", ("open", "n9"), "/open?name=n9"),
]


@pytest.mark.parametrize(("code", "words", "path"), CASES)
def test_command_and_api_give_the_same_code(
    stack: Stack, code: str, words: tuple[str, ...], path: str
) -> None:
    done = stack.run(*words, check=False)
    assert re.fullmatch(rf"supertwin: .*[^ ] \[{code}\]\n", done.stderr), done.stderr
    answer = httpx.get(f"{stack.api}{path}", trust_env=False)
    assert answer.json()["type"].rpartition("/")[2] == code, answer.text
