"""`supertwin pin`: the result on stdout, the reason on stderr, the exit status."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from core.stores.endpoint import Endpoint
from pinning.tree import Tree
from tests.command_line import supertwin
from tests.pinning.conftest import BIG
from tests.pinning.table import load
from tests.servers import Fuseki


@pytest.fixture(scope="module")
def settings(
    fuseki: Fuseki,
    twin: Endpoint,
    made_up: Callable[[str], tuple[Tree, Path]],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, str]:
    """Settings for a store that contains only the big machine."""
    tree, path = made_up(BIG)
    fuseki.empty()
    load(twin, path, tree.host)
    user, password = fuseki.account
    return {
        "HOME": str(tmp_path_factory.mktemp("home")),
        "FUSEKI_URL": fuseki.address,
        "FUSEKI_USER": user,
        "FUSEKI_PASSWORD": password,
    }


@pytest.fixture
def pin(settings: dict[str, str], tree: Tree) -> Callable[..., Result]:
    return lambda *words: supertwin(settings, "pin", "--host", tree.host, *words)


def test_stdout_has_the_placement_only(pin) -> None:
    done = pin("--threads", "4", "--policy", "scatter", "--format", "taskset")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == "taskset -c 0,4,8,12 COMMAND\n"
    assert "hwloc-distrib --single" in done.stderr
    assert "They are the rows of `supertwin query pinning/scatter --host" in done.stderr


def test_json_equals_that_of_the_api(pin) -> None:
    done = pin("--ranks", "2", "--threads", "2", "--map", "socket", "--json")
    found = json.loads(done.stdout)
    assert [one["threads"] for one in found["places"]] == [[0, 1], [8, 9]]
    assert found["queries"][0]["name"] == "pinning/threads"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threads", "30", "--policy", "distinct:l3"], "8 L3 caches, 30 asked"),
        (["--threads", "0"], "at least 1 is needed"),
        (["--threads", "-4"], "at least 1 is needed"),
        (["--threads", "1000000000"], "ask for 1 to 100000"),
        (["--threads", "2", "--policy", "near:gpu=x"], "no such gpu"),
        (["--threads", "2", "--policy", "likwid:S0:0-"], "expected one of 0-3, S0:0-3"),
        (["--threads", "1", "--host", "nowhere"], "no host 'nowhere'"),
        (["--threads", "1", "--host", "a b"], "a b"),
    ],
)
def test_invalid_request_gives_one_line_and_exit_2(pin, words: list[str], message: str):
    done = pin(*words)
    assert done.exit_code == 2, done.stderr
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
