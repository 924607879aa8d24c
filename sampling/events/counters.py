"""How many counters events need, and how many a host has for them.

libpfm4 does not say which event may use which counter, so fewer events than counters
may still share them. PCP's dutycycle, which is then below 1, shows that.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ingest.pmu.kernel import kernel_pmus
from sampling.errors import PerfeventError
from sampling.events.choice import EventSelection, SelectedEvent
from sampling.events.event import PmuEvent
from sampling.events.host import HostPmu, HostPmus

# Event and unit mask, edge, invert and counter mask: the bits that the kernel compares
# with an event that has a fixed counter (X86_RAW_EVENT_MASK in its perf_event.h).
_SELECTS = 0xFF84FFFF
# Event codes of fixed counters 0 to 3 (arch/x86/events/intel/core.c). If the fixed
# counter is taken, the kernel can use a general one for the first two.
_FIXED = {0x00C0: 0, 0x0100: 0, 0x003C: 1, 0x0300: 2, 0x0400: 3}
_CYCLES = 0x3C
# Counters of one Intel thread, whatever libpfm4 says of a core with one thread. Of
# counters that two threads share, each thread has half (Intel SDM 3B, 20.2.1 on).
_MOST_INTEL, _NOT_SHARED = 8, 4
# "Large increment per cycle": takes two counters (arch/x86/events/amd/core.c).
_AMD_EVENT, _AMD_PAIRS = 0xF000000FF, 0x003
# The kernel's names of the cores of a hybrid processor.
_HYBRID = {"cpu_core": "adl_glc", "cpu_atom": "adl_grt"}
# libpfm4 does not know how many counters a core has (Arm Neoverse N1 Core Technical
# Reference Manual, C2.1). Cycles have a counter of their own, which the kernel uses
# first (drivers/perf/arm_pmuv3.c).
_OF_ARM = {"arm_n1": 6}
_ARM_CYCLES = "CPU_CYCLES"
# PMUs with a register for every event, or with no registers at all.
_UNLIMITED = {"os"}
_FIX = (
    "request fewer events, or allow multiplexing (--multiplex); `supertwin observe` "
    "can also count them in several runs (--passes)"
)
_FREE = {"software", "msr", "power", "rapl", "amd64_rapl"}


@dataclass(frozen=True)
class CounterNeed:
    """General counters of a PMU: needed and available (`there`, None if unknown)."""

    pmu: str
    needed: int
    there: int | None

    @property
    def dutycycle(self) -> float | None:
        """The share of time that each event is counted; None if unknown."""
        if self.there is None:
            return None
        return min(1.0, self.there / self.needed) if self.needed else 1.0


def needs(host: HostPmus, counted: Iterable[SelectedEvent]) -> list[CounterNeed]:
    """What events need of each PMU with a limited number of counters."""
    groups: dict[str, list[SelectedEvent]] = {}
    for one in counted:
        groups.setdefault(_counting(host, one), []).append(one)
    bounded = {
        pmu: group
        for name, group in groups.items()
        for pmu in [host.pmus.get(name, HostPmu(name))]
        if name not in _FREE and pmu.type not in _UNLIMITED
        # The kernel does not say how many counters such a device has.
        if pmu.counters or name not in kernel_pmus()
    }
    return [_need(pmu, [*_held(host, pmu), *group]) for pmu, group in bounded.items()]


def check_counters(
    host: HostPmus, choice: EventSelection, multiplex: bool
) -> list[str]:
    """Describe shared and unknown counters, a line each.

    Raises PerfeventError for more events than counters, unless `multiplex` is set.
    """
    watchdog = " with the kernel's NMI watchdog" if host.watchdog else ""
    lines = []
    for need in needs(host, choice.counted):
        if need.there is None:
            lines.append(
                f"the number of counters of {need.pmu} is unknown: dutycycle shows "
                f"whether its {need.needed} events share them"
            )
        elif need.needed > need.there:
            text = (
                f"{need.pmu} of {host.host} has {need.there} general counters, but "
                f"{need.needed} are needed{watchdog}"
            )
            if not multiplex:
                raise PerfeventError(f"{text}: {_FIX}")
            lines.append(
                f"{text}: each event is counted {need.dutycycle:.0%} of the time"
            )
    return lines


def _held(host: HostPmus, pmu: HostPmu) -> list[SelectedEvent]:
    """What the kernel itself counts on a core: cycles, for its NMI watchdog."""
    if not host.watchdog or pmu.type != "core":
        return []
    code = _CYCLES if _is_intel(pmu) else None
    return [SelectedEvent(PmuEvent(pmu.name, "watchdog", kernel=True), "thread", code)]


def _counting(host: HostPmus, one: SelectedEvent) -> str:
    """The PMU that counts an event: the kernel's ``cpu`` is the PMU of the core.

    On Arm it is called ``armv8_pmuv3_0`` or similar.
    """
    event = one.event
    core = event.pmu == "cpu" or event.pmu.startswith("armv")
    if event.kernel and core and len(host.cores) == 1:
        return host.cores[0]
    if event.kernel and _HYBRID.get(event.pmu) in host.cores:
        return _HYBRID[event.pmu]
    return event.pmu


def _need(pmu: HostPmu, counted: list[SelectedEvent]) -> CounterNeed:
    fixed: set[int] = set()
    needed = 0
    for one in counted:
        slot = _fixed_slot(pmu, one)
        if slot is not None and slot not in fixed:
            fixed.add(slot)
        else:
            needed += 2 if _takes_two(pmu, one.code) else 1
    return CounterNeed(pmu.name, needed, _there(pmu))


def _fixed_slot(pmu: HostPmu, one: SelectedEvent) -> int | None:
    """The number of the fixed counter that can count an event, if there is one."""
    if _is_intel(pmu):
        slot = _FIXED.get((one.code or 0) & _SELECTS)
        return slot if slot is not None and slot < pmu.fixed else None
    is_cycles = pmu.name in _OF_ARM and one.event.name.upper() == _ARM_CYCLES
    return 0 if is_cycles else None


def _there(pmu: HostPmu) -> int | None:
    if not pmu.counters:
        return _OF_ARM.get(pmu.name)
    if not _is_intel(pmu):
        return pmu.counters
    shared = pmu.threads_per_core > 1 and pmu.counters > _NOT_SHARED
    return min(_MOST_INTEL, pmu.counters // 2 if shared else pmu.counters)


def _is_intel(pmu: HostPmu) -> bool:
    return pmu.type == "core" and not pmu.name.startswith(("amd64_", "arm_"))


def _takes_two(pmu: HostPmu, code: int | None) -> bool:
    zen = pmu.name.startswith(("amd64_fam17h", "amd64_fam19h", "amd64_fam1ah"))
    return (
        zen
        and pmu.type == "core"
        and code is not None
        and code & _AMD_EVENT == _AMD_PAIRS
    )
