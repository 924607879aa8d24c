"""The metrics of threads: one instance for each thread of a process."""

from pathlib import Path

from sampling.sources.own_metrics import OwnMetric

PREFIX = "supertwin.thread."
# Not an agent of PCP: their numbers end at 511.
DOMAIN = "515.0"


def _metric(
    name: str,
    help_: str,
    units: str = "",
    semantics: str = "counter",
    type_: str = "u64",
) -> OwnMetric:
    return OwnMetric(PREFIX + name, type_, semantics, units, DOMAIN, help_)


def _state(name: str, help_: str) -> OwnMetric:
    return _metric(name, help_, semantics="instant", type_="32")


THREAD_METRICS = (
    _metric("utime", "time that the thread ran in user mode", "millisec"),
    _metric("stime", "time that the thread ran in the kernel", "millisec"),
    _metric(
        "start_time", "when the thread started, after boot", "millisec", "discrete"
    ),
    _metric("minflt", "page faults without reading a disk", "count"),
    _metric("maj_flt", "page faults that read a disk", "count"),
    _metric("vctxsw", "times that the thread gave up its CPU to wait", "count"),
    _metric("nvctxsw", "times that the thread was taken off its CPU", "count"),
    _metric(
        "state",
        "state: R running or ready, S or D waiting, T or t stopped, I idle, Z ended",
        semantics="instant",
        type_="string",
    ),
    _state("processor", "CPU on which the thread ran last"),
    _state("nice", "nice value of the thread"),
    _state("policy", "scheduling policy of the thread, as in sched(7)"),
    _state("rt_priority", "real-time priority of the thread; 0 without one"),
    _metric("rchar", "bytes that system calls of the thread read", "byte"),
    _metric("wchar", "bytes that system calls of the thread wrote", "byte"),
    _metric("syscr", "system calls of the thread that read", "count"),
    _metric("syscw", "system calls of the thread that wrote", "count"),
    _metric("read_bytes", "bytes that the thread had read from devices", "byte"),
    _metric("write_bytes", "bytes that the thread had written to devices", "byte"),
    _metric(
        "cancelled_write_bytes", "bytes that the thread kept from being written", "byte"
    ),
    _metric("cpu_time", "time that the thread ran", "nanosec"),
    _metric("run_delay", "time that the thread waited for a CPU", "nanosec"),
    _metric("pcount", "times that the thread was put on a CPU", "count"),
)


def thread_count() -> int:
    """The number of threads on this machine now."""
    _, total = Path("/proc/loadavg").read_text("utf-8").split()[3].split("/")
    return int(total)


def thread_instance(process: str, number: int) -> str:
    """The instance of a thread, such as ``001234 ./app:tid=1240``."""
    return f"{process}:tid={number}"


def process_of(instance: str) -> str:
    """The instance of the process of a thread; empty if ``instance`` is no thread."""
    return instance.rpartition(":tid=")[0]
