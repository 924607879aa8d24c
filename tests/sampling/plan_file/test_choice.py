"""Several plans of one metric: each instance once, at its finest period."""

from hypothesis import given
from hypothesis import strategies as st

from sampling.plan_file.choice import ALL, InstanceSelection, MetricRequest, finest
from sampling.plan_file.plan import FetchGroup, make_plan
from sampling.sources.thread_metrics import process_of, thread_instance

SOME = frozenset


def test_single_plan_of_all_instances_is_complete() -> None:
    assert finest([MetricRequest(1000)]) == [(1000, ALL)]
    assert ALL.is_all and ALL.has("cpu0") and ALL.has(None)


def test_refined_instances_are_omitted_from_the_coarser_plan() -> None:
    requests = [
        MetricRequest(1000),
        MetricRequest(10, SOME({"cpu0", "cpu1"})),
        MetricRequest(10, SOME({"cpu3"})),
    ]
    assert finest(requests) == [
        (10, InstanceSelection(SOME({"cpu0", "cpu1", "cpu3"}))),
        (1000, InstanceSelection(None, SOME({"cpu0", "cpu1", "cpu3"}))),
    ]


def test_coarser_plan_of_some_adds_nothing_to_a_finer_one_of_all() -> None:
    assert finest([MetricRequest(1000), MetricRequest(5000, SOME({"cpu0"}))]) == [
        (1000, ALL)
    ]
    assert finest([MetricRequest(1000, SOME({"cpu0"})), MetricRequest(1000)]) == [
        (1000, ALL)
    ]


def test_control_characters_are_written_as_in_the_graph() -> None:
    assert InstanceSelection(SOME({"a\ufffdb"})).has("a\x07b")
    assert not InstanceSelection(None, SOME({"a\ufffdb"})).has("a\x07b")


NAMES = st.sampled_from(["cpu0", "cpu1", "cpu2", "cpu3"])
REQUESTS = st.lists(
    st.builds(MetricRequest, st.integers(1, 5), st.none() | st.frozensets(NAMES)),
    max_size=6,
)


@given(REQUESTS)
def test_each_instance_has_its_finest_requested_period(
    requests: list[MetricRequest],
) -> None:
    found = finest(requests)
    for name in ("cpu0", "cpu1", "cpu2", "cpu3"):
        asked = [
            w.period_ms for w in requests if w.instances is None or name in w.instances
        ]
        assert [ms for ms, choice in found if choice.has(name)] == (
            [min(asked)] if asked else []
        )


PROCESSES = ("000001 a", "000002 b")
THREADS = tuple(thread_instance(name, tid) for name in PROCESSES for tid in (3, 4))
OF_THREADS = st.lists(
    st.builds(
        MetricRequest,
        st.integers(1, 5),
        st.none() | st.frozensets(st.sampled_from([*PROCESSES, *THREADS])),
    ),
    max_size=6,
)


@given(OF_THREADS)
def test_process_stands_for_all_its_threads(requests: list[MetricRequest]) -> None:
    found = finest(requests)
    for name in THREADS:
        asked = [
            w.period_ms
            for w in requests
            if w.instances is None or {name, process_of(name)} & w.instances
        ]
        assert [ms for ms, choice in found if choice.has(name)] == (
            [min(asked)] if asked else []
        )


def test_group_knows_its_instances_if_all_metrics_have_named_ones() -> None:
    a, b = InstanceSelection(SOME({"x"})), InstanceSelection(SOME({"y"}))
    names = {"a": "a", "b": "b"}
    assert FetchGroup(names, {"a": a, "b": b}).only == {"x", "y"}
    assert FetchGroup(names, {"a": a}).only is None
    but = InstanceSelection(None, SOME({"y"}))
    assert FetchGroup(names, {"a": a, "b": but}).only is None


def test_rows_of_two_plans_become_two_groups() -> None:
    row = {"samplerName": "a.b", "dbName": "a_b", "period": 1}
    fine = {**row, "period": "0.01", "some": True}
    plan = make_plan([row, {**fine, "instname": "x"}, {**fine, "instname": "y"}])
    assert plan.names == {"a.b"}
    assert plan.groups() == {
        10: FetchGroup({"a.b": "a_b"}, {"a.b": InstanceSelection(SOME("xy"))}),
        1000: FetchGroup({"a.b": "a_b"}, {"a.b": InstanceSelection(None, SOME("xy"))}),
    }
