"""Asks a PMCD how many values metrics have now."""

from collections import Counter
from collections.abc import Sequence

from core.linux import pmapi
from sampling.cost.errors import CalibrationError
from sampling.cost.load import UNKNOWN_AGENT, FetchSize
from sampling.errors import SourceDownError
from sampling.sources.source import Series

_AGENTS = "pmcd.agent.type"
_DOMAIN_SHIFT, _DOMAIN_MASK = 22, 0x1FF


def value_counts(address: str, metrics: Sequence[str]) -> dict[str, int]:
    """How many values each metric gives in one fetch, as the bridge would fetch them.

    Metrics without values now are left out. Raises SourceDownError.
    """
    return dict(Counter(series.metric for series in _series(address, metrics)))


def pcp_version(address: str) -> str:
    """The version of PCP; empty if it gives none. Raises CalibrationError."""
    try:
        with pmapi.Context(address) as context:
            return context.version() or ""
    except pmapi.PmapiError as error:
        raise CalibrationError(
            f"PMCD at {address} gives no values ({error}): check that it runs"
        ) from error


def sizes_now(address: str) -> tuple[dict[str, FetchSize], str | None]:
    """The size of every metric of a PMCD that has values, and the name of one process.

    Raises CalibrationError.
    """
    try:
        with pmapi.Context(address) as context:
            names = context.names()
            agents = context.instances(context.describe(_AGENTS).indom)
            pmids = context.identifiers(names)
        found = _series(address, names)
    except (pmapi.PmapiError, SourceDownError) as error:
        raise CalibrationError(
            f"PMCD at {address} gives no values ({error}): check that it runs"
        ) from error
    counts = Counter(series.metric for series in found)
    processes = (s.instance for s in found if s.metric.startswith("proc.psinfo."))
    # The first process outlives all others.
    process = min((name for name in processes if name), default=None)
    return {
        name: FetchSize(
            agents.get((pmid >> _DOMAIN_SHIFT) & _DOMAIN_MASK, UNKNOWN_AGENT),
            counts[name],
        )
        for name, pmid in zip(names, pmids, strict=True)
        if counts[name]
    }, process


def _series(address: str, metrics: Sequence[str]) -> list[Series]:
    from sampling.sources.pcp_source import PcpSource

    source = PcpSource(address)
    source.select(metrics)
    source.connect()
    try:
        return [s for column in source.fetch().columns for s in column.series]
    finally:
        source.close()
