"""The agents that run on demand: what each gives, needs and costs.

It needs only Python 3.8 or newer, because it is sent to other hosts together with
`daemon`. Names of metrics are those of PCP 6.0; rights and hooks are those that the
agents' own programs use. Costs were measured (docs/reference/own-source.md).
"""

from __future__ import annotations

from typing import Mapping, NamedTuple  # noqa: UP035


class AgentModule(NamedTuple):
    """A part of an agent that can be switched on by itself.

    ``metrics`` are without the agent's name; ``hook`` is where the kernel calls it;
    ``instances`` is their number if it is fixed, None if they come and go.
    """

    name: str
    title: str
    metrics: tuple[str, ...]
    hook: str = ""
    cost: str = ""
    instances: int | None = None


class Need(NamedTuple):
    """Something that an agent needs: a path (or one that matches), or a program."""

    reason: str
    path: str = ""
    program: str = ""


class KnownAgent(NamedTuple):
    """An agent of PCP. Without modules, all its metrics are below its name.

    ``runs`` is False for those that are only described and checked.
    """

    name: str
    title: str
    program: str
    domain: int
    rights: str
    cost: str = ""
    needs: tuple[Need, ...] = ()
    modules: tuple[AgentModule, ...] = ()
    runs: bool = False

    def module_of(self, metric: str) -> AgentModule | None:
        """The module that gives a metric, by the metric's whole name."""
        for module in self.modules:
            if metric in self.metrics_of(module):
                return module
        return None

    def metrics_of(self, module: AgentModule) -> list[str]:
        """The whole names of a module's metrics."""
        return [f"{self.name}.{metric}" for metric in module.metrics]


# One bucket for each power of two of 64 bits.
_BUCKETS = 63
_EACH_EVENT = "a few microseconds each time"
KPROBE, FENTRY, TRACEPOINT, BTF, UPROBE = (
    "kprobe",
    "fentry",
    "tracepoint",
    "BTF tracepoint",
    "uprobe",
)


def _events(
    name: str, title: str, metrics: str, hook: str, prefix: str = ""
) -> AgentModule:
    names = tuple(f"{prefix or name}.{metric}" for metric in metrics.split())
    return AgentModule(name, title, names, hook, _EACH_EVENT)


_BPF = (
    AgentModule(
        "runqlat",
        "How long threads waited for a CPU, as a histogram",
        ("runq.latency",),
        BTF,
        "some hundred nanoseconds for each switch of a CPU to another thread",
        _BUCKETS,
    ),
    AgentModule(
        "biolatency",
        "How long block devices took for each request, as a histogram",
        ("disk.all.latency",),
        BTF,
        "some hundred nanoseconds for each request to a block device",
        _BUCKETS,
    ),
    _events(
        "execsnoop",
        "Programs that start",
        "comm pid ppid ret args uid lost",
        TRACEPOINT,
    ),
    _events(
        "exitsnoop",
        "Processes that end, their age and exit code",
        "age pid tid ppid sig exit_code comm coredump lost",
        TRACEPOINT,
    ),
    _events(
        "opensnoop",
        "Files that programs open",
        "pid uid fd err flags comm fname lost",
        TRACEPOINT,
    ),
    _events(
        "statsnoop",
        "Files whose state programs ask for",
        "pid comm ret err path lost",
        TRACEPOINT,
    ),
    _events(
        "mountsnoop",
        "File systems that are mounted and unmounted",
        "pid tid comm op ret lat mnt_ns fs source target data flags call lost",
        TRACEPOINT,
    ),
    _events(
        "tcpconnect",
        "TCP connections that programs open",
        "pid comm ipversion saddr daddr dport uid lost",
        KPROBE,
    ),
    _events(
        "tcpconnlat",
        "How long TCP connections took to open",
        "pid comm ipversion saddr lport daddr dport lat lost",
        FENTRY,
    ),
    _events(
        "biosnoop",
        "Requests to block devices, one by one",
        "comm pid disk rwbs sector bytes lat lost",
        FENTRY,
    ),
    _events(
        "fsslower",
        "Operations of ext4 that took longer than 10 ms",
        "comm pid file_op bytes offset lat filename lost",
        FENTRY,
    ),
    AgentModule(
        "vfsstat",
        "Number of reads, writes, syncs, opens and creations of files",
        tuple(
            f"vfsstat.{name}" for name in ("read", "write", "fsync", "open", "create")
        ),
        KPROBE,
        "some hundred nanoseconds for each such call",
        1,
    ),
    _events(
        "oomkill",
        "Processes that the kernel ended for lack of memory",
        "fpid fcomm tpid tcomm pages lost",
        KPROBE,
    ),
    _events(
        "bashreadline", "Commands that users type into bash", "comm pid lost", UPROBE
    ),
)

_ALL = (
    KnownAgent(
        "bpf",
        "Latencies and events of the kernel, by BPF",
        "bpf/pmdabpf",
        157,
        "root, or CAP_BPF and CAP_PERFMON; CAP_SYS_ADMIN for tracepoints",
        "a program in the kernel for each module that a plan needs",
        (
            Need(
                "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)",
                "/sys/kernel/btf/vmlinux",
            ),
        ),
        _BPF,
        runs=True,
    ),
    KnownAgent(
        "openmetrics",
        "Exporters of Prometheus or OpenMetrics text",
        "openmetrics/pmdaopenmetrics.python",
        144,
        "none",
        "one request to each exporter per period",
        (
            Need(
                "Python lacks requests: `apt-get install python3-requests`",
                "/usr/lib/python3*/*-packages/requests",
            ),
        ),
        runs=True,
    ),
    KnownAgent(
        "bpftrace",
        "Maps of bpftrace scripts",
        "bpftrace/pmdabpftrace.python",
        151,
        "root",
        "that of the scripts, and 100 MB of memory for each",
        (
            Need(
                "bpftrace is not installed: `apt-get install bpftrace`",
                program="bpftrace",
            ),
        ),
        runs=True,
    ),
    KnownAgent(
        "denki",
        "Energy by RAPL, and batteries",
        "denki/pmdadenki",
        156,
        "root",
        needs=(
            Need(
                "this machine shows no RAPL counter and no battery",
                "/sys/class/powercap/intel-rapl*|/sys/class/power_supply/BAT*",
            ),
        ),
    ),
    KnownAgent(
        "nvidia",
        "GPUs of NVIDIA, by NVML",
        "nvidia/pmdanvidia",
        120,
        "none",
        needs=(Need("this machine has no GPU with NVIDIA's driver", "/dev/nvidiactl"),),
    ),
    KnownAgent(
        "lustre",
        "Lustre file systems, as a client",
        "lustre/pmdalustre.pl",
        134,
        "root",
        needs=(
            Need(
                "no Lustre file system is mounted",
                "/proc/fs/lustre|/sys/fs/lustre|/sys/kernel/debug/lustre",
            ),
        ),
    ),
    KnownAgent(
        "gpfs",
        "IBM Storage Scale (GPFS), as a client",
        "gpfs/pmdagpfs.pl",
        135,
        "root",
        needs=(Need("IBM Storage Scale is not installed", "/usr/lpp/mmfs/bin/mmpmon"),),
    ),
    KnownAgent(
        "smart",
        "State of disks, by S.M.A.R.T.",
        "smart/pmdasmart",
        150,
        "root",
        needs=(
            Need(
                "smartctl is not installed: `apt-get install smartmontools`",
                program="smartctl",
            ),
            Need(
                "this machine has no disk with S.M.A.R.T.",
                "/dev/sd[a-z]|/dev/nvme[0-9]",
            ),
        ),
    ),
    KnownAgent(
        "lmsensors",
        "Temperatures, fans and voltages of the main board",
        "lmsensors/pmdalmsensors.python",
        74,
        "none",
        needs=(
            Need(
                "sensors is not installed: `apt-get install lm-sensors`",
                program="sensors",
            ),
            Need("this kernel shows no sensors", "/sys/class/hwmon/hwmon*"),
        ),
    ),
)
KNOWN: Mapping[str, KnownAgent] = {one.name: one for one in _ALL}


def agent_of(metric: str) -> KnownAgent | None:
    """The agent that gives a metric on demand, by the beginning of its name."""
    name, dot, _ = metric.partition(".")
    return KNOWN.get(name) if dot else None
