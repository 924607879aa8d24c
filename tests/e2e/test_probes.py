"""Probes of a running program, from `supertwin probes add` to the page and back."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest
from playwright.sync_api import expect

from sampling.sources.probe_metrics import (
    ARGUMENT,
    BY_CALLS,
    CALLS,
    LATENCY,
)
from tests.e2e.observation_pages import Open
from tests.probed_program import ProbedProgram, compile_program
from tests.servers import wait_until
from tests.stack import HOST, Stack

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may probe"),
]

METRICS = tuple(metric.name for metric in (CALLS, LATENCY, BY_CALLS, ARGUMENT))


@contextmanager
def busy(binary: Path) -> Iterator[ProbedProgram]:
    """The program, which calls its functions until the end."""
    with ProbedProgram(binary) as program:
        over = Event()

        def work() -> None:
            while not over.is_set():
                for what, times in (("p", 20), ("m", 200), ("s", 100)):
                    program.call(what, times)

        thread = Thread(target=work)
        thread.start()
        try:
            yield program
        finally:
            over.set()
            thread.join()


@pytest.fixture
def program(stack: Stack, tmp_path: Path) -> Iterator[ProbedProgram]:
    """Run it, and remove the probes and the plan afterwards."""
    with busy(compile_program(tmp_path / "program")) as program:
        yield program
        for name in ("waits", "marks", "sizes"):
            stack.run("probes", "remove", name, check=False)
        stack.run("sample", "remove", "probed", check=False)


def stored(stack: Stack, metric: str, instance: str) -> list[float]:
    """The values of the series whose instance matches."""
    name = metric.replace(".", "_")
    series = f'{name}{{hostname="{HOST}",instname=~"{instance}"}}'
    answer = httpx.get(
        f"{stack.store}/api/v1/export", params={"match[]": series}, timeout=120
    )
    lines = [json.loads(line) for line in answer.text.splitlines()]
    return [line["values"][-1] for line in lines]


def why(stack: Stack, instance: str) -> str:
    """Ask the API: the browser has the event loop that the command needs."""
    asked = {"host": HOST, "metric": CALLS.name, "instance": instance}
    found = stack.get("/why", "application/json", **asked).json()
    return f"{found['verdict']}: {found['reason']}"


def test_probes_are_added_drawn_changed_and_removed_while_a_program_runs(
    stack: Stack, program: ProbedProgram, visit: Open, tmp_path: Path
) -> None:
    binary = tmp_path / "program"
    usdt = f"usdt:{binary}:demo:"
    add = ("probes", "add")
    stack.run(*add, "waits", f"uprobe:{binary}:pause_ms", "--latency", "--by", "thread")
    stack.run(*add, "marks", f"{usdt}begin", "--until", f"{usdt}end", "--yes")
    stack.run(*add, "sizes", f"{usdt}sent", "--argument", "1", "--yes")
    plan = ("--period", "200ms", "--plan", "probed")
    stack.run("sample", "add", *METRICS, *plan)
    # pause_ms takes from 1 ms: the bucket of 1.05 ms, or the next ones.
    for metric, instance in (
        (CALLS.name, "marks"),
        (LATENCY.name, "waits:le=(1048576|2097152|4194304)"),
        (LATENCY.name, "marks:le=.*"),
        (BY_CALLS.name, f"waits:tid={program.pid}"),
        (ARGUMENT.name, "sizes:le=64"),
    ):
        wait_until(
            lambda metric=metric, instance=instance: any(
                stored(stack, metric, instance)
            ),
            what=f"values of {metric} {instance}",
        )
    listed = stack.run("query", "process/probes").stdout
    assert "thread" in listed and f"{usdt}sent" in listed
    page = visit(f"/dashboards/probes?host={HOST}")
    for title in ("Latency of calls", "Values of arguments"):
        panel = page.locator("section.panel", has_text=title)
        panel.scroll_into_view_if_needed()
        expect(panel.locator("canvas").first).to_be_visible()
        expect(panel.locator(".panel-message")).to_be_hidden()
    page.screenshot(path=tmp_path / "probes.png", full_page=True)
    # Change one while the program runs: the others count on.
    before = stored(stack, CALLS.name, "marks")
    stack.run(*add, "waits", f"uprobe:{binary}:work", "--change", "--yes")
    wait_until(program.is_probed, what="the probe of work")
    wait_until(lambda: stored(stack, CALLS.name, "marks") > before, what="more calls")
    stack.run("probes", "remove", "waits")
    wait_until(lambda: not program.is_probed(), what="the end of the probe")
    wait_until(lambda: "no probe of" in why(stack, "waits"), what="the reason")
    assert why(stack, "marks").startswith("data: ")
    stack.run("sample", "remove", "probed")
