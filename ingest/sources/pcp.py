"""Metrics, their descriptors and instance domains, from a running PMCD."""

import re
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from zlib import crc32

from core.linux.pmapi import (
    NO_INDOM,
    NO_METRIC,
    BindingMissingError,
    Context,
    MetricDescriptor,
    PmError,
)
from ingest.errors import SourceDeniedError, SourceMissingError, SourceRefusedError
from ingest.sources.machine import HERE, Machine

LOCAL = "local:"
MOST_INSTANCES = 4096
# A PMCD may be remote, and each request is a round trip.
_CONNECTIONS = 16
Found = TypeVar("Found")

_TYPES = {
    0: "32",
    1: "u32",
    2: "64",
    3: "u64",
    4: "float",
    5: "double",
    6: "string",
    7: "aggregate",
    8: "aggregate",
    9: "event",
    10: "highres_event",
}
_SEMANTICS = {1: "counter", 3: "instant", 4: "discrete"}
# Instances of processes, cgroups and PMCD's own connections come and go: they are
# resolved at each fetch.
_FLEETING_PMDA = "proc"
_FLEETING_ROOTS = (
    *("proc.", "hotproc.", "cgroup.", "acct.", "pmcd.client.", "bpf.bashreadline."),
    *(f"bpf.{what}snoop." for what in ("exec", "exit", "open", "stat", "mount", "bio")),
    *("bpf.tcpconnect.", "bpf.tcpconnlat.", "bpf.fsslower.", "bpf.oomkill."),
)
# A line of /proc/interrupts combined with a CPU, such as "NMI::cpu3".
_LINE_AND_CPU = re.compile(r".+::cpu[0-9]+")
_AGENTS = "pmcd.agent.status"
# perfevent numbers a domain by the position of its event in a configuration. Another
# configuration would put the event in another domain, making it another metric.
_PMU_EVENTS = "perfevent.hwcounters."
# These agents number their domains in the order in which they find modules and metrics.
_MODULES, _EXPORTERS = "bpf.", "openmetrics."


@dataclass(frozen=True)
class PcpMetric:
    """One metric as PMCD describes it; numbers are PCP's own."""

    name: str
    pmid: int
    type: int
    indom: int
    semantics: int
    units: str
    help: str | None


@dataclass(frozen=True)
class Answers:
    """All answers of a PMCD; a domain that failed is absent."""

    address: str
    version: str | None
    metrics: list[PcpMetric]
    instances: Mapping[int, list[tuple[str, int]]]
    errors: dict[str, str] = field(default_factory=dict)


def read_pcp(
    machine: Machine = HERE,
    address: str | None = None,
    names: Collection[str] | None = None,
) -> dict[str, Any]:
    """Read the metrics of a machine's PMCD; without an address, of the local one.

    Reads all metrics, or only those in ``names``. Raises ProbeSourceError.
    """
    if address is None and not machine.is_here:
        raise SourceMissingError(
            "no PMCD of that machine was reached: start pmcd there, set "
            "`AllowStreamLocalForwarding yes` in its sshd_config, and probe it over ssh"
        )
    address = address or LOCAL
    try:
        with ExitStack() as stack:
            contexts = [stack.enter_context(_connect(address))]
            # A PMCD may allow only a few connections.
            most = _CONNECTIONS if names is None else 1
            with suppress(PmError):
                while len(contexts) < most:
                    contexts.append(stack.enter_context(Context(address)))
            return parse_pcp(_ask(contexts, address, names))
    except PmError as error:
        raise _source_error(error)(
            f"the PMCD at {address} stopped answering ({error}): see its pmcd.log"
        ) from None


def _connect(address: str) -> Context:
    try:
        return Context(address)
    except BindingMissingError as error:
        raise SourceMissingError(str(error)) from None
    except PmError as error:
        raise _source_error(error)(
            f"no PMCD answers at {address} ({error}): start it with "
            "`systemctl start pmcd`, or set another address (SUPERTWIN_PMCD)"
        ) from None


def _source_error(error: PmError) -> type[SourceRefusedError]:
    return SourceDeniedError if error.is_denied else SourceRefusedError


def parse_pcp(answers: Answers) -> dict[str, Any]:
    """Convert a PMCD's answers to facts."""
    pmdas = {
        str(number): name
        for metric in answers.metrics
        if metric.name == _AGENTS
        for name, number in answers.instances.get(metric.indom, [])
    }
    metrics = [metric for metric in answers.metrics if _is_there(metric, answers)]
    fleeting = _fleeting(metrics, pmdas)
    return {
        "address": answers.address,
        "version": answers.version,
        "metrics": [_metric(metric) for metric in metrics],
        "indoms": {
            name: _indom(answers.instances.get(indom), fleeting=indom in fleeting)
            for indom, name in sorted({(m.indom, domain_id(m)) for m in metrics})
            if indom != NO_INDOM
        },
        "pmdas": pmdas,
        "errors": answers.errors,
    }


def pmid_id(pmid: int) -> str:
    """PCP's notation of a metric's number: ``60.0.20``."""
    return f"{pmid >> 22 & 0x1FF}.{pmid >> 10 & 0xFFF}.{pmid & 0x3FF}"


def indom_id(indom: int) -> str:
    """PCP's notation of an instance domain's number: ``60.0``."""
    return f"{indom >> 22 & 0x1FF}.{indom & 0x3FFFFF}"


def _is_there(metric: PcpMetric, answers: Answers) -> bool:
    """Whether a metric counts: perfevent also names events that it does not count."""
    counts = answers.instances.get(metric.indom) != []
    return counts or not metric.name.startswith(_PMU_EVENTS)


def domain_id(metric: PcpMetric) -> str:
    """The number of a metric's instance domain; stable if its agent renumbers."""
    if metric.name.startswith(_EXPORTERS):
        named = metric.name
    elif metric.name.startswith((_PMU_EVENTS, _MODULES)):
        named = metric.name.rpartition(".")[0]
    else:
        return indom_id(metric.indom)
    return f"{metric.indom >> 22 & 0x1FF}.{crc32(named.encode()) & 0x3FFFFF}"


def _ask(
    contexts: list[Context], address: str, names: Collection[str] | None
) -> Answers:
    metrics, errors = _ask_metrics(contexts, names)
    indoms = sorted({metric.indom for metric in metrics} - {NO_INDOM})
    instances = {}
    for indom, held in zip(indoms, _each(contexts, _instances, indoms), strict=True):
        if isinstance(held, PmError):
            reason = f"instances of {indom_id(indom)}: {held}"
            errors |= {m.name: reason for m in metrics if m.indom == indom}
        else:
            instances[indom] = held
    return Answers(address, contexts[0].version(), metrics, instances, errors)


def _ask_metrics(
    contexts: list[Context], wanted: Collection[str] | None
) -> tuple[list[PcpMetric], dict[str, str]]:
    context = contexts[0]
    names = sorted(set(context.names() if wanted is None else [*wanted, _AGENTS]))
    pmids = zip(names, context.identifiers(names), strict=True)
    known = {name: pmid for name, pmid in pmids if pmid != NO_METRIC}
    described = context.descriptors(list(known.values()))
    answers = dict(zip(known, described, strict=True))
    found = {
        n: desc for n, desc in answers.items() if isinstance(desc, MetricDescriptor)
    }
    metric_ids = [desc.pmid for desc in found.values()]
    help_lines = _each(contexts, Context.help_line, metric_ids)
    metrics = [
        _described(name, desc, line)
        for (name, desc), line in zip(found.items(), help_lines, strict=True)
    ]
    errors = {n: _refusal(context, n) for n in names if n not in known}
    errors |= {n: str(why) for n, why in answers.items() if isinstance(why, PmError)}
    return metrics, errors


def _each(
    contexts: list[Context], ask: Callable[[Context, int], Found], numbers: list[int]
) -> list[Found]:
    """Send one request per number, each a round trip, over all connections."""
    count = len(contexts)

    def part(at: int) -> list[Found]:
        return [ask(contexts[at], number) for number in numbers[at::count]]

    with ThreadPoolExecutor(count) as pool:
        parts = list(pool.map(part, range(count)))
    return [parts[at % count][at // count] for at in range(len(numbers))]


def _instances(context: Context, indom: int) -> list[tuple[str, int]] | PmError:
    try:
        return [(name, number) for number, name in context.instances(indom).items()]
    except PmError as error:
        return error


def _refusal(context: Context, name: str) -> str:
    """Why PMCD does not know a metric, in PCP's own words."""
    try:
        context.identifier(name)
    except PmError as error:
        return str(error)
    return "its identifier is missing"


def _described(name: str, desc: MetricDescriptor, help_line: str | None) -> PcpMetric:
    return PcpMetric(
        name=name,
        pmid=desc.pmid,
        type=desc.type,
        indom=desc.indom,
        semantics=desc.semantics,
        units=desc.units,
        help=help_line,
    )


def _metric(metric: PcpMetric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "pmid": pmid_id(metric.pmid),
        "type": _TYPES.get(metric.type, "unknown"),
        "semantics": _SEMANTICS.get(metric.semantics, "unknown"),
        "units": metric.units,
        "indom": None if metric.indom == NO_INDOM else domain_id(metric),
        "help": metric.help,
    }


def _fleeting(metrics: list[PcpMetric], pmdas: Mapping[str, str]) -> set[int]:
    return {
        metric.indom
        for metric in metrics
        if metric.name.startswith(_FLEETING_ROOTS)
        or pmdas.get(pmid_id(metric.pmid).partition(".")[0]) == _FLEETING_PMDA
    }


def _indom(instances: list[tuple[str, int]] | None, fleeting: bool) -> dict[str, Any]:
    found = instances or []
    stored = instances is not None and not fleeting and len(found) <= MOST_INSTANCES
    if found and all(_LINE_AND_CPU.fullmatch(name) for name, _ in found):
        stored = False
    return {
        "instances": [[name, number] for name, number in found] if stored else [],
        "count": len(found),
        "stored": stored,
    }
