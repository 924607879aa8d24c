"""`supertwin pin`: the answer on stdout, the reason on stderr, its exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pinning.tree import Tree
from tests.servers import Fuseki


@pytest.fixture
def pin(fuseki: Fuseki, tree: Tree, tmp_path: Path):
    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        user, password = fuseki.account
        environment = {
            **os.environ,
            "SUPERTWIN_HOME": str(tmp_path),
            "SUPERTWIN_FUSEKI_URL": fuseki.address,
            "SUPERTWIN_FUSEKI_USER": user,
            "SUPERTWIN_FUSEKI_PASSWORD": password,
        }
        command = [sys.executable, "-m", "supertwin", "pin", "--host", tree.host]
        return subprocess.run(
            [*command, *words], capture_output=True, text=True, env=environment
        )

    return run


def test_the_answer_alone_is_printed(pin) -> None:
    done = pin("--threads", "4", "--policy", "scatter", "--format", "taskset")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "taskset -c 0,4,8,12 COMMAND\n"
    assert "hwloc-distrib --single" in done.stderr


def test_json_is_what_the_api_answers(pin) -> None:
    done = pin("--ranks", "2", "--threads", "2", "--map", "socket", "--json")
    found = json.loads(done.stdout)
    assert [one["threads"] for one in found["places"]] == [[0, 1], [8, 9]]
    assert found["queries"][0]["name"] == "pinning/threads"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--threads", "30", "--policy", "distinct:l3"], "8 L3 caches, 30 asked"),
        (["--threads", "0"], "at least 1 is needed"),
        (["--threads", "-4"], "at least 1 is needed"),
        (["--threads", "1000000000"], "ask for 1 to 100000"),
        (["--threads", "2", "--policy", "near:gpu=x"], "no such gpu"),
        (["--threads", "2", "--policy", "likwid:S0:0-"], "is none of 0-3, S0:0-3"),
        (["--threads", "1", "--host", "nowhere"], "no host 'nowhere'"),
        (["--threads", "1", "--host", "a b"], "a b"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_2(pin, words: list[str], said: str):
    done = pin(*words)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
