"""PMU events and roles, from the graph through PCP into values: with real counters.

What this machine's kernel counts without a processor's counters: software events, msr.
"""

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

import pmapi
from tests.servers import wait_until
from tests.stack import HOST, Stack

PERF = "perf::PERF_COUNT_SW_"
FAULTS = ("PAGE_FAULTS_MIN", "PAGE_FAULTS_MAJ", "PAGE_FAULTS")


@pytest.fixture
def counting(stack: Stack) -> Iterator[Stack]:
    """A stack whose agent, and what a test put into the graph, is gone afterwards."""
    yield stack
    stack.run("perfevent", "off")
    base = stack.base
    starts = [f"{base}/role/T", f"{base}/twin/{HOST}/plan/pmu."]
    tests = " || ".join(f'STRSTARTS(STR(?s), "{start}")' for start in starts)
    each = "GRAPH ?g { ?s ?p ?o }"
    drop = f"DELETE {{ {each} }} WHERE {{ {each} FILTER ({tests}) }}"
    url = f"{stack.fuseki}/twin/update"
    httpx.post(url, data={"update": drop}).raise_for_status()
    assert not exposed(stack)


def address(stack: Stack) -> str:
    return f"unix://{stack.home}/pmcd/run/pmcd.socket"


def printed(stack: Stack, metric: str) -> dict[str, float]:
    """The values of a metric by instance, as PCP's own pminfo prints them."""
    done = subprocess.run(
        ["pminfo", "-h", address(stack), "-f", metric],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r'inst \[\d+ or "(.*)"\] value (.*)', done.stdout)
    return {name: float(value) for name, value in found}


def hwcounters(stack: Stack) -> set[str]:
    """What PCP has of the agent, counted or not."""
    with pmapi.Context(address(stack)) as context:
        found = context.names()
    return {name for name in found if name.startswith("perfevent.hwcounters.")}


def exposed(stack: Stack) -> set[str]:
    """What the twin has of it."""
    rows = stack.sparql(
        f"""PREFIX st: <https://w3id.org/supertwin/ns#>
        SELECT ?name {{ ?node st:hostname "{HOST}" ; st:exposes ?metric .
          ?metric st:samplerName ?name .
          FILTER (STRSTARTS(?name, "perfevent.hwcounters.")) }}"""
    )
    return {name for (name,) in rows}


def refused(stack: Stack, *words: str) -> str:
    done = stack.run("perfevent", *words, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    return line


def test_events_count_and_the_other_agents_lose_nothing(counting: Stack) -> None:
    stop, failures, gaps = threading.Event(), [], []

    def watch() -> None:
        with pmapi.Context(address(counting)) as context:
            pmids = pmapi.pmid_array(
                context.identifiers(["kernel.all.load", "disk.all.read"])
            )
            last = time.monotonic()
            while not stop.wait(0.01):
                try:
                    with context.fetch(pmids):
                        pass
                except pmapi.PmError as error:
                    failures.append(str(error))
                gaps.append(time.monotonic() - last)
                last = time.monotonic()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        asked = ("software::context-switches", "msr::tsc", f"{PERF}CPU_CLOCK")
        names = counting.run(
            "perfevent", "apply", *(word for e in asked for word in ("--event", e))
        ).stdout.split()
    finally:
        stop.set()
        watcher.join()
    assert not failures
    assert max(gaps) < 2, f"a fetch waited {max(gaps):.3f} s"
    assert set(names) == exposed(counting) < hwcounters(counting)
    assert len(names) == 6
    cpus = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
    for name in names:
        values = printed(counting, name)
        assert values.keys() == cpus, name
        if name.endswith(".dutycycle"):
            assert set(values.values()) == {1.0}
    clock = "perfevent.hwcounters.perf__PERF_COUNT_SW_CPU_CLOCK.value"
    first, begin = printed(counting, clock)["cpu0"], time.monotonic()
    time.sleep(1)
    second, end = printed(counting, clock)["cpu0"], time.monotonic()
    # Nanoseconds of one CPU.
    assert (second - first) / 1e9 == pytest.approx(end - begin, rel=0.2)


def test_another_configuration_replaces_the_first(counting: Stack) -> None:
    counting.run("perfevent", "apply", "--event", "msr::tsc")
    assert {name.split(".")[2] for name in exposed(counting)} == {"msr"}
    counting.run("perfevent", "apply", "--event", "software::page-faults")
    assert {name.split(".")[3] for name in exposed(counting)} == {"page_faults"}
    assert printed(counting, "perfevent.hwcounters.software.page_faults.value")
    assert not printed(counting, "perfevent.hwcounters.msr.tsc.value")
    # What the kernel refuses is said in its words, and nothing has changed.
    line = refused(counting, "apply", "--event", "perf::PERF_COUNT_HW_CPU_CYCLES")
    assert re.search(r"PERF_COUNT_HW_CPU_CYCLES: \S.* \(cpu\d+\)$", line)
    assert printed(counting, "perfevent.hwcounters.software.page_faults.value")
    counting.run("perfevent", "off")
    wait_until(lambda: not hwcounters(counting), what="the end of the agent")


def test_bad_input_is_one_line(stack: Stack) -> None:
    assert "name what to count" in refused(stack, "apply")
    assert "is no event: write" in refused(stack, "apply", "--event", "a b")
    assert "perf has no event NOPE" in refused(stack, "apply", "--event", "perf::NOPE")
    assert f"{HOST} has no PMU zz" in refused(stack, "apply", "--event", "zz::A")
    assert "it has tsc" in refused(stack, "apply", "--event", "msr::x")
    assert "no such role: Nope" in refused(stack, "show", "--role", "Nope")
    line = refused(stack, "show", "--host", "nowhere", "--role", "FLOPs")
    assert "the graph knows no PMU of nowhere" in line


def role_of_this_machine(stack: Stack) -> None:
    """Put a role into the graph: all page faults, as the sum of both kinds."""
    base = stack.base
    terms = "\n".join(
        f"""?formula st:hasTerm <{base}/role/T/m/{number}> .
        <{base}/role/T/m/{number}> a st:RoleTerm ; st:weight 2.0 ;
          st:countsEvent <{base}/pmu/perf/PERF_COUNT_SW_{event}> ."""
        for number, event in enumerate(FAULTS[:2])
    )
    update = f"""PREFIX st: <https://w3id.org/supertwin/ns#>
    PREFIX qudt: <http://qudt.org/schema/qudt/>
    INSERT {{ GRAPH <{base}/graph/roles> {{
      <{base}/role/Twice> a st:Role ; st:roleName "Twice" ;
        qudt:hasUnit <http://qudt.org/vocab/unit/NUM> .
      ?formula a st:RoleFormula ; st:measures <{base}/role/Twice> ;
        st:forModel ?core ; st:countScope "thread" ; st:citation "a test" .
      {terms}
    }} }} WHERE {{
      ?node st:hostname "{HOST}" . ?unit st:isPartOf ?node ; st:pmuModel ?core .
      ?core st:countScope "thread" ; st:pmuName ?name .
      BIND (IRI(CONCAT("{base}/role/T/", ?name)) AS ?formula)
    }}"""
    httpx.post(
        f"{stack.fuseki}/twin/update", data={"update": update}
    ).raise_for_status()


def sample(stack: Stack, metrics: list[str]) -> None:
    """Plan metrics at one second, as a plan of this host."""
    base = stack.base
    plans = "\n".join(
        f"""<{base}/twin/{HOST}/plan/pmu.{number}> a st:SamplingPlan ;
          st:planName "pmu" ; st:ofHost <{base}/twin/{HOST}> ; st:period 1.0 ;
          st:samples <{base}/metric/{metric}> ."""
        for number, metric in enumerate(metrics)
    )
    update = f"""PREFIX st: <https://w3id.org/supertwin/ns#>
    INSERT DATA {{ GRAPH <{base}/graph/plans/{HOST}> {{ {plans} }} }}"""
    httpx.post(
        f"{stack.fuseki}/twin/update", data={"update": update}
    ).raise_for_status()


def ask(stack: Stack, expression: str, at: float) -> dict[str, float]:
    answer = httpx.get(
        f"{stack.store}/api/v1/query", params={"query": expression, "time": at}
    ).json()
    assert answer["status"] == "success", answer
    rows = answer["data"]["result"]
    return {row["metric"]["instname"]: float(row["value"][1]) for row in rows}


def test_a_role_becomes_values(counting: Stack) -> None:
    """Faults of both kinds, weighted, are what the kernel counts as all faults."""
    role_of_this_machine(counting)
    words = ("--role", "Twice", "--event", f"{PERF}{FAULTS[2]}")
    shown = counting.run("perfevent", "show", *words).stdout.splitlines()
    assert {line for line in shown if line.startswith("perf::")} == {
        f"{PERF}{event}" for event in FAULTS
    }
    metrics = counting.run("perfevent", "apply", *words).stdout.split()
    sample(counting, metrics)
    series = counting.run("perfevent", "expression", "Twice", "--series").stdout.split()
    all_faults = f"perfevent_hwcounters_perf__PERF_COUNT_SW_{FAULTS[2]}_value"
    names = [*series, all_faults]

    def points() -> int:
        now = time.time()
        found = [counting.seconds(name, now - 30, now) for name in names]
        return len(set.intersection(*found))

    wait_until(lambda: points() >= 8, 60, "points of all series")
    now = time.time()
    role = counting.run("perfevent", "expression", "Twice", "--window", "6s").stdout
    found = ask(counting, role, now)
    expected = ask(counting, f"2 * rate({all_faults}[6s])", now)
    assert found.keys() == expected.keys() >= {"cpu0"}
    assert any(value > 0 for value in found.values())
    # The agent reads one event after the other; a fault may fall between.
    assert found == pytest.approx(expected, rel=1e-3)
    duty = counting.run("perfevent", "expression", "Twice", "--dutycycle").stdout
    assert set(ask(counting, duty, now).values()) == {1.0}
