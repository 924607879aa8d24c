"""PMU events and roles, from the graph through PCP to values, with real counters.

This machine's kernel counts software events and msr without hardware counters.
"""

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.linux import pmapi
from tests.e2e.processor import OWN, PREFIX, known_processor, why_no_role
from tests.servers import wait_until
from tests.stack import HOST, Stack

PERF = "perf::PERF_COUNT_SW_"
FAULTS = ("PAGE_FAULTS_MIN", "PAGE_FAULTS_MAJ", "PAGE_FAULTS")


ZERO = "software::alignment-faults"
ZEROES = "perfevent.hwcounters.software.alignment_faults.value"


@pytest.fixture
def counting(stack: Stack) -> Iterator[Stack]:
    """Remove the plans, and what a test adds to the graph, afterwards."""
    with known_processor(stack):
        yield stack
    for plan in plans(stack).keys() - {"monitor"}:
        stack.run("sample", "remove", plan)
    drop = f"""DELETE {{ GRAPH ?g {{ ?s ?p ?o }} }} WHERE {{ GRAPH ?g {{ ?s ?p ?o }}
      FILTER (STRSTARTS(STR(?s), "{stack.base}/role/T")) }}"""
    stack.update(drop)
    assert not exposed(stack)
    wait_until(lambda: not hwcounters(stack), what="the end of the agent")


def add(stack: Stack, plan: str, *words: str) -> str:
    return stack.run("sample", "add", *words, "--plan", plan).stdout


def events(*names: str) -> list[str]:
    return [word for name in names for word in ("--event", name)]


def plans(stack: Stack) -> dict[str, dict[str, Any]]:
    rows = json.loads(stack.run("sample", "list", "--format", "json").stdout)
    return {row["plan"]: row for row in rows}


def address(stack: Stack) -> str:
    return f"unix://{stack.home}/pmu/run/pmcd.socket"


def printed(stack: Stack, metric: str) -> dict[str, float]:
    """Return the values of a metric by instance, as PCP's pminfo prints them."""
    done = subprocess.run(
        ["pminfo", "-h", address(stack), "-f", metric],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r'inst \[\d+ or "(.*)"\] value (.*)', done.stdout)
    return {name: float(value) for name, value in found}


def hwcounters(stack: Stack) -> set[str]:
    """Return the agent's metrics in PCP, counted or not."""
    with pmapi.Context(address(stack)) as context:
        found = context.names()
    return {name for name in found if name.startswith("perfevent.hwcounters.")}


def exposed(stack: Stack) -> set[str]:
    """Return the agent's metrics in the twin."""
    rows = stack.sparql(
        f"""PREFIX st: <https://w3id.org/supertwin/ns#>
        SELECT ?name {{ ?node st:hostname "{HOST}" ; st:exposes ?metric .
          ?metric st:samplerName ?name .
          FILTER (STRSTARTS(?name, "perfevent.hwcounters.")) }}"""
    )
    return {name for (name,) in rows}


def refused(stack: Stack, *words: str) -> str:
    done = stack.run(*words, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    *cost, line = done.stderr.splitlines()
    assert all(one.startswith("it adds") for one in cost), cost
    return line


def points(stack: Stack, metric: str, instance: str = "") -> dict[int, float]:
    """Return the points of a metric, or of one instance of it, by ms."""
    name = metric.replace(".", "_") + (f'{{instname="{instance}"}}' if instance else "")
    answer = httpx.get(f"{stack.store}/api/v1/export", params={"match[]": name})
    found: dict[int, float] = {}
    for line in map(json.loads, answer.text.splitlines()):
        found |= dict(zip(line["timestamps"], line["values"], strict=True))
    return found


def watched(stack: Stack, change: Callable[[], object]) -> list[str]:
    """Return how fetches from other agents failed during a change."""
    stop, failures = threading.Event(), []

    def watch() -> None:
        own = f"unix://{stack.home}/pmcd/run/pmcd.socket"
        with pmapi.Context(own) as context:
            ids = context.identifiers(["kernel.all.load", "disk.all.read"])
            pmids, last = pmapi.pmid_array(ids), time.monotonic()
            while not stop.wait(0.01):
                try:
                    context.fetch(pmids)
                except pmapi.PmError as error:
                    failures.append(str(error))
                if time.monotonic() - last > 2:
                    failures.append("a fetch waited for more than 2 s")
                last = time.monotonic()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        change()
    finally:
        stop.set()
        watcher.join()
    return failures


def test_adding_an_event_plan_costs_other_plans_few_ticks(
    counting: Stack,
) -> None:
    add(counting, "first", *events(ZERO), "--period", "10ms")
    wait_until(lambda: points(counting, ZEROES, "cpu0"), what="the first points")
    more = ("msr::tsc", f"{PERF}CPU_CLOCK")
    failures = watched(
        counting, lambda: add(counting, "second", *events(*more), "--period", "50ms")
    )
    assert not failures
    # The first event may have another number in PCP now.
    clock = "perfevent.hwcounters.perf__PERF_COUNT_SW_CPU_CLOCK.value"
    wait_until(lambda: points(counting, clock, "cpu0"), what="points of the second")
    until = time.time() * 1000
    wait_until(
        lambda: max(points(counting, ZEROES, "cpu0")) > until, what="more of the first"
    )
    found = points(counting, ZEROES, "cpu0")
    assert set(found.values()) == {0.0}
    tsc = "perfevent.hwcounters.msr.tsc.value"
    wait_until(lambda: max(points(counting, tsc, "cpu0")) > until, what="more of TSC")
    # A counter's first value may be 0.
    counted = [n for ms, n in points(counting, tsc, "cpu0").items() if ms > until]
    assert min(counted) > 0
    cpus = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
    for name in exposed(counting):
        values = printed(counting, name)
        assert values.keys() == cpus, name
        if name.endswith(".dutycycle"):
            assert set(values.values()) == {1.0}
    began, first, since = time.monotonic(), printed(counting, clock), time.monotonic()
    time.sleep(1)
    until, second, ended = time.monotonic(), printed(counting, clock), time.monotonic()
    seconds = (second["cpu0"] - first["cpu0"]) / 1e9  # of one CPU
    assert 0.95 * (until - since) < seconds < 1.05 * (ended - began)


def test_points_of_events_are_estimated(counting: Stack) -> None:
    def estimated(*words: str) -> Any:
        return json.loads(counting.run("sample", "estimate", *words, "--json").stdout)

    wanted = (*events(ZERO, "msr::tsc"), "--period", "0.2s")
    added, before = estimated(*wanted), estimated("--fleet")
    add(counting, "predicted", *wanted)
    given = sum(len(printed(counting, name)) for name in exposed(counting))
    assert given == added["series"]
    assert added["points_per_second"] == 5 * given
    after = estimated("--fleet")
    assert after["series"] - before["series"] == given
    assert not estimated(*wanted)["series"]


def test_refusing_agent_changes_nothing(counting: Stack) -> None:
    add(counting, "good", *events(ZERO), "--period", "1s")
    before = plans(counting), exposed(counting)
    cycles = ("--event", "perf::PERF_COUNT_HW_CPU_CYCLES", "--period", "1s")
    line = refused(counting, "sample", "add", *cycles)
    assert re.search(r"HW_CPU_CYCLES: \S.* \(cpu\d+\) \[not-countable\]$", line)
    # The graph refuses this after the agent's change, which is then undone.
    tsc = ("--event", "msr::tsc", "no.such.metric", "--period", "1s")
    assert "no metric 'no.such.metric'" in refused(counting, "sample", "add", *tsc)
    assert before == (plans(counting), exposed(counting))
    wait_until(lambda: printed(counting, ZEROES), what="the old configuration")
    assert not printed(counting, "perfevent.hwcounters.msr.tsc.value")


def test_plans_share_an_event(counting: Stack) -> None:
    add(counting, "slow", *events(ZERO), "--period", "1s")
    agent = agents(counting)
    add(counting, "fast", *events(ZERO), "kernel.all.load", "--period", "200ms")
    assert agents(counting) == agent, "nothing changed for the agent"
    assert (
        plans(counting)["fast"]["events"] == plans(counting)["slow"]["events"] == ZERO
    )
    asked = ("query", "telemetry/sampled", "--metric", ZEROES, "--format", "json")
    rows = json.loads(counting.run(*asked).stdout)
    assert {row["period"] for row in rows} == {"0.2"}
    counting.run("sample", "remove", "slow")
    assert agents(counting) == agent
    assert ZEROES in exposed(counting)
    found = counting.get("/plans", "application/json", host=HOST).json()
    assert {plan["plan"]: plan["events"] for plan in found} == {
        **{"monitor": [], "fast": [ZERO]}
    }
    counting.run("sample", "remove", "fast")
    assert not exposed(counting)


def agents(stack: Stack) -> set[int]:
    """Return the process of the agent."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            own = str(stack.home).encode() in b" ".join(words)
        except OSError:
            continue
        if own and words[0].endswith(b"pmdaperfevent"):
            found.add(int(path.name))
    assert len(found) == 1
    return found


def test_invalid_input_gives_one_line(stack: Stack) -> None:
    """Events and roles that this kernel does not count; other errors show earlier."""

    def error_of(*words: str) -> str:
        return refused(stack, "sample", "add", *words, "--period", "1s")

    before = plans(stack)
    # On some processors msr has other events, too.
    assert re.search(r"it has (\w+, )*tsc", error_of("--event", "msr::x"))
    assert why_no_role(stack) in error_of("--role", "FLOPs")
    assert plans(stack) == before
    assert "name what to count" in refused(stack, "perfevent", "show")
    line = refused(stack, "perfevent", "show", "--host", "nowhere", "--role", "FLOPs")
    assert "the graph knows no PMU of nowhere" in line


def role_of_this_machine(stack: Stack) -> None:
    """Add a role to the graph: twice the page faults, as weighted sum of both kinds."""
    base = stack.base
    terms = "\n".join(
        f"""?formula st:hasTerm <{base}/role/T/m/{number}> .
        <{base}/role/T/m/{number}> a st:RoleTerm ; st:weight 2.0 ;
          st:countsEvent <{base}/pmu/perf/PERF_COUNT_SW_{event}> ."""
        for number, event in enumerate(FAULTS[:2])
    )
    update = f"""{PREFIX} PREFIX qudt: <http://qudt.org/schema/qudt/>
    INSERT {{ GRAPH <{base}/graph/roles> {{
      <{base}/role/Twice> a st:Role ; st:roleName "Twice" ;
        qudt:hasUnit <http://qudt.org/vocab/unit/NUM> .
      ?formula a st:RoleFormula ; st:measures <{base}/role/Twice> ;
        st:forModel ?core ; st:countScope "thread" ; st:citation "a test" .
      {terms}
    }} }} WHERE {{ {OWN}
      BIND (IRI(CONCAT("{base}/role/T/", ?name)) AS ?formula)
    }}"""
    stack.update(update)


def ask(stack: Stack, expression: str, at: float) -> dict[str, float]:
    answer = httpx.get(
        f"{stack.store}/api/v1/query", params={"query": expression, "time": at}
    ).json()
    assert answer["status"] == "success", answer
    rows = answer["data"]["result"]
    return {row["metric"]["instname"]: float(row["value"][1]) for row in rows}


def test_role_gives_values(counting: Stack) -> None:
    """The weighted sum of both kinds is twice what the kernel counts as all faults."""
    role_of_this_machine(counting)
    words = ("--role", "Twice", "--event", f"{PERF}{FAULTS[2]}")
    shown = counting.run("perfevent", "show", *words).stdout.splitlines()
    assert {line for line in shown if line.startswith("perf::")} == {
        f"{PERF}{event}" for event in FAULTS
    }
    add(counting, "faults", *words, "--period", "1s")
    assert plans(counting)["faults"]["roles"] == "Twice"
    series = counting.run("perfevent", "expression", "Twice", "--series").stdout.split()
    all_faults = f"perfevent_hwcounters_perf__PERF_COUNT_SW_{FAULTS[2]}_value"
    names = [*series, all_faults]

    def seconds() -> int:
        now = time.time()
        found = [counting.seconds(name, now - 30, now) for name in names]
        return len(set.intersection(*found))

    wait_until(lambda: seconds() >= 8, what="points of all series")
    now = time.time()
    role = counting.run("perfevent", "expression", "Twice", "--window", "6s").stdout
    # On a busy machine the store may show the last points of some series later.
    wait_until(lambda: ask(counting, role, now), what="values of the role")
    found = ask(counting, role, now)
    expected = ask(counting, f"2 * rate({all_faults}[6s])", now)
    assert found.keys() == expected.keys() >= {"cpu0"}
    assert any(value > 0 for value in found.values())
    # The agent reads the events one by one; a fault may happen in between.
    assert found == pytest.approx(expected, rel=2e-2)
    duty = counting.run("perfevent", "expression", "Twice", "--dutycycle").stdout
    assert set(ask(counting, duty, now).values()) == {1.0}
