"""Estimates what a load will cost, from a calibration."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sampling.cost.fit import Fit, PredictionInterval
from sampling.cost.load import BRIDGE, PMCD, STORE, SamplingLoad
from sampling.cost.model import CostModel

DAY = 86_400
_NOTHING = PredictionInterval(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class CostEstimate:
    """CPU, memory, disk and network of a load, with their intervals.

    CPU is in % of one core, memory in bytes, disk in bytes a day, network (``sent``) in
    bytes a second. ``fitted`` is the CPU of each part with the interval of the fit
    alone, ``error`` the factor by which it may be wrong on a machine that was not
    measured. ``unmeasured`` are agents that no calibration knows: their CPU is left
    out. ``beyond`` is, by part and term, the ratio of the load to the largest measured
    one.
    """

    load: SamplingLoad
    fitted: dict[str, PredictionInterval]
    error: float
    memory: dict[str, PredictionInterval]
    disk: PredictionInterval
    sent: float
    unmeasured: tuple[str, ...]
    beyond: dict[str, float]

    @property
    def cpu(self) -> dict[str, PredictionInterval]:
        """CPU of each part, with the whole interval."""
        return {part: within(of, self.error) for part, of in self.fitted.items()}

    @property
    def cpu_total(self) -> PredictionInterval:
        """CPU of all parts."""
        return self.cpu_of(self.fitted)

    def cpu_of(self, parts: Iterable[str]) -> PredictionInterval:
        """CPU of some parts; errors of fits are independent, ``error`` is common."""
        return within(_total(self.fitted[part] for part in parts), self.error)


def within(of: PredictionInterval, factor: float) -> PredictionInterval:
    """Widen an interval by a factor of possible error."""
    return PredictionInterval(of.value, of.low / factor, of.high * factor)


def _total(ranges: Iterable[PredictionInterval]) -> PredictionInterval:
    """A sum of values with independent errors."""
    found = list(ranges)
    value = sum(each.value for each in found)
    below = sum((each.value - each.low) ** 2 for each in found) ** 0.5
    above = sum((each.high - each.value) ** 2 for each in found) ** 0.5
    return PredictionInterval(value, max(value - below, 0.0), value + above)


def estimate_added(
    model: CostModel, before: SamplingLoad, after: SamplingLoad
) -> CostEstimate:
    """What a plan adds to the cost of the plans that a host has.

    What another plan fetches anyway costs nothing more; a series that a finer plan
    takes over is not counted twice.
    """
    return _estimate(model, before, after, base=False)


def estimate_all(model: CostModel, load: SamplingLoad, hosts: int = 1) -> CostEstimate:
    """What a load costs, including what the parts cost when nothing is sampled.

    For several hosts with one bridge and one store, the CPU of PMCD and agents is the
    average per host.
    """
    return _estimate(model, SamplingLoad(), load, base=True, hosts=hosts)


def _estimate(
    model: CostModel,
    before: SamplingLoad,
    after: SamplingLoad,
    base: bool,
    hosts: int = 1,
) -> CostEstimate:
    """Estimate what is added; ``beyond`` depends on the whole load."""
    load = after.plus(before, -1)
    agents = {name for name, of in load.agents.items() if any(load.terms(name))}
    parts = [PMCD, *(name for name in model.agents if name in agents)]
    times = dict.fromkeys(parts, 1 / hosts) | {BRIDGE: 1.0, STORE: 1.0}
    terms = {
        part: _scaled(_more(before.terms(part), after.terms(part)), times[part])
        for part in times
    }
    return CostEstimate(
        load,
        {part: _of(model.cpu[part], of, base) for part, of in terms.items()},
        model.error.get("cpu", 1.0),
        {part: _memory(model, part, load.series, base) for part in (BRIDGE, STORE)},
        within(
            model.disk.a_day(DAY * load.points, load.series),
            model.error.get("disk", 1.0),
        ),
        model.disk.sent * load.points,
        tuple(sorted(agents - {*parts, *model.inside})),
        _beyond(model, after, times),
    )


def _more(before: Sequence[float], after: Sequence[float]) -> list[float]:
    return [b - a for a, b in zip(before, after, strict=True)]


def _scaled(terms: Sequence[float], times: float) -> list[float]:
    return [times * term for term in terms]


def _of(fit: Fit, terms: Sequence[float], base: bool) -> PredictionInterval:
    return fit.predict(terms, base) if base or any(terms) else _NOTHING


def _memory(model: CostModel, part: str, series: int, base: bool) -> PredictionInterval:
    found = _of(model.rss[part], (series,), base)
    return within(found, model.error.get("memory", 1.0))


def _beyond(
    model: CostModel, whole: SamplingLoad, times: Mapping[str, float]
) -> dict[str, float]:
    """The ratios of the load to the largest measured one, if more than 1.1."""
    factors = {
        part: model.cpu[part].beyond(_scaled(whole.terms(part), times[part]))
        for part in times
    }
    factors["series"] = model.rss[STORE].beyond((float(whole.series),))
    return {name: factor for name, factor in factors.items() if factor > 1.1}
