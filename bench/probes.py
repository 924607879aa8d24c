"""What a probe costs: ns for each call of a function, USDT probe or tracepoint."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.table import Figure
from core.settings.tools import PROBER
from sampler_bridge.sources.probes.prober import Prober
from sampling.probes.changes import checked
from sampling.probes.cost import ns_per_call
from sampling.probes.definition import CodeProbe, parse_target

_CALLS, _RUNS = 50_000, 7
# The note is what <sys/sdt.h> writes for DTRACE_PROBE(demo, step).
_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
#define NOTE(name) \
    "990: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n" \
    ".4byte 992f-991f,994f-993f,3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
    "993: .8byte 990b,0,0\n.asciz \"demo\"\n.asciz \"" name "\"\n.asciz \"\"\n" \
    "994: .balign 4\n.popsection\n"
__attribute__((noinline)) void work(void) { __asm__ volatile(""); }
__attribute__((noinline)) void pushed(void) { __asm__ volatile("push %rax\npop %rax"); }
__attribute__((noinline)) void step(void)
{
    __asm__ volatile(NOTE("begin"));
    __asm__ volatile(NOTE("end"));
}
__attribute__((noinline)) void call(void) { syscall(SYS_getppid); }
int main(int argc, char **argv)
{
    struct timespec a, b;
    void (*what)(void) = *argv[1] == 'w' ? work : *argv[1] == 's' ? step
                        : *argv[1] == 'p' ? pushed : call;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (long n = atol(argv[2]); n; n--)
        what();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    printf("%ld\n", (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec);
}
"""
_USDT = "usdt:{}:demo:{}"
_EVENT = "tracepoint:raw_syscalls:sys_{}"


def probe_cost_figures() -> Iterator[Figure]:
    """Runs with and without a probe alternate; the medians are of their differences."""
    with TemporaryDirectory() as folder:
        binary = Path(folder) / "calls"
        command = ["cc", "-O2", "-x", "c", "-", "-o", str(binary)]
        subprocess.run(command, input=_PROGRAM.encode(), check=True)
        for what in ("work", "step", "call"):
            base = median(_nanoseconds(binary, what) for _ in range(_RUNS))
            yield Figure(f"probes: {what} without a probe, a call", base, "ns")
        for label, called, probe in _probes(binary):
            added = median(_added(binary, called, probe) for _ in range(_RUNS))
            predicted = ns_per_call(probe)
            what = f"probes: {label}, ns a call more"
            yield Figure(what, added, "ns", versus=predicted, against="predicted")


def _probes(binary: Path) -> Iterator[tuple[str, str, CodeProbe]]:
    function = parse_target(f"uprobe:{binary}:work")
    begin, end = (parse_target(_USDT.format(binary, name)) for name in ("begin", "end"))
    enter, leave = (parse_target(_EVENT.format(name)) for name in ("enter", "exit"))
    pushed = parse_target(f"uprobe:{binary}:pushed")
    yield "uprobe, counted", "work", CodeProbe("p", function)
    yield "uprobe on a push, counted", "pushed", CodeProbe("p", pushed)
    yield "uprobe and uretprobe, timed", "work", CodeProbe("p", function, True)
    yield "USDT, counted", "step", CodeProbe("p", begin)
    yield "two USDT, timed", "step", CodeProbe("p", begin, True, end)
    yield "tracepoint, counted", "call", CodeProbe("p", enter)
    by_thread = CodeProbe("p", enter, by="thread")
    yield "tracepoint, counted by thread", "call", by_thread
    with_id = CodeProbe("p", enter, argument="id")
    yield "tracepoint, its argument read", "call", with_id
    yield "two tracepoints, timed", "call", CodeProbe("p", enter, True, leave)


def _added(binary: Path, what: str, probe: CodeProbe) -> float:
    without = _nanoseconds(binary, what)
    prober = Prober(PROBER)
    try:
        prober.attach(0, checked(probe)[0])
        return _nanoseconds(binary, what) - without
    finally:
        prober.close()


def _nanoseconds(binary: Path, what: str) -> float:
    """CPU time of a call (ns)."""
    words = [str(binary), what, str(_CALLS)]
    done = subprocess.run(words, capture_output=True, check=True)
    return int(done.stdout) / _CALLS
