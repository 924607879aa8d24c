"""Every state of a host on the real store: what changed, when, and who saw it."""

from copy import deepcopy
from typing import Any

import pytest

from ingest.description import Description
from ingest.errors import NoSuchStateError, OtherMachineError
from ingest.history.changes import TwinChange, changes, deltas_query
from ingest.history.history import archive, forget, keep_whole
from ingest.history.states import HostState, find_state, pair, read_states, states_query
from ingest.load.publish import TwinStores, publish
from ingest.load.register import Registration, registration_delete
from ontology.terms import PROV, ST
from tests.ingest.documents import IRIS, describe_json, document

HOST = "n1"
BANKS = [{"slot": f"DIMM_{letter}1", "size": 2**34} for letter in "ABCD"]


def probed(day: int = 1, host: str = HOST, **facts: Any) -> dict[str, Any]:
    """A probe of one day: a kernel, two memory modules and a card."""
    lshw = {"memory_banks": facts.pop("banks", BANKS[:2])}
    nic = {"name": "eno1", "speed": 10**10, "up": True, "virtual": False}
    found = {"os": {"kernel": "6.1"}, "lshw": lshw, "nics": [nic], **facts}
    stamps = {
        "started": f"2026-11-{day:02}T00:00:00Z",
        "ended": f"2026-11-{day:02}T00:00:02Z",
    }
    return document(found, host) | stamps


def load(store: TwinStores, facts: dict[str, Any], **more: Any) -> Description:
    description = describe_json(facts, IRIS)
    publish(description, store, IRIS, **more)
    return description


def states(store: TwinStores, host: str = HOST) -> list[HostState]:
    return read_states(store.history.select(states_query(IRIS, host)))


def diff(store: TwinStores, first: str = "", last: str = "") -> list[TwinChange]:
    found = states(store)
    one, other = pair(found, HOST, first, last)
    rows = store.history.select(deltas_query(IRIS, HOST, one.number, other.number))
    return changes(rows, IRIS, HOST, {state.number: state for state in found})


def as_tuples(found: list[TwinChange]) -> list[tuple[Any, ...]]:
    return [(c.what, c.name, c.property or c.kind, c.before, c.after) for c in found]


def test_changes_have_a_time_and_a_probe(store: TwinStores) -> None:
    load(store, probed(1))
    load(store, probed(2))
    load(store, probed(3, banks=BANKS[1:3], os={"kernel": "6.2"}))
    found = states(store)
    assert [(s.number, s.probes, s.last_seen[:10]) for s in found] == [
        (1, 2, "2026-11-02"),
        (2, 1, "2026-11-03"),
    ]
    assert (found[0].at[:10], found[0].until[:10]) == ("2026-11-01", "2026-11-03")
    assert as_tuples(diff(store)) == [
        ("changed", "host", "kernelRelease", ["6.1"], ["6.2"]),
        ("vanished", "memory/DIMM_A1", "MemoryBank", [], []),
        ("appeared", "memory/DIMM_C1", "MemoryBank", [], []),
    ]
    gone = diff(store)[1]
    assert gone.facts["memorySize"] == [str(2**34)]
    assert (gone.state, gone.at[:10]) == (2, "2026-11-03")
    assert gone.probe == str(IRIS.component(HOST, "probe", "20261103T000000Z"))


def test_restored_value_is_not_a_change(store: TwinStores) -> None:
    for day, kernel in enumerate(("6.1", "6.2", "6.1", "6.3"), 1):
        load(store, probed(day, os={"kernel": kernel}))
    assert diff(store, "1", "3") == []
    (change,) = diff(store, "1", "4")
    assert (change.before, change.after, change.state) == (["6.1"], ["6.3"], 4)
    (change,) = diff(store, "2")
    assert (change.before, change.after) == (["6.2"], ["6.3"])


def test_changes_of_a_property_with_several_values(store: TwinStores) -> None:
    load(store, probed(1, nics=[]))
    nic = {"name": "eno1", "virtual": False, "up": True}
    load(store, probed(2, nics=[nic]))
    load(store, probed(3, nics=[nic | {"up": False}]))
    assert as_tuples(diff(store, "2", "3")) == [
        ("changed", "nic/eno1", "linkUp", ["true"], ["false"])
    ]


def test_states_are_found_by_number_probe_and_time(store: TwinStores) -> None:
    for day in (1, 3, 5):
        load(store, probed(day, os={"kernel": f"6.{day}"}))
    found = states(store)
    for text, number in (
        ("2", 2),
        ("20261103T000000Z", 2),
        (str(IRIS.component(HOST, "probe", "20261103T000000Z")), 2),
        ("2026-11-04", 2),
        ("2026-11-05", 2),
        ("2026-11-05T01:00+01:00", 2),
        ("2026-11-05T00:00:02Z", 3),
        ("2027-01-01", 3),
    ):
        assert find_state(found, HOST, text).number == number, text
    for text in ("4", "0", "yesterday", "2026-10-31", ""):
        with pytest.raises(NoSuchStateError, match="n1"):
            find_state(found, HOST, text)
    assert [s.number for s in pair(found, HOST, "3", "1")] == [1, 3]
    assert [s.number for s in pair(found, HOST, "", "2")] == [1, 2]
    assert [s.number for s in pair(found, HOST, "", "1")] == [1, 1]
    with pytest.raises(NoSuchStateError, match="probe it first"):
        pair([], HOST)


def test_older_file_does_not_end_a_state_before_its_start(store: TwinStores) -> None:
    load(store, probed(9))
    load(store, probed(2, os={"kernel": "5.0"}))
    first, second = states(store)
    assert (first.at, first.until) == (first.at, first.at)
    assert second.at[:10] == "2026-11-02"


@pytest.mark.parametrize("again", [1, 2])
def test_crash_before_the_replacement_is_repaired(
    store: TwinStores, again: int
) -> None:
    """History is written first; a state that never became current is dropped."""
    load(store, probed(1))
    lost = describe_json(probed(2, os={"kernel": "lost"}), IRIS)
    old = states(store)[0]
    digest = describe_json(probed(1), IRIS).digest
    for _ in range(again):
        archive(store.twin, store.history, IRIS, lost, digest)
    assert len(states(store)) == 2
    load(store, probed(3))
    assert [(s.number, s.until) for s in states(store)] == [(1, old.until)]
    load(store, probed(4, os={"kernel": "6.2"}))
    assert as_tuples(diff(store)) == [
        ("changed", "host", "kernelRelease", ["6.1"], ["6.2"])
    ]
    assert not store.history.ask(
        f'ASK {{ GRAPH ?g {{ ?s <{ST.kernelRelease}> "lost" }} }}'
    )


def test_restored_twin_keeps_its_history(store: TwinStores) -> None:
    load(store, probed(1))
    old = store.twin.get_graph(IRIS.twin_graph(HOST))
    for day in (2, 3, 4):
        load(store, probed(day, os={"kernel": f"6.{day}"}))
    store.twin.put_graph(IRIS.twin_graph(HOST), old)
    load(store, probed(5, os={"kernel": "6.5"}))
    assert [s.number for s in states(store)] == [1, 2, 3, 4, 5, 6]
    assert [change.before for change in diff(store)] == [["6.1"]]


def test_crash_in_the_first_probe_is_repaired(store: TwinStores) -> None:
    first = describe_json(probed(1), IRIS)
    archive(store.twin, store.history, IRIS, first, None)
    load(store, probed(1))
    assert [(s.number, s.probes) for s in states(store)] == [(1, 1)]


def test_twin_without_history_gets_its_state_recorded(store: TwinStores) -> None:
    load(store, probed(1))
    store.history.update("DROP ALL")
    load(store, probed(2, os={"kernel": "6.2"}))
    assert [s.at[:10] for s in states(store)] == ["2026-11-01", "2026-11-02"]
    assert as_tuples(diff(store)) == [
        ("changed", "host", "kernelRelease", ["6.1"], ["6.2"])
    ]


def test_history_continues_after_a_removal(store: TwinStores) -> None:
    load(store, probed(1))
    keep_whole(store.twin, store.history, IRIS, HOST)
    store.twin.update(registration_delete(IRIS, HOST))
    assert not store.twin.ask("ASK { ?s ?p ?o . FILTER CONTAINS(STR(?s), '/twin/n1') }")
    load(store, probed(2, banks=BANKS[:1]))
    assert as_tuples(diff(store)) == [
        ("vanished", "memory/DIMM_B1", "MemoryBank", [], [])
    ]
    whole = "ASK { GRAPH ?g { ?s ?p ?o } FILTER STRENDS(STR(?g), '/whole') }"
    assert not store.history.ask(whole)
    forget(store.history, IRIS, HOST)
    assert not store.history.ask("ASK { GRAPH ?g { ?s ?p ?o } }")


def test_same_machine_after_its_removal_is_not_a_new_state(
    store: TwinStores,
) -> None:
    load(store, probed(1))
    keep_whole(store.twin, store.history, IRIS, HOST)
    store.twin.update(registration_delete(IRIS, HOST))
    assert states(store)[0].until
    load(store, probed(2))
    (only,) = states(store)
    assert (only.until, only.probes) == ("", 2)


def test_lost_state_is_not_compared(store: TwinStores) -> None:
    load(store, probed(1))
    store.twin.update(registration_delete(IRIS, HOST))
    load(store, probed(2, os={"kernel": "6.2"}))
    with pytest.raises(NoSuchStateError, match="before state 2 is unknown"):
        diff(store)


def test_provenance_is_prov_o(store: TwinStores) -> None:
    load(store, probed(1))
    load(store, probed(2, os={"kernel": "6.2"}))
    one, two = (IRIS.component(HOST, "state", str(n)) for n in (1, 2))
    probe = IRIS.component(HOST, "probe", "20261102T000000Z")
    assert store.history.ask(
        f"""PREFIX prov: <{PROV}> PREFIX st: <{ST}>
        ASK {{
          <{two}> prov:wasRevisionOf <{one}> ; prov:wasGeneratedBy <{probe}> ;
                  prov:specializationOf <{IRIS.host(HOST)}> .
          <{one}> prov:wasInvalidatedBy <{probe}> ; prov:invalidatedAtTime ?end .
          <{probe}> a prov:Activity ; st:saw <{two}> ; prov:startedAtTime ?start ;
                    prov:wasAssociatedWith/st:holdsTool ?tool .
          ?tool a prov:SoftwareAgent .
          FILTER (?end >= ?start)
        }}"""
    )


def test_registration_survives_probes(store: TwinStores) -> None:
    load(store, probed(1), registration=Registration("lab", "ssh://a@b", "p1"))
    load(store, probed(2, os={"kernel": "6.2"}), registration=Registration("lab-2"))
    load(store, probed(3))
    row = store.twin.select(
        f"SELECT ?a ?b ?c {{ ?h <{ST.alias}> ?a ; <{ST.address}> ?b ; "
        f"<{ST['partition']}> ?c }}"
    ).values()
    assert row == [["lab-2", "ssh://a@b", "p1"]]


def test_sign_is_kept_by_a_probe_without_root(store: TwinStores) -> None:
    system = {"kernel": "6.1", "machine_id": "3d1219c7c4c5404aaa1f6d2a48adfda4"}
    board = {"board": {"board": {"serial": "WM1"}}}
    load(store, probed(1, os=system, **board))
    load(store, probed(2, os=system))
    other = probed(3, os=system, board={"board": {"serial": "WM2"}})
    with pytest.raises(OtherMachineError, match=r"WM1.*WM2.*the same machine-id"):
        load(store, other)
    load(store, other, confirm=True)
    load(store, other)


@pytest.mark.parametrize(
    ("serial", "machine", "warned"),
    [("WM1", "1", True), ("WM2", "1", False), (None, "1", True), (None, "2", False)],
)
def test_second_name_of_a_machine_is_reported(
    store: TwinStores, serial: str | None, machine: str, warned: bool
) -> None:
    def named(host: str, serial: str | None, machine: str) -> dict[str, Any]:
        system = {"kernel": "6.1", "machine_id": f"{machine}d1219c7c4c5404aaa1f6d2a"}
        return probed(1, host, os=system, board={"board": {"serial": serial}})

    load(store, named("first", "WM1", "1"))
    description = describe_json(named("second", serial, machine), IRIS)
    found = publish(description, store, IRIS).warnings
    assert any("same machine as first" in line for line in found) == warned


def test_volatile_differences_make_no_state(store: TwinStores) -> None:
    """PCP's metrics and instances are in catalogues of their own."""
    facts = probed(1)
    load(store, facts)
    metric = {
        "name": "a.b",
        "pmid": "60.0.0",
        "type": "u64",
        "semantics": "counter",
        "units": "count",
        "indom": None,
        "help": "",
    }
    more = deepcopy(probed(2))
    more["facts"]["pcp"] = {"metrics": [metric], "indoms": {}, "pmdas": {}}
    load(store, more)
    load(store, probed(3))
    assert [(s.number, s.probes) for s in states(store)] == [(1, 3)]
