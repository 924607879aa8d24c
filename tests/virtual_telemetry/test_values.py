"""The values of virtual telemetry, compared with numpy on the samples themselves."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.virtual_telemetry.world import (
    BASE,
    CPUS,
    METRICS,
    SECONDS,
    World,
    series,
    telemetry,
)

Array = np.ndarray
POWER, HEAT = f"<{telemetry('power')}>", f"<{telemetry('heat')}>"
FAULTS, SWITCHES = (
    f"<{telemetry(name)}>" for name in ("page.faults", "context.switches")
)
OF_SOCKET = (
    '{ ?telemetry st:samplerName "cpu.user" ; '
    "st:ofComponent/st:isPartOf <twin/n1/socket/socket-0> }"
)


def of_metrics(*names: str) -> str:
    words = " ".join(f'"{name}"' for name in names)
    return f"{{ ?telemetry st:samplerName ?name . VALUES ?name {{ {words} }} }}"


def own(
    metric: str, host: str = "n1", instance: str | None = None, *, rate: bool = False
) -> Array:
    """The samples of a series by second, or its rates; NaN where there is none."""
    found = np.full(SECONDS + 1, np.nan)
    for second, number in series(metric, host, instance).items():
        found[second] = number
    if not rate:
        return found
    period = METRICS[metric][2]
    rates = np.full_like(found, np.nan)
    rates[period:] = (found[period:] - found[:-period]) / period
    return rates


def aligned(values: Array, period: int) -> Array:
    """Values of each second, between two samples that are one period apart."""
    times = np.arange(SECONDS + 1)
    before = times // period * period
    after = np.minimum(before + period * (times > before), SECONDS)
    share = (times - before) / period
    return values[before] * (1 - share) + values[after] * share


def at(metric: str, host: str = "n1", *, rate: bool = False) -> Array:
    return aligned(own(metric, host, rate=rate), METRICS[metric][2])


def stacked(*parts: Array) -> Array:
    return np.stack(parts)


def user() -> Array:
    return stacked(*(own("cpu.user", "n1", f"cpu{n}", rate=True) for n in CPUS))


def before(values: Array) -> Array:
    return np.concatenate([[np.nan], values[:-1]])


def check(world: World, name: str, expected: Array, grid: int = 1) -> None:
    """Compare all values; those that are absent must be so on both sides."""
    found = world.values(name)
    wanted = {
        second: value
        for second, value in enumerate(expected.tolist())
        if second > 0 and second % grid == 0 and not np.isnan(value)
    }
    assert found.keys() == wanted.keys()
    assert np.allclose([found[s] for s in wanted], [*wanted.values()], rtol=1e-9)
    assert len(wanted) > 50


Case = tuple[str, str, Callable[[], Array]]
CASES: dict[str, Case] = {
    "sum-of-rates": (f"sum(rate({OF_SOCKET}))", "", lambda: user().sum(axis=0)),
    "cpus-busy": (
        *(f"sum(rate({OF_SOCKET}))", "UNITLESS"),
        lambda: user().sum(axis=0) / 1000,
    ),
    "increase": (f"sum(increase({OF_SOCKET}))", "", lambda: user().sum(axis=0)),
    "average": (f"avg(rate({OF_SOCKET}))", "", lambda: user().mean(axis=0)),
    "least": (f"min(rate({OF_SOCKET}))", "", lambda: user().min(axis=0)),
    "kilowatts": (
        *(f"{POWER} + {HEAT}", "KiloW"),
        lambda: at("power") / 1000 + at("heat"),
    ),
    "memory": (
        *(f"<{telemetry('mem.used')}> + <{telemetry('mem.cached')}>", ""),
        lambda: own("mem.used") + 1024 * own("mem.cached"),
    ),
    "ratio": (
        *(f"{HEAT} / {POWER}", "PERCENT"),
        lambda: 100 * 1000 * at("heat") / at("power"),
    ),
    "faults-per-switch": (
        *(f"rate({FAULTS}) / rate({SWITCHES})", ""),
        lambda: own("page.faults", rate=True) / at("context.switches", rate=True),
    ),
    "slope": (
        *(f"derivative({POWER})", ""),
        lambda: own("power") - before(own("power")),
    ),
    "energy": (
        *(f"integral({POWER} + {HEAT})", "J"),
        lambda: (
            (at("power") + 1000 * at("heat") + before(at("power") + 1000 * at("heat")))
            / 2
        ),
    ),
    "rack": (
        *(f"sum({of_metrics('power')})", ""),
        lambda: own("power") + own("power", "n2"),
    ),
    "mixed": (
        *(f"sum({of_metrics('power', 'slow.power', 'heat')})", "W"),
        lambda: sum(
            at("power", h) + at("slow.power", h) + 1000 * at("heat", h)
            for h in ("n1", "n2")
        ),
    ),
    "greatest-of-mixed": (
        *(f"max({of_metrics('power', 'slow.power')})", ""),
        lambda: stacked(
            *(at(m, h) for m in ("power", "slow.power") for h in ("n1", "n2"))
        ).max(axis=0),
    ),
    "average-of-mixed": (
        *(f"avg({of_metrics('power', 'slow.power')})", ""),
        lambda: stacked(
            *(at(m, h) for m in ("power", "slow.power") for h in ("n1", "n2"))
        ).mean(axis=0),
    ),
    "steepest": (
        *(f"max(derivative({of_metrics('power', 'slow.power')}))", ""),
        lambda: stacked(
            *(
                at(m, h) - before(at(m, h))
                for m in ("power", "slow.power")
                for h in ("n1", "n2")
            )
        ).max(axis=0),
    ),
    "numbers": (
        *(f"-({POWER} - in(50, unit:W)) * 2 / 4", ""),
        lambda: -(own("power") - 50) / 2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_numpy(world: World, name: str) -> None:
    expression, unit, expected = CASES[name]
    world.add(name, expression, unit)
    check(world, name, expected())


def test_grid_is_the_finest_period(world: World) -> None:
    world.add("coarse", f"<{telemetry('slow.power')}> + {HEAT}", "W")
    check(world, "coarse", at("slow.power") + 1000 * at("heat"), grid=3)


def test_period_of_a_series_without_a_plan_is_that_of_its_samples(world: World) -> None:
    world.add("found", f"2 * <{telemetry('unplanned')}>")
    check(world, "found", 2 * own("unplanned"), grid=5)


def test_count_is_of_the_members_that_have_a_value(world: World) -> None:
    world.add("members", f"count(rate({OF_SOCKET}))")
    found = world.values("members")
    assert (found[299], found[300], found[330], found[332]) == (4, 3, 3, 4)


def test_virtual_telemetry_is_an_input_of_another(world: World) -> None:
    world.add("inner", f"{HEAT} * 2")
    world.add("outer", f"<virtual/inner> + {POWER}", "W")
    check(world, "outer", 2000 * at("heat") + own("power"))


def test_virtual_telemetry_is_computed_as_its_expression_is(world: World) -> None:
    # Both have a period of 10 s: what they add up must be that of each second here.
    world.add("heat-energy", f"integral({HEAT})", "J")
    world.add("switches", f"increase({SWITCHES})")
    world.add("outer", f"<virtual/heat-energy> + integral({POWER})", "J")
    both = 1000 * at("heat") + at("power")
    check(world, "outer", (both + before(both)) / 2)
    world.add("outer", f"<virtual/switches> / increase({FAULTS})")
    rate = at("context.switches", rate=True)
    check(world, "outer", rate / own("page.faults", rate=True))


def test_count_of_counters(world: World) -> None:
    world.add("counted", f"count({OF_SOCKET})")
    found = world.values("counted")
    assert (found[299], found[300], found[330], found[331]) == (4, 3, 3, 4)


def test_longest_expression_has_last_value_and_coverage(world: World) -> None:
    made = world.add("long", "integral(" + " + ".join([POWER] * 112) + ")")
    (row,) = world.rows("<virtual/long> st:metricsQl ?text")
    assert 14_000 < len(row["text"]) < 15_100
    value = 112 * (own("power") + before(own("power"))) / 2
    (row,) = world.rows("<virtual/long> st:last (?value)")
    assert float(row["value"]) == pytest.approx(float(value[SECONDS]))
    call = f"st:max ({world.range(10, 20)} ?value ?n ?all ?why) FILTER (?value > 0)"
    (row,) = world.rows(f"<virtual/long> {call}")
    assert float(row["value"]) == pytest.approx(float(value[11:21].max()))
    assert (row["n"], row["all"], made.host) == (10, 10, f"{BASE}/twin/n1")


def test_windows_are_those_of_the_values(world: World) -> None:
    name = "kilowatts"
    world.add(name, CASES[name][0], "KiloW")
    values = CASES[name][2]()
    functions = {"avg": np.nanmean, "min": np.nanmin, "max": np.nanmax}
    functions |= {"sum": np.nansum, "stddev": np.nanstd}
    for function, of in functions.items():
        call = f"st:{function} ({world.range(425, 545)} 30 ?time ?value ?n ?all)"
        for place, row in enumerate(world.rows(f"<virtual/{name}> {call}")):
            window = values[426 + 30 * place : 456 + 30 * place]
            present = int(np.count_nonzero(~np.isnan(window)))
            assert (row["n"], row["all"]) == (present, 30)
            if present:
                assert float(row["value"]) == pytest.approx(float(of(window)))
            else:
                assert row["value"] is None


def test_one_window_and_a_quantile(world: World) -> None:
    world.add("rack", CASES["rack"][0])
    values = CASES["rack"][2]()[101:201]
    call = f"<virtual/rack> st:quantile (0.5 {world.range(100, 200)} ?value)"
    (row,) = world.rows(call)
    assert float(row["value"]) == pytest.approx(float(np.median(values)))
    call = f"<virtual/rack> st:count ({world.range(395, 410)} ?value)"
    assert [row["value"] for row in world.rows(call)] == [10]


def test_last_value_is_that_of_the_last_time_with_all_inputs(world: World) -> None:
    world.add("rack", CASES["rack"][0])
    (row,) = world.rows("<virtual/rack> st:last (?value ?time ?age)")
    expected = CASES["rack"][2]()[SECONDS]
    assert float(row["value"]) == pytest.approx(float(expected))
    assert round(row["time"].timestamp()) == world.start + SECONDS


def test_threshold_of_a_filter_keeps_the_windows_above_it(world: World) -> None:
    world.add("rack", CASES["rack"][0])
    call = f"<virtual/rack> st:avg ({world.range(0, 600)} 10 ?time ?value)"
    every = [float(row["value"]) for row in world.rows(call)]
    limit = float(np.median(every))
    found = world.rows(f"{call} FILTER (?value > {limit})")
    assert len(found) == sum(value > limit for value in every)


def test_graphs_of_a_query_do_not_limit_the_members_of_a_set(world: World) -> None:
    world.add("rack", CASES["rack"][0])
    call = f"<virtual/rack> st:avg ({world.range(0, 60)} 10 ?time ?value)"
    graph = f"GRAPH <{BASE}/graph/twin/n1>"
    assert world.rows(f"{graph} {{ {call} }}") == world.rows(call)
