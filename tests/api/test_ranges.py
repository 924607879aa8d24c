"""Any kind of expression gives one column per series, on a real store."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from api.dashboards.ranges import Column, ExpressionError, PanelReader
from api.dashboards.steps import TimeGrid
from core.stores.connections import Connections
from core.stores.series_store import SeriesStore
from dashboards.spec import Component, Panel, PanelSeries, Target
from tests.api.watched import write
from tests.servers import VictoriaMetrics

START = int(time.time()) - 600
GRID = TimeGrid(START, 1, 10)
ODD = 'a"}|.*\\b$component{x="y"}'
HOST = '{hostname="small"}'


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a store with two counters that grow by 1 and 2 and lack second 5."""
    folder: Path = tmp_path_factory.mktemp("ranges")
    with VictoriaMetrics(folder) as store:
        for name in ("c", "d"):
            points = {
                instance: {START + s: grow * s for s in range(10) if s != 5}
                for instance, grow in (("x", 1), (ODD, 2))
            }
            write(store.url, name, dict(points))
        write(store.url, "alone", {None: {START + s: s for s in range(10)}})
        yield store.url


def panel(expressions: Sequence[str], instances: Sequence[str | None]) -> Panel:
    series = tuple(
        PanelSeries("", "", "", "", instance, target)
        for target in range(len(expressions))
        for instance in instances
    )
    targets = tuple(Target(text, "") for text in expressions)
    return Panel("p", "", "", "", "timeseries", targets=targets, series=series)


def read(
    url: str, panels: Sequence[Panel], component: Component | None = None
) -> list[list[Column]]:
    """Read panels one by one and together, and check that the columns are the same."""

    async def asked() -> tuple[list[list[Column]], list[list[Column]]]:
        async with Connections() as client:
            reader = PanelReader(SeriesStore(client, url, "90d"), 10)
            one_by_one = [await reader.columns(p, GRID, component) for p in panels]
            return one_by_one, await reader.together(panels, GRID, component)

    one_by_one, together = asyncio.run(asked())
    assert one_by_one == together
    return together


def numbers(column: Column) -> list[float | None]:
    return [None if value is None else float(value) for value in column]


def test_rates_and_plain_values_are_queried(url: str) -> None:
    both = panel([f"rate(c{HOST}) * 10", f"d{HOST}"], ["x", ODD])
    rate, odd_rate, plain, odd_plain = read(url, [both])[0]
    assert numbers(rate) == [None, 10, 10, 10, 10, None, 10, 10, 10, 10]
    assert numbers(odd_rate) == [None, 20, 20, 20, 20, None, 20, 20, 20, 20]
    assert numbers(plain) == [0, 1, 2, 3, 4, None, 6, 7, 8, 9]
    assert numbers(odd_plain) == [0, 2, 4, 6, 8, None, 12, 14, 16, 18]


def test_sums_and_quotients_are_queried(url: str) -> None:
    both = panel([f"sum(rate(c{HOST}))", f"alone{HOST} * 2"], [None])
    total, alone = read(url, [both])[0]
    assert numbers(total) == [None, 3, 3, 3, 3, None, 3, 3, 3, 3]
    assert numbers(alone) == [2.0 * s for s in range(10)]
    quotient = panel([f"c{HOST} / d{HOST}"], ["x", ODD])
    assert numbers(read(url, [quotient])[0][1]) == [None, *[1] * 4, None, *[1] * 4]


def test_explicit_windows_are_kept(url: str) -> None:
    wide = panel([f"max_over_time(c{HOST}[4s])"], ["x"])
    assert numbers(read(url, [wide])[0][0]) == [0, 1, 2, 3, 4, 4, 6, 7, 8, 9]


def test_odd_component_names_are_escaped(url: str) -> None:
    text = 'c{hostname="small",instname=~"$component"}'
    both = panel([text, f"-({text})"], ["x", ODD])
    component = Component("c", "", "", (ODD,))
    plain, odd, _, negative = read(url, [both], component)[0]
    assert plain == [None] * 10
    assert numbers(odd)[:3] == [0, 2, 4] and numbers(negative)[1:3] == [-2, -4]
    assert [c[1] for c in read(url, [both])[0]] == ["1", "2", "-1", "-2"]


def test_long_selection_is_split_into_queries(url: str) -> None:
    names = [f"name-{number}-{'y' * 200}" for number in range(30)]
    wide = "|".join((*names, "x"))
    text = f'rate(c{{hostname="small",instname=~"{wide}"}})'
    panels = [panel([text], ["x"]) for _ in range(7)]
    for (column,) in read(url, panels):
        assert numbers(column)[:3] == [None, 1, 1]


def test_bad_expression_affects_only_itself(url: str) -> None:
    good, bad = panel([f"c{HOST}"], ["x"]), panel(["no_such_function(c)"], ["x"])

    async def asked() -> list[list[Column]]:
        async with Connections() as client:
            reader = PanelReader(SeriesStore(client, url, "90d"), 10)
            with pytest.raises(ExpressionError, match="no_such_function"):
                await reader.columns(bad, GRID)
            return await reader.together([bad, good], GRID, None)

    (spoilt,), (fine,) = asyncio.run(asked())
    assert spoilt == [None] * 10 and fine[4] == "4"
