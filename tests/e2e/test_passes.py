"""Runs whose events are counted in several passes, or share counters."""

import json
import re
from typing import Any

import pytest

from tests.observed import observing, outcome, runs, wait_for_line
from tests.servers import wait_until
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

EVENTS = ("software::task-clock", "software::context-switches", "software::cpu-clock")
NAMED = [word for event in EVENTS for word in ("--event", event)]
WORDS = (*NAMED, "--every", "100ms", "--cpus", "0")
PASSES = (*WORDS, "--events-per-pass", "2")


def asked(stack: Stack, query: str, id_: str) -> list[dict[str, Any]]:
    words = ("query", f"observations/{query}", "--id", id_, "--format", "json")
    found: list[dict[str, Any]] = json.loads(stack.run(*words).stdout)
    return found


def group_of(stack: Stack, iri: str) -> str:
    assert outcome(stack, iri)
    return str(asked(stack, "runs", iri)[0]["group"])


def no_plan_is_left(stack: Stack) -> bool:
    words = ("query", "telemetry/plan-events", "--host", HOST, "--format", "json")
    return not json.loads(stack.run(*words).stdout)


def test_each_pass_counts_other_events(stack: Stack) -> None:
    done = stack.run("observe", "--repeat", "2", *PASSES, "--", "sleep", "0.3")
    found = runs(done.stderr)
    assert [how for how, _ in found] == ["completed"] * 4
    lines = done.stderr.splitlines()
    common = "software::page-faults"
    assert f"supertwin: pass 2 of 2 counts {EVENTS[2]}, {common}" in lines
    assert (
        len(re.findall(r"the 2 passes of round [12] differ by: wall time", done.stderr))
        == 2
    )
    counted = [
        {r["metric"] for r in asked(stack, "statistics", iri)} for _, iri in found
    ]
    assert counted[0] == counted[2] != counted[1] == counted[3]
    assert "perfevent.hwcounters.software.page_faults.value" in counted[0] & counted[1]
    rows = asked(stack, "passes", group_of(stack, found[0][1]))
    assert {(row["round"], row["pass"], row["passes"]) for row in rows} == {
        (1, 2, 2),
        (2, 2, 2),
    }
    assert {row["figure"] for row in rows} == {"duration", "CPU time", "common event"}
    assert all(float(row["spread"]) >= 0 for row in rows)
    wait_until(lambda: no_plan_is_left(stack))


def test_events_that_fit_need_no_passes(stack: Stack) -> None:
    done = stack.run("observe", "--passes", *WORDS, "--", "sleep", "0.2")
    ((how, iri),) = runs(done.stderr)
    assert (how, outcome(stack, iri)) == ("completed", "completed")
    assert asked(stack, "passes", iri) == []


def test_failed_pass_ends_the_rest(stack: Stack) -> None:
    done = stack.run("observe", *PASSES, "--", "sh", "-c", "exit 3", check=False)
    assert done.returncode == 3
    ((how, iri),) = runs(done.stderr)
    assert (how, outcome(stack, iri)) == ("failed", "failed")
    assert "pass 1 of 2 failed: the passes after it were not run" in done.stderr
    assert "[pass-failed]" in done.stderr
    wait_until(lambda: no_plan_is_left(stack))


def test_interrupt_ends_all_passes(stack: Stack) -> None:
    script = "echo ready; sleep 60"
    with observing(stack, *PASSES, "--", "sh", "-c", script) as process:
        wait_for_line(process, "ready")
        process.terminate()
        _, output = process.communicate()
    ((how, iri),) = runs(output)
    assert (how, outcome(stack, iri)) == ("cancelled", "cancelled")
    wait_until(lambda: no_plan_is_left(stack))


def test_shared_counters_say_how_long_each_event_had_one(stack: Stack) -> None:
    done = stack.run("observe", "--multiplex", *WORDS, "--", "sleep", "0.3")
    ((_, iri),) = runs(done.stderr)
    assert outcome(stack, iri)
    rows = asked(stack, "statistics", iri)
    shares = {row["dutycycle"] for row in rows if row["metric"].endswith(".value")}
    # Events of the kernel's software have no counters to share.
    assert {float(share) for share in shares} == {1.0}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--passes", "--multiplex", *NAMED), "bad-observation"),
        (("--passes",), "bad-observation"),
        (("--passes", "--event", "nope::x"), "not-countable"),
        (("--multiplex",), "bad-observation"),
    ],
)
def test_impossible_requests_are_refused(
    stack: Stack, words: tuple[str, ...], code: str
) -> None:
    done = stack.run("observe", *words, "--", "true", check=False)
    assert done.returncode != 0
    assert f"[{code}]" in done.stderr
