"""The metrics that a PMCD of these tests reports."""

import json
import socket
import subprocess
from threading import Thread

import pytest

from core.linux.pmapi import NO_INDOM, NO_METRIC, Context, PmError
from ingest.errors import SourceRefusedError
from ingest.sources.pcp import (
    MOST_INSTANCES,
    Answers,
    PcpMetric,
    indom_id,
    parse_pcp,
    pmid_id,
    read_pcp,
)

LINUX, PROC, PMCD = 60 << 22, 3 << 22, 2 << 22


def metric(name: str, pmid: int, indom: int = NO_INDOM) -> PcpMetric:
    return PcpMetric(name, pmid, 3, indom, 1, "millisec", "what it is")


def test_real_pmcd_is_read(pmcd: str) -> None:
    facts = read_pcp(address=pmcd)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["address"] == pmcd
    assert facts["version"]
    metrics = {metric["name"]: metric for metric in facts["metrics"]}
    assert len(metrics) > 500
    user = metrics["kernel.percpu.cpu.user"]
    assert user.pop("help").startswith("percpu user CPU time")
    assert user == {
        "name": "kernel.percpu.cpu.user",
        "pmid": "60.0.0",
        "type": "u64",
        "semantics": "counter",
        "units": "millisec",
        "indom": "60.0",
    }
    assert metrics["hinv.ncpu"]["indom"] is None
    assert facts["pmdas"]["60"] == "linux"
    assert facts["errors"] == {}
    cpus = facts["indoms"]["60.0"]
    assert cpus["stored"]
    assert ["cpu0", 0] in cpus["instances"]
    assert cpus["count"] == len(cpus["instances"])


def test_descriptors_agree_with_pminfo(pmcd: str) -> None:
    command = ["pminfo", "-h", pmcd, "-m", "mem", "disk.dev", "kernel.all"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected = dict(line.split(" PMID: ") for line in printed.splitlines())
    found = {m["name"]: m["pmid"] for m in read_pcp(address=pmcd)["metrics"]}
    assert expected
    assert {name: found[name] for name in expected} == expected


def test_changing_domains_are_not_stored(pmcd: str) -> None:
    facts = read_pcp(address=pmcd)
    indoms = {m["name"]: m["indom"] for m in facts["metrics"]}
    for name in ("proc.psinfo.utime", "hotproc.psinfo.utime", "pmcd.client.whoami"):
        domain = facts["indoms"][indoms[name]]
        assert not domain["stored"]
        assert domain["instances"] == []
    assert facts["indoms"][indoms["proc.psinfo.utime"]]["count"] > 0


def test_repeated_probes_agree(pmcd: str) -> None:
    first, second = read_pcp(address=pmcd), read_pcp(address=pmcd)
    assert first["metrics"] == second["metrics"]
    assert first["indoms"]["60.0"] == second["indoms"]["60.0"]


def test_unknown_metrics_affect_only_themselves(pmcd: str) -> None:
    with Context(pmcd) as context:
        names = ["hinv.ncpu", "no.such.metric"]
        known, unknown = context.identifiers(names)
        assert unknown == NO_METRIC != known
        with pytest.raises(PmError, match="Unknown metric name"):
            context.identifier("no.such.metric")
        described, refused = context.descriptors([known, (400 << 22) | 1])
        assert not isinstance(described, PmError)
        assert isinstance(refused, PmError)
        assert "metric identifier" in str(refused)
        assert context.help_line((400 << 22) | 1) is None


def test_missing_pmcd_is_reported() -> None:
    with pytest.raises(SourceRefusedError) as caught:
        read_pcp(address="unix:///nowhere/pmcd.socket")
    assert "no PMCD answers at unix:///nowhere/pmcd.socket" in str(caught.value)
    assert "systemctl start pmcd" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_server_is_not_a_pmcd() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        caller = Thread(target=lambda: server.accept()[0].close())
        caller.start()
        with pytest.raises(SourceRefusedError, match="no PMCD answers"):
            read_pcp(address=f"127.0.0.1:{server.getsockname()[1]}")
        caller.join()


def test_numbers_are_written_as_pcp_does() -> None:
    assert pmid_id((60 << 22) | (10 << 10) | 3) == "60.10.3"
    assert indom_id((60 << 22) | 40) == "60.40"


def test_big_and_two_dimensional_domains_are_not_stored() -> None:
    lines = [(f"{n}::cpu{n}", n) for n in range(4)]
    mixed = [("DMA::node0", 0), ("a::cpu0", 1)]
    many = [(str(n), n) for n in range(MOST_INSTANCES + 1)]
    facts = parse_pcp(
        Answers(
            address="local:",
            version="6.0.3",
            metrics=[
                metric("kernel.percpu.interrupts", LINUX, LINUX | 40),
                metric("mem.zone", LINUX | 1, LINUX | 41),
                metric("mem.slabs", LINUX | 2, LINUX | 42),
            ],
            instances={LINUX | 40: lines, LINUX | 41: mixed, LINUX | 42: many},
        )
    )
    kept = {name: domain["stored"] for name, domain in facts["indoms"].items()}
    assert kept == {"60.40": False, "60.41": True, "60.42": False}
    assert facts["indoms"]["60.42"] == {
        "instances": [],
        "count": MOST_INSTANCES + 1,
        "stored": False,
    }


def test_agents_are_named_after_their_pmdas() -> None:
    facts = parse_pcp(
        Answers(
            address="local:",
            version=None,
            metrics=[
                metric("pmcd.agent.status", PMCD, PMCD | 3),
                metric("tty.of.processes", PROC, PROC | 9),
                metric("kernel.all.load", LINUX, LINUX | 2),
            ],
            instances={
                PMCD | 3: [("proc", 3), ("linux", 60)],
                PROC | 9: [("1 init", 1)],
            },
            errors={"kernel.all.load": "instances of 60.2: No PMCD agent"},
        )
    )
    assert facts["pmdas"] == {"3": "proc", "60": "linux"}
    assert facts["indoms"]["3.9"] == {"instances": [], "count": 1, "stored": False}
    # A domain that could not be read is read again at each fetch.
    assert facts["indoms"]["60.2"] == {"instances": [], "count": 0, "stored": False}
    assert facts["errors"]["kernel.all.load"].startswith("instances of 60.2")


def test_pmu_event_keeps_its_domain() -> None:
    """perfevent numbers domains by their position in a configuration, which changes."""
    event, root = "perfevent.hwcounters.skx__INST_RETIRED_ANY_P", 127 << 22
    domains = []
    for place in (0, 5):
        names = [f"{event}.value", f"{event}.dutycycle", f"{event}_2.value"]
        places = [place, place, place + 1]
        metrics = [
            metric(name, root | at << 10, root | at)
            for name, at in zip(names, places, strict=True)
        ]
        instances = {root | at: [("cpu0", 0)] for at in places}
        facts = parse_pcp(Answers("local:", None, metrics, instances))
        domains.append([found["indom"] for found in facts["metrics"]])
        assert facts["indoms"].keys() == set(domains[-1])
        assert all(domain["count"] == 1 for domain in facts["indoms"].values())
    assert domains[0] == domains[1]
    value, duty, other = domains[0]
    assert value == duty != other
    assert value.startswith("127.")


def test_uncounted_perfevent_metrics_are_omitted() -> None:
    root, event = 127 << 22, "perfevent.hwcounters.software"
    metrics = [
        metric(f"{event}.page_faults.value", root | 1 << 10, root),
        metric(f"{event}.cpu_clock.value", root | 2 << 10, root | 1),
        metric("disk.dev.read", LINUX, LINUX | 1),
    ]
    instances: dict[int, list[tuple[str, int]]] = {
        root: [("cpu0", 0)],
        root | 1: [],
        LINUX | 1: [],
    }
    facts = parse_pcp(Answers("local:", None, metrics, instances))
    assert [found["name"] for found in facts["metrics"]] == [
        f"{event}.page_faults.value",
        "disk.dev.read",
    ]
    assert len(facts["indoms"]) == 2


def test_future_types_of_pcp_are_unknown_not_fatal() -> None:
    odd = PcpMetric("a.b", LINUX, 99, NO_INDOM, 7, "", None)
    (found,) = parse_pcp(Answers("local:", None, [odd], {}))["metrics"]
    assert (found["type"], found["semantics"], found["units"]) == (
        "unknown",
        "unknown",
        "",
    )
