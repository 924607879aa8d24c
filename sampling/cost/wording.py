"""An estimate as text, with numbers and units, and as JSON."""

from collections.abc import Container, Iterator, Mapping
from typing import Any

from ontology.figures import figures
from sampling.cost.estimate import CostEstimate
from sampling.cost.fit import Fit, PredictionInterval
from sampling.cost.load import BRIDGE, PMCD, STORE, SamplingLoad
from sampling.cost.model import CostModel

_STEPS = ("B", "kB", "MB", "GB", "TB", "PB")
_OURS = {PMCD: "pmcd", BRIDGE: "bridge", STORE: "store"}
FIX = "`supertwin sample calibrate` measures this machine"


def one_line(load: SamplingLoad, cost: CostEstimate, model: CostModel) -> str:
    """What a plan costs, as `sample add` prints it."""
    summary = f"{as_number(load.points)} points/s in {load.series:,} new series"
    if load.unknown:
        summary += f" (not counted: {', '.join(sorted(load.unknown))})"
    cpu, disk = cost.cpu_total, as_bytes(cost.disk.value)
    return (
        f"it adds {summary}: about {as_number(cpu.value)} % of one CPU core "
        f"({as_number(cpu.low)} to {as_number(cpu.high)}) and {disk} a day on disk"
        f"{f', by the default model: {FIX}' if model.is_default else ''}"
    )


def load_lines(load: SamplingLoad) -> Iterator[str]:
    """The exact part: it follows from the plans alone."""
    series = f"in {load.series:,} new series"
    yield line("points", f"{as_number(load.points)} /s", series)
    if load.values > 1.05 * load.points:
        yield line(
            "fetched",
            f"{as_number(load.values)} /s",
            "PMCD gives all instances of a metric",
        )


def cost_lines(cost: CostEstimate, remote: bool) -> Iterator[str]:
    """What the plan costs, one line per part."""
    total = cost.cpu_total
    yield line("CPU of one core", f"{as_number(total.value)} %", _ends(total, "%"))
    for part, of in cost.cpu.items():
        yield line(f"  {_named(part)}", f"{as_number(of.value)} %", _ends(of, "%"))
    for part, of in cost.memory.items():
        yield line(f"memory of {part}", as_bytes(of.value), _ends_bytes(of))
    yield line("disk", f"{as_bytes(cost.disk.value)}/day", _ends_bytes(cost.disk))
    if remote:
        bare, secured = cost.load.network, cost.load.secured
        what = f"{as_bytes(bare)}/s before ssh and TCP"
        yield line("network, ssh", f"{as_bytes(secured)}/s", what)
    yield line("to the store", f"{as_bytes(cost.sent)}/s", "as text over HTTP")


def total_line(host: str, whole: SamplingLoad, cost: CostEstimate) -> str:
    """What all plans of a host cost, including the new one."""
    cpu, disk = as_number(cost.cpu_total.value), as_bytes(cost.disk.value)
    return (
        f"with it all plans of {host} are {as_number(whole.points)} points/s in "
        f"{whole.series:,} series: {cpu} % of a core, {disk}/day"
    )


def unsure_lines(cost: CostEstimate, load: SamplingLoad) -> Iterator[str]:
    """What the estimate leaves out, and where it exceeds what was measured."""
    yield from _unknown_lines(load)
    if cost.unmeasured:
        names = ", ".join(cost.unmeasured)
        yield f"left out: the CPU of agents that were not measured ({names})"
    if cost.beyond:
        part, factor = max(cost.beyond.items(), key=lambda item: item[1])
        worst = "no such load was measured"
        if factor != float("inf"):
            worst = f"the load is {as_number(factor)} × the largest measured one"
        yield f"{_named(part)}: {worst}, so the errors may be larger"
    if cost.cpu[BRIDGE].value > 100:
        yield (
            "the bridge needs more than one core, which it cannot use: sample less "
            "often or fewer metrics"
        )


def _unknown_lines(load: SamplingLoad) -> Iterator[str]:
    """Metrics with an unknown number of values."""
    if load.unknown:
        names = sorted(load.unknown)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield (
            f"left out: {', '.join(names[:3])}{more}: their instances come and go, and "
            "PMCD does not answer to count them; check that it runs"
        )


def basis_lines(model: CostModel, host: str, parts: Container[str]) -> Iterator[str]:
    """What an estimate of some parts is based on."""
    if model.is_default:
        yield from _default_lines(model)
        return
    yield (
        f"calibrated on {model.host}, {model.date[:16].replace('T', ' ')} UTC, with "
        f"{len(model.usable)} runs; intervals cover 95 %"
    )
    for part, of in ((one, of) for one, of in model.cpu.items() if one in parts):
        yield (
            f"  {_named(part)}: R² {of.r2:.3f}, worst residual {as_number(of.worst)} % "
            f"of a core"
        )
    if host != model.host:
        yield f"  the agents' CPU is that of {model.host}: {host} was not measured"
    if model.busy:
        yield (
            f"  other work took {as_number(model.others)} % of a core during the "
            "calibration: the intervals are wide; calibrate on an idle machine"
        )
    if lost := len(model.runs) - len(model.usable):
        yield f"  left out: {lost} runs that the machine did not keep up with"


def _default_lines(model: CostModel) -> Iterator[str]:
    of = model.versions
    yield (
        "this machine is not calibrated: by the default model, measured on "
        f"{of['cpu']}, {model.cpus} CPUs, Linux {of['kernel']}, PCP {of['pcp']}"
    )
    errors = (
        f"{name} by a factor of {figures(by)}" for name, by in model.error.items()
    )
    yield f"  on other machines it may be wrong: {', '.join(errors)}; {FIX}"


def as_document(
    load: SamplingLoad, cost: CostEstimate, model: CostModel
) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "points_per_second": load.points,
        "fetched_per_second": load.values,
        "fetches_per_second": load.fetches,
        "series": load.series,
        "network_bytes_per_second": {"pcp": load.network, "ssh": load.secured},
        "not_counted": sorted(load.unknown),
        "cpu_percent_of_a_core": _ranges({"total": cost.cpu_total, **cost.cpu}),
        "memory_bytes": _ranges(cost.memory),
        "disk_bytes_per_day": cost.disk._asdict(),
        "store_bytes_per_second": cost.sent,
        "agents_not_measured": list(cost.unmeasured),
        "beyond_what_was_measured": {
            part: None if factor == float("inf") else factor
            for part, factor in cost.beyond.items()
        },
        "calibration": basis_document(model),
    }


def basis_document(model: CostModel) -> dict[str, Any]:
    """What an estimate is based on, as JSON."""
    return {
        "default": model.is_default,
        "error_factors": dict(model.error),
        "host": model.host,
        "date": model.date,
        "versions": dict(model.versions),
        "runs": len(model.usable),
        "others_percent_of_a_core": model.others,
        "fits": {part: _quality(of) for part, of in model.cpu.items()},
    }


def _quality(of: Fit) -> dict[str, float]:
    return {"r2": of.r2, "worst_residual": of.worst}


def _ranges(of: Mapping[str, PredictionInterval]) -> dict[str, dict[str, float]]:
    return {part: each._asdict() for part, each in of.items()}


def _named(part: str) -> str:
    return _OURS.get(part, part if part == "series" else f"pmda{part}")


def line(what: str, value: str, more: str) -> str:
    """A line of a table: a label, an amount, and a remark."""
    return f"  {what:<18}{value:>12}   {more}".rstrip()


def _ends(of: PredictionInterval, unit: str) -> str:
    return f"{as_number(of.low)} to {as_number(of.high)} {unit}"


def _ends_bytes(of: PredictionInterval) -> str:
    return f"{as_bytes(of.low)} to {as_bytes(of.high)}"


def as_number(value: float) -> str:
    """A number with three digits, and all digits before the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return figures(value, 3) if abs(value) >= 0.001 else "0"


def as_bytes(value: float) -> str:
    """A number of bytes with three digits and a unit, in steps of 1,000."""
    for step in _STEPS:
        # Rounding must not give 1000 B.
        if abs(float(figures(value, 3))) < 1000 or step == _STEPS[-1]:
            break
        value /= 1000
    return f"{figures(value, 3)} {step}" if abs(value) >= 0.01 else "0 B"
