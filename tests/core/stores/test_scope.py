"""The scope of a request, as the clients of the stores send it."""

import asyncio
import json
from collections.abc import Mapping, Sequence

import pytest
from anyio import to_thread

from core.stores.errors import OutOfScopeError
from core.stores.scope import (
    Scope,
    current_scope,
    for_changes,
    limited_to,
    query_parameters,
    refuse_update,
    series_filter,
)

BASE = "http://h/"


@pytest.mark.parametrize(
    ("scope", "groups", "filters"),
    [
        (Scope(), None, []),
        (Scope(hosts=("a.b", "c")), None, [r'{hostname=~"a\\.b|c"}']),
        (Scope(metrics=("mem.free",)), None, ['{__name__=~"mem_free"}']),
        (
            Scope(hosts=("a",), metrics=("mem.*", "x")),
            None,
            ['{hostname=~"a",__name__=~"mem_.*|x"}'],
        ),
        (
            Scope(jobs=("1",)),
            {"a": ["/j/1", "/j/1/s"], "b": ["/k"]},
            [
                '{hostname=~"a",instname=~"/j/1|/j/1/s",__name__=~"supertwin_cgroup_.*"}',
                '{hostname=~"b",instname=~"/k",__name__=~"supertwin_cgroup_.*"}',
            ],
        ),
        # No group: no series, not all of them.
        (Scope(users=("u",)), {}, [r'{__name__=~"\\b\\B"}']),
    ],
)
def test_series_are_limited(
    scope: Scope, groups: Mapping[str, Sequence[str]] | None, filters: list[str]
) -> None:
    with limited_to(scope, BASE):
        assert series_filter(groups).get("extra_filters[]", []) == filters


def test_series_of_jobs_need_their_groups() -> None:
    with limited_to(Scope(jobs=("1",)), BASE), pytest.raises(OutOfScopeError):
        series_filter()


def test_queries_carry_the_scope() -> None:
    assert query_parameters() == ()
    with limited_to(Scope(hosts=("a",), metrics=("m",)), BASE):
        ((name, text),) = query_parameters()
    sent = {"base": "http://h", "hosts": ["a"], "metrics": ["m"]}
    assert (name, json.loads(text)) == ("scope", sent)


def test_updates_need_a_check() -> None:
    refuse_update()
    with limited_to(Scope(hosts=("a",), jobs=("1",)), BASE):
        with pytest.raises(OutOfScopeError) as refused:
            refuse_update()
        with for_changes():
            refuse_update()
            assert current_scope() == Scope(hosts=("a",))
        assert current_scope().is_owned
    assert (refused.value.code, refused.value.status) == ("out-of-scope", 403)


def test_tasks_and_threads_inherit_the_scope() -> None:
    async def seen() -> list[Scope]:
        with limited_to(Scope(hosts=("a",)), BASE):
            task = asyncio.create_task(to_thread.run_sync(current_scope))
        return [await task, current_scope()]

    assert asyncio.run(seen()) == [Scope(hosts=("a",)), Scope()]


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("mem.free", True), ("mem", False), ("memory.x", False), ("a.b", True)],
)
def test_prefixes_of_metrics_end_at_a_dot(name: str, allowed: bool) -> None:
    assert Scope(metrics=("mem.*", "a.b")).allows_metric(name) is allowed
    assert Scope().allows_metric(name)
