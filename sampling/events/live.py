"""What a running PMCD provides of its agent."""

from collections.abc import Iterable

from core.linux import pmapi
from sampling.errors import PerfeventError, SourceDownError

# The agent itself names these, while it runs.
_COUNTERS = "perfevent.hwcounters."
# The number of counters that the agent has read.
_ACTIVE = "perfevent.active"


def absent_metrics(address: str, metrics: Iterable[str]) -> list[str]:
    """The metrics that have no instance in PMCD; raises PerfeventError.

    The agent also names, without instances, what the kernel could count but was not
    asked for.
    """
    try:
        with pmapi.Context(address) as context:
            return [name for name in metrics if not _has_instances(context, name)]
    except pmapi.PmapiError as error:
        raise PerfeventError(
            f"PMCD at {address} does not answer ({error}): check that it runs"
        ) from error


def unknown_metrics(address: str, metrics: Iterable[str]) -> list[str]:
    """The metrics that PMCD does not name; raises PerfeventError."""
    names = list(metrics)
    try:
        with pmapi.Context(address) as context:
            pmids = context.identifiers(names)
    except pmapi.PmapiError as error:
        raise PerfeventError(
            f"PMCD at {address} does not answer ({error}): check that it runs"
        ) from error
    return [
        name for name, pmid in zip(names, pmids, strict=True) if pmid == pmapi.NO_METRIC
    ]


def has_agent(address: str) -> bool:
    """Whether the agent runs; raises PerfeventError."""
    try:
        with pmapi.Context(address) as context:
            return any(name.startswith(_COUNTERS) for name in context.names())
    except pmapi.PmapiError as error:
        raise PerfeventError(
            f"PMCD at {address} does not answer ({error}): check that it runs"
        ) from error


def is_counting(address: str) -> bool:
    """Whether the agent's counters count; raises PerfeventError.

    For the first tenth of a second, the agent gives zeros.
    """
    # Imported late: commands that only change plans must not wait for numpy.
    from sampling.sources.pcp_source import PcpSource

    source = PcpSource(address)
    source.select([_ACTIVE])
    try:
        source.connect()
        return any(column.values.any() for column in source.fetch().columns)
    except SourceDownError as error:
        raise PerfeventError(str(error)) from error
    finally:
        source.close()


def attached_scripts(address: str, scripts: Iterable[str]) -> set[str]:
    """The scripts of the bpftrace agent that have probes; raises PerfeventError."""
    # Imported late: commands that only change plans must not wait for numpy.
    from sampling.sources.pcp_source import PcpSource

    names = {f"bpftrace.scripts.{name}.probes": name for name in scripts}
    source = PcpSource(address)
    source.select([*names])
    try:
        source.connect()
        columns = source.fetch().columns
        return {
            names[series.metric]
            for column in columns
            for series, probes in zip(column.series, column.values, strict=True)
            if probes
        }
    except SourceDownError as error:
        raise PerfeventError(str(error)) from error
    finally:
        source.close()


def _has_instances(context: pmapi.Context, name: str) -> bool:
    """Whether there is something to fetch; a silent agent has nothing."""
    try:
        return bool(context.instances(context.describe(name).indom))
    except pmapi.PmError:
        context.check()
        return False
