"""Metrics, their descriptors and instance domains, from a running PMCD."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.errors import SourceMissingError, SourceRefusedError
from ingest.machine import HERE, Machine
from pmapi import (
    NO_INDOM,
    NO_METRIC,
    Context,
    LibraryMissingError,
    PmDesc,
    PmError,
    units_text,
)

LOCAL = "local:"
MOST_INSTANCES = 4096

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
# Instances come and go with processes, cgroups and PMCD's own connections: they are
# resolved at each fetch.
_FLEETING_PMDA = "proc"
_FLEETING_ROOTS = ("proc.", "hotproc.", "cgroup.", "acct.", "pmcd.client.")
# A line of /proc/interrupts times a CPU, such as "NMI::cpu3".
_LINE_AND_CPU = re.compile(r".+::cpu[0-9]+")
_AGENTS = "pmcd.agent.status"


@dataclass(frozen=True)
class Metric:
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
    """All that was asked of a PMCD; a domain that refused is absent."""

    address: str
    version: str | None
    metrics: list[Metric]
    instances: Mapping[int, list[tuple[str, int]]]
    errors: dict[str, str] = field(default_factory=dict)


def read_pcp(machine: Machine = HERE, address: str | None = None) -> dict[str, Any]:
    """All metrics of a machine's PMCD; of the one that runs here without an address.

    Raises SourceError.
    """
    if address is None and not machine.is_here:
        raise SourceMissingError(
            "no PMCD was reached there: start pmcd on it, let its sshd forward "
            "sockets, and probe it over ssh"
        )
    address = address or LOCAL
    try:
        with _connect(address) as context:
            return parse_pcp(_ask(context, address))
    except PmError as error:
        raise SourceRefusedError(
            f"the PMCD at {address} broke off ({error}): look into its pmcd.log"
        ) from None


def _connect(address: str) -> Context:
    try:
        return Context(address)
    except LibraryMissingError as error:
        raise SourceMissingError(str(error)) from None
    except PmError as error:
        raise SourceRefusedError(
            f"no PMCD answers at {address} ({error}): start it with "
            "`systemctl start pmcd`, or give another address"
        ) from None


def parse_pcp(answers: Answers) -> dict[str, Any]:
    """The facts in what a PMCD answered."""
    pmdas = {
        str(number): name
        for metric in answers.metrics
        if metric.name == _AGENTS
        for name, number in answers.instances.get(metric.indom, [])
    }
    fleeting = _fleeting(answers.metrics, pmdas)
    return {
        "address": answers.address,
        "version": answers.version,
        "metrics": [_metric(metric) for metric in answers.metrics],
        "indoms": {
            indom_id(indom): _indom(
                answers.instances.get(indom), fleeting=indom in fleeting
            )
            for indom in sorted({metric.indom for metric in answers.metrics})
            if indom != NO_INDOM
        },
        "pmdas": pmdas,
        "errors": answers.errors,
    }


def pmid_id(pmid: int) -> str:
    """PCP's way of writing a metric's number: ``60.0.20``."""
    return f"{pmid >> 22 & 0x1FF}.{pmid >> 10 & 0xFFF}.{pmid & 0x3FF}"


def indom_id(indom: int) -> str:
    """PCP's way of writing an instance domain's number: ``60.0``."""
    return f"{indom >> 22 & 0x1FF}.{indom & 0x3FFFFF}"


def _ask(context: Context, address: str) -> Answers:
    metrics, errors = _ask_metrics(context)
    instances = {}
    for indom in {metric.indom for metric in metrics} - {NO_INDOM}:
        try:
            held = context.instances(indom).items()
            instances[indom] = [(name, number) for number, name in held]
        except PmError as error:
            reason = f"instances of {indom_id(indom)}: {error}"
            errors |= {m.name: reason for m in metrics if m.indom == indom}
    return Answers(address, context.version(), metrics, instances, errors)


def _ask_metrics(context: Context) -> tuple[list[Metric], dict[str, str]]:
    names = sorted(set(context.names()))
    pmids = zip(names, context.identifiers(names), strict=True)
    known = {name: pmid for name, pmid in pmids if pmid != NO_METRIC}
    described = context.descriptors(list(known.values()))
    answers = dict(zip(known, described, strict=True))
    metrics = [
        _described(context, name, answer)
        for name, answer in answers.items()
        if isinstance(answer, PmDesc)
    ]
    errors = {n: _refusal(context, n) for n in names if n not in known}
    errors |= {n: str(why) for n, why in answers.items() if isinstance(why, PmError)}
    return metrics, errors


def _refusal(context: Context, name: str) -> str:
    """Why PMCD does not know a metric, in PCP's own words."""
    try:
        context.identifier(name)
    except PmError as error:
        return str(error)
    return "its identifier is missing"


def _described(context: Context, name: str, answer: PmDesc) -> Metric:
    return Metric(
        name=name,
        pmid=answer.pmid,
        type=answer.type,
        indom=answer.indom,
        semantics=answer.semantics,
        units=units_text(answer.units),
        help=context.help_line(answer.pmid),
    )


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "pmid": pmid_id(metric.pmid),
        "type": _TYPES.get(metric.type, "unknown"),
        "semantics": _SEMANTICS.get(metric.semantics, "unknown"),
        "units": metric.units,
        "indom": None if metric.indom == NO_INDOM else indom_id(metric.indom),
        "help": metric.help,
    }


def _fleeting(metrics: list[Metric], pmdas: Mapping[str, str]) -> set[int]:
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
