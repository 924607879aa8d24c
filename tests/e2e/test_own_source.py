"""The guide to an own source, followed literally."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ports import free_ports
from tests.servers import ENDS_WITH_US, ROOT, wait_until
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

GUIDE = (ROOT / "docs/own-source.md").read_text("utf-8")
PORT = "9900"
VISITS = "openmetrics.room.visits_total"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.S)


def commands(port: str) -> list[list[str]]:
    """Return the words of each `supertwin` command of the guide, in order."""
    lines = "".join(blocks("sh")).replace("\\\n", "").splitlines()
    words = [line.replace(PORT, port).split() for line in lines]
    return [one[1:] for one in words if one and one[0] == "supertwin"]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """Write the guide's program; yields it and its port."""
    (port,) = free_ports(1)
    path = tmp_path / "room.py"
    (code,) = blocks("python")
    path.write_text(code.replace(PORT, str(port)))
    yield path, str(port)


@contextmanager
def started(path: Path) -> Iterator[None]:
    words = [*ENDS_WITH_US, sys.executable, str(path)]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def verdict(stack: Stack) -> str:
    done = stack.run("why", VISITS, check=False)
    return done.stdout.splitlines()[0].partition(": ")[2]


def test_guide_works_as_written(stack: Stack, program: tuple[Path, str]) -> None:
    path, port = program
    add_exporter, add_plan, why, why_again, *rest = commands(port)
    remove_plan, remove_exporter, add_waits = rest
    assert why == why_again == ["why", VISITS]
    assert len(path.read_text().splitlines()) <= 20
    with started(path):
        wait_until(lambda: stack.run(*add_exporter, check=False).returncode == 0)
        printed = stack.run(*add_exporter).stdout.splitlines()
        assert printed[1:] == [
            "openmetrics.room.temperature_celsius",
            "openmetrics.room.visits_total",
        ]
        stack.run(*add_plan)
        wait_until(lambda: verdict(stack) == "data", what="values")
        page = stack.get("/dashboards/plan:room", accept="text/html", host=HOST)
        assert page.status_code == 200
    wait_until(lambda: verdict(stack) == "exporter down", what="its end")
    with started(path):
        wait_until(lambda: verdict(stack) == "data", what="values again")
    stack.run(*remove_plan)
    stack.run(*remove_exporter)
    stack.run(*add_waits)
    stack.run("sample", "remove", "waits")
