"""Every verdict of /why, from evidence alone."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.stores.series_store import StoredSample
from queries.diagnosis import MetricFacts
from sampling.account.account import LATE, SLOW_SOURCE
from sampling.account.bridge_status import BridgeStatus, read_bridge
from sampling.account.reasons import GapCause, GapReason
from sampling.sources.pcp_texts import TOO_MANY
from sampling.sources.source import NO_VALUE
from sampling.why.verdict import CgroupSeen, Counter, Evidence, judge
from tests.bridge_status import write_status

STATUS: dict[str, Any] = {
    "host": "n1",
    "pcp": {"address": "local:", "connected": True, "reason": None},
    "store": {"up": True, "reason": None},
    "metrics": {},
}
KNOWN = MetricFacts(
    host=True,
    pcp_asked=True,
    metric=True,
    exposed=True,
    plans=("monitor",),
    period=1.0,
    instances=1,
)
GOOD = Evidence("n1", "a.b", None, KNOWN, BridgeStatus(STATUS))


def sample(age: float) -> StoredSample:
    return StoredSample("1", int((time.time() - age) * 1000))


def bridge(**changes: Any) -> BridgeStatus:
    return BridgeStatus(STATUS | changes)


def known(**changes: Any) -> MetricFacts:
    return replace(KNOWN, **changes)


def now_ms() -> int:
    """The current time; valid however long the tests take on a busy machine."""
    return int(time.time() * 1000) + 3_600_000


WAIT = {"points": 7}
NO_ANSWER = "PMCD at unix:///run/pmcd.socket does not answer"
ABSENT = known(exposed=False)
AWAY = Counter("skx", "L1D:REPLACEMENT", present=False, usable=None)
HERE = Counter("icl", "L1D:REPLACEMENT", present=True, usable=None)
REFUSED = replace(HERE, usable=False)
ENDED = CgroupSeen("2026-11-21T19:54:12.102Z", gives=False)
OF_GROUP = {
    "instance": "/job_7",
    "known": known(has_instances=True, resolved_at_fetch=True),
}


def lacking(cause: GapCause) -> dict[str, Any]:
    """The metrics of a status in which one lacks its values."""
    return {"a.b": {"reason": cause.reason.value, "detail": cause.detail}}


NO_AGENT = lacking(GapCause(GapReason.AGENT, "No PMCD agent for domain of request"))
DENIED = lacking(GapCause(GapReason.DENIED, "No permission to perform"))
BEHIND = lacking(LATE)
DOWN = lacking(GapCause(GapReason.DOWN, NO_ANSWER))
# The error has another text than the source gives.
OF_ANOTHER_VERSION = {"a.b": {"reason": "not known here"}}
BROKEN = lacking(GapCause(GapReason.BROKE_OFF, "PermissionError: Permission denied"))

CASES: list[tuple[str, dict[str, Any]]] = [
    ("data", {"age": 1}),
    ("data", {"age": 20, "known": known(period=10.0)}),
    ("data", {"age": 1, "known": known(plans=())}),
    ("stale", {"age": 20}),
    ("unknown host", {"known": MetricFacts()}),
    ("unknown metric", {"known": known(metric=False, exposed=False)}),
    ("not exposed by host", {"known": known(exposed=False)}),
    ("not exposed by host", {"known": known(exposed=False, pcp_asked=False)}),
    ("PCP error", {"known": known(exposed=False, probe_reason="denied")}),
    (
        "no permission",
        {"known": known(exposed=False, probe_reason="x", probe_code="source-denied")},
    ),
    ("cgroup ended", {"age": 20, **OF_GROUP, "group": ENDED}),
    ("cgroup ended", {**OF_GROUP, "group": ENDED, "bridge": BridgeStatus({}, "away")}),
    ("data", {"age": 1, **OF_GROUP, "group": ENDED}),
    ("no value", {**OF_GROUP, "group": CgroupSeen("", gives=False)}),
    ("not yet sampled", {**OF_GROUP, "group": CgroupSeen("", gives=True)}),
    ("unknown instance", {"instance": "x"}),
    (
        "unknown instance",
        {"instance": "x", "known": known(has_instances=True, instances=0)},
    ),
    (
        "not yet sampled",
        {
            "instance": "1 init",
            "known": known(has_instances=True, instances=0, resolved_at_fetch=True),
        },
    ),
    ("not planned", {"known": known(plans=())}),
    ("plan removed", {"known": known(plans=()), "age": 99}),
    ("bridge down", {"bridge": BridgeStatus({}, "no status")}),
    ("bridge down", {"bridge": BridgeStatus(STATUS, "old"), "age": 99}),
    ("PMCD down", {"bridge": bridge(pcp={"connected": False, "reason": "refused"})}),
    ("PCP error", {"bridge": bridge(metrics=OF_ANOTHER_VERSION)}),
    ("PCP error", {"bridge": bridge(metrics=BROKEN)}),
    ("no permission", {"bridge": bridge(metrics=DENIED)}),
    ("store down", {"store_reason": "VictoriaMetrics does not answer"}),
    ("store down", {"bridge": bridge(store={"up": False, "reason": "refused"})}),
    ("not yet sampled", {}),
    ("not yet sampled", {"bridge": bridge(metrics={"other": {"reason": "x"}})}),
    ("host not sampled", {"bridge": BridgeStatus({}, "old", not_sampled="it is far")}),
    ("host not sampled", {"bridge": BridgeStatus({}, not_sampled="far"), "age": 99}),
    ("data", {"bridge": BridgeStatus({}, not_sampled="far"), "age": 1}),
    ("agent down", {"bridge": bridge(metrics=NO_AGENT), "age": 99}),
    ("bridge behind", {"bridge": bridge(metrics=lacking(SLOW_SOURCE))}),
    ("too many texts", {"bridge": bridge(metrics=lacking(TOO_MANY))}),
    ("PMCD down", {"bridge": bridge(metrics=DOWN)}),
    ("bridge behind", {"bridge": bridge(queue=WAIT | {"oldest_ms": 1}), "age": 99}),
    # The sender gathers points for a moment before it sends them.
    ("stale", {"bridge": bridge(queue=WAIT | {"oldest_ms": now_ms()}), "age": 99}),
    ("stale", {"bridge": bridge(queue=WAIT | {"oldest_ms": None}), "age": 99}),
    ("stale", {"bridge": bridge(queue={"points": 0, "reason": None}), "age": 99}),
    ("log down", {"bridge": bridge(queue={"points": 7, "reason": "x"}), "age": 99}),
    ("log down", {"bridge": bridge(queue={"reason": "x"}), "store_reason": "away"}),
    ("log down", {"bridge": bridge(metrics=BEHIND, queue={"reason": "x"}), "age": 99}),
    ("data", {"bridge": bridge(queue={"reason": "x"}), "age": 1}),
    ("multiplexed", {"duty": 0.0, "age": 1}),
    ("data", {"duty": 0.4, "age": 1}),
    ("counter not on this PMU", {"known": ABSENT, "counters": (AWAY,)}),
    ("counter not on this PMU", {"known": ABSENT, "counters": (AWAY, REFUSED)}),
    ("not exposed by host", {"known": ABSENT, "counters": (AWAY, HERE)}),
    ("data", {"counters": (AWAY,), "age": 1}),
]


@pytest.mark.parametrize(("verdict", "changes"), CASES)
def test_each_situation_has_its_verdict(verdict: str, changes: dict[str, Any]) -> None:
    last = {"sample": sample(changes["age"])} if "age" in changes else {}
    others = {name: value for name, value in changes.items() if name != "age"}
    judged = judge(replace(GOOD, **others, **last))
    assert judged.verdict == verdict
    assert judged.reason and "\n" not in judged.reason


def test_unknown_metric_suggests_similar_ones() -> None:
    lost = replace(GOOD, known=known(metric=False, exposed=False), near=("a.c", "a.d"))
    assert judge(lost).reason == "no host has a metric 'a.b'; is it 'a.c' or 'a.d'?"


def test_multiplexed_counter_reports_its_duty_cycle() -> None:
    reason = judge(replace(GOOD, sample=sample(1), duty=0.4)).reason
    assert reason.endswith("it counted 40% of the time")


def test_reason_of_pcp_is_given_once() -> None:
    judged = judge(replace(GOOD, bridge=bridge(metrics=lacking(NO_VALUE))))
    assert judged.reason == "PCP was asked for 'a.b' and answered: no value at present"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{", '"x"', "\x00", "[" * 99_999, "{}"],
    ids=lambda text: ascii(text[:9]),
)
def test_broken_status_file_is_a_reason(tmp_path: Path, text: str) -> None:
    path = write_status(tmp_path, STATUS)
    for broken in (path, tmp_path / "hosts/n1/status.json"):
        write_status(tmp_path, STATUS)
        broken.write_text(text)
        found = read_bridge(tmp_path, "n1")
        assert found.up is (text == "{}")
        said = (found.pcp_reason, found.store_reason, found.log_reason)
        assert said == ("", "", "") and found.metric_cause("a") is None
        assert found.last_tick_age is None


@pytest.mark.parametrize(
    "status",
    [
        {"pcp": 1, "store": [], "metrics": "x", "last_tick_ms": "soon"},
        {"pcp": {}, "store": {}, "metrics": {"a": None}},
        {"last_tick_ms": float("inf")},
        {"last_tick_ms": float("nan")},
        {"last_tick_ms": 10**400},
    ],
)
def test_partly_invalid_status_is_read_where_possible(
    tmp_path: Path, status: dict[str, Any]
) -> None:
    write_status(tmp_path, {"host": "n1", **status})
    found = read_bridge(tmp_path, "n1")
    assert found.up and not found.pcp_reason and not found.metric_cause("a")
    assert found.last_tick_age is None


def test_old_or_absent_status_file_gives_bridge_down(
    tmp_path: Path,
) -> None:
    assert "never wrote" in read_bridge(tmp_path, "n1").reason
    path = write_status(tmp_path, STATUS)
    assert read_bridge(tmp_path, "n1").up
    os.utime(path, (time.time() - 60,) * 2)
    assert "60 s ago" in read_bridge(tmp_path, "n1").reason


def test_any_host_name_is_sampled_or_not(tmp_path: Path) -> None:
    write_status(tmp_path, STATUS, {"n2": "no key"})
    assert "samples 'n1', but not '../n1'" in read_bridge(tmp_path, "../n1").not_sampled
    assert "cannot reach 'n2': no key" in read_bridge(tmp_path, "n2").not_sampled
    names = {f"h{n}": {} for n in range(9)}
    (tmp_path / "status.json").write_text(json.dumps({"hosts": names}))
    assert "'h4' and 4 more" in read_bridge(tmp_path, "n1").not_sampled
    assert not read_bridge(tmp_path, "h8").not_sampled


@pytest.mark.parametrize(
    ("metric", "instance", "reason"),
    [
        ("supertwin.probe.calls", "gone", "no probe of 'n1' has the name 'gone'"),
        ("supertwin.probe.calls", "bad", "probe 'bad' is not attached: no right"),
        ("supertwin.probe.latency", "send:le=256", "may only count calls"),
    ],
)
def test_probe_without_values_is_explained(
    metric: str, instance: str, reason: str
) -> None:
    probes = {"send": "attached", "bad": "no right"}
    status = BridgeStatus(STATUS, probes=probes)
    found = judge(Evidence("n1", metric, instance, KNOWN, status))
    assert found.verdict == "no value"
    assert reason in found.reason
