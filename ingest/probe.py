"""The probe: query every source once; sources fail independently."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from core.errors import INTERNAL
from core.linux import pmapi
from ingest.errors import ProbeSourceError, SourceMissingError
from ingest.gaps import collected_gaps
from ingest.host_name import check_host
from ingest.hwloc.host import host_facts
from ingest.hwloc.read import read_hwloc
from ingest.pmu.pfm import read_pfm
from ingest.sources.cgroups import read_cgroups
from ingest.sources.cpu_state import read_cpu_state
from ingest.sources.disks import read_disks
from ingest.sources.dmi import read_board
from ingest.sources.dmidecode import read_memory_banks
from ingest.sources.kernel import read_kernel_options
from ingest.sources.lshw import read_lshw
from ingest.sources.machine import HERE, Machine
from ingest.sources.memory_setup import read_memory_setup
from ingest.sources.nics import read_nics
from ingest.sources.nvidia import read_gpus
from ingest.sources.pcp import read_pcp
from ingest.sources.perf import read_event_sources, read_perf
from ingest.sources.procfs import read_cpu, read_os
from ingest.sources.smart import read_smart
from ingest.sources.sysfs_cpu import read_cache_sets, read_clocks, read_numa_distances
from ingest.sources.tlb import read_tlbs

FORMAT = "supertwin-probe/1"

Read = Callable[[], Any]


def _read_pfm(machine: Machine) -> dict[str, Any]:
    if machine.is_here:
        return read_pfm()
    raise SourceMissingError(
        "libpfm4 only finds the PMUs of the machine that it runs on; those of a remote "
        "machine follow from its processor model"
    )


# The slow ones first: all are submitted at once, but few run in parallel.
SOURCES: dict[str, Callable[..., Any]] = {
    "pcp": read_pcp,
    "lshw": read_lshw,
    "hwloc": read_hwloc,
    "pfm": _read_pfm,
    "event_sources": read_event_sources,
    "perf": read_perf,
    "os": read_os,
    "cpu": read_cpu,
    "clocks": read_clocks,
    "board": read_board,
    "numa_distances": read_numa_distances,
    "cache_sets": read_cache_sets,
    "disks": read_disks,
    "nics": read_nics,
    "smart": read_smart,
    "memory_banks": read_memory_banks,
    "gpus": read_gpus,
    "tlbs": read_tlbs,
    "cpu_state": read_cpu_state,
    "memory": read_memory_setup,
    "cgroups": read_cgroups,
    "kernel_options": read_kernel_options,
}

_LOG = logging.getLogger(__name__)


class SourceOutcome(NamedTuple):
    """Whether a source succeeded, what it took, and the values that it left out."""

    ok: bool = True
    seconds: float = 0.0
    reason: str | None = None
    code: str | None = None
    left_out: Sequence[str] = ()


def probe(
    host: str,
    pcp_address: str | None = None,
    progress: Callable[[str], None] | None = None,
    machine: Machine = HERE,
) -> dict[str, Any]:
    """Query every source about a machine; a failing source loses only its own facts.

    The result is the document that ``supertwin probe`` writes, ready for JSON. A failed
    source is listed under ``sources`` with its reason and is absent from ``facts``;
    ``left_out`` lists the values that could not be read. ``pcp_address`` is that of the
    machine's PMCD, None for the local one. ``progress`` is called with one line per
    source. Raises HostNameError.
    """
    check_host(host)
    reads: dict[str, Read] = {
        name: partial(read, machine) for name, read in SOURCES.items()
    }
    reads["pcp"] = partial(SOURCES["pcp"], machine, pcp_address)
    started = _now()
    outcomes, facts = _ask_all(reads, machine, progress or (lambda line: None))
    return _document(host, started, outcomes, facts)


def hwloc_document(host: str, topology: dict[str, Any]) -> dict[str, Any]:
    """Build the document of a machine for which only parse_hwloc's facts are known.

    Raises HostNameError.
    """
    facts = {"hwloc": topology, **host_facts(topology)}
    return _document(check_host(host), _now(), {"hwloc": SourceOutcome()}, facts)


def file_document(
    host: str, facts: dict[str, Any], left_out: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Build the document of facts from one file; ``left_out`` is by source."""
    outcomes = {name: SourceOutcome(left_out=left_out.get(name, ())) for name in facts}
    return _document(host, _now(), outcomes, facts)


def _document(
    host: str,
    started: str,
    outcomes: Mapping[str, SourceOutcome],
    facts: dict[str, Any],
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "host": host,
        "started": started,
        "ended": _now(),
        "sources": {
            name: {**outcome._asdict(), "left_out": [*outcome.left_out]}
            for name, outcome in outcomes.items()
        },
        "facts": facts,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _ask_all(
    reads: dict[str, Read], machine: Machine, progress: Callable[[str], None]
) -> tuple[dict[str, SourceOutcome], dict[str, Any]]:
    pmapi.read_settings()
    with ThreadPoolExecutor(max_workers=len(reads)) as pool:
        pending: dict[Future[Any], str] = {
            pool.submit(_ask, name, read, machine): name for name, read in reads.items()
        }
        for done in as_completed(pending):
            progress(_line(pending[done], done.result()[0]))
        answers = {name: future.result() for future, name in pending.items()}
    outcomes = {name: outcome for name, (outcome, _) in answers.items()}
    facts = {name: found for name, (out, found) in answers.items() if out.ok}
    return outcomes, facts


def _ask(name: str, read: Read, machine: Machine) -> tuple[SourceOutcome, Any]:
    begun = time.perf_counter()
    found, reason, code = None, None, None
    with collected_gaps() as gaps:
        try:
            found = read()
        except ProbeSourceError as error:
            reason, code = _there(str(error), machine), error.code
        except Exception as error:
            # A defect in one source must not lose the facts of the others.
            _LOG.exception("source %s failed unexpectedly", name)
            why = _one_line(error)
            reason = f"{name} failed unexpectedly ({why}): report this bug"
            code = INTERNAL
    seconds = round(time.perf_counter() - begun, 4)
    left_out = [_there(gap, machine) for gap in gaps]
    return SourceOutcome(reason is None, seconds, reason, code, left_out), found


def _there(text: str, machine: Machine) -> str:
    """Replace paths of the copy by the original paths on the remote machine."""
    return text if machine.is_here else text.replace(f"{machine.root}/", "/")


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _line(name: str, outcome: SourceOutcome) -> str:
    if outcome.reason:
        return f"{name}: {outcome.reason}"
    count = len(outcome.left_out)
    values = "value" if count == 1 else "values"
    left_out = f", {count} {values} left out" if count else ""
    return f"{name}: {outcome.seconds:.2f} s{left_out}"
