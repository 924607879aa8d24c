"""The schema of the document that ``supertwin probe`` writes, as far as it is read.

Unknown keys are ignored. Values that the shapes check (a size of -1) are left to them;
values that cannot be described at all are refused here.
"""

from pydantic import BaseModel

from ingest.schema import setup
from ingest.schema.topology import NO_TOPOLOGY, Distance, Hwloc
from ingest.schema.types import (
    AnyText,
    Name,
    Number,
    OrDefault,
    Text,
    Time,
    Truth,
    Whole,
)


class SourceReport(BaseModel):
    """The outcome of one source."""

    ok: Truth
    seconds: Number
    reason: Text | None
    code: Text | None = None
    left_out: list[Text] = []


class System(BaseModel):
    """``os``."""

    os_name: Text | None = None
    kernel: Text | None = None
    architecture: Text | None = None
    machine_id: Text | None = None
    memory: Whole | None = None


class HardwarePart(BaseModel):
    """A board, a system or a BIOS."""

    vendor: Text | None = None
    model: Text | None = None
    serial: Text | None = None
    uuid: Text | None = None
    version: Text | None = None
    date: Text | None = None


class Board(BaseModel):
    """``board``."""

    board: OrDefault[HardwarePart] = HardwarePart()
    system: OrDefault[HardwarePart] = HardwarePart()
    bios: OrDefault[HardwarePart] = HardwarePart()


class CpuModel(BaseModel):
    """The model of one socket."""

    vendor: Text | None = None
    family: Text | None = None
    model: Text | None = None
    stepping: Text | None = None
    name: Text | None = None
    microcode: Text | None = None
    other_microcode: dict[Text, Text] = {}
    flags: OrDefault[list[Text]] = []


class Cpu(BaseModel):
    """``cpu``."""

    sockets: dict[Text, CpuModel] = {}


class ThreadClock(BaseModel):
    """The clock of one thread."""

    base: Whole | None = None
    min: Whole | None = None
    max: Whole | None = None
    governor: Text | None = None


class ProbedMetric(BaseModel):
    """One metric of PCP."""

    name: Name
    pmid: Text
    type: Text
    semantics: Text
    units: Text
    indom: Name | None
    help: Text | None


class InstanceDomain(BaseModel):
    """One instance domain of PCP."""

    stored: Truth
    instances: list[tuple[Name, Whole]]


class Pcp(BaseModel):
    """``pcp``."""

    metrics: list[ProbedMetric]
    indoms: dict[Name, InstanceDomain]
    pmdas: OrDefault[dict[Text, Name]] = {}


class Device(BaseModel):
    """A disk or a network interface, as lshw or the kernel describes it."""

    name: Text
    size: Whole | None = None
    rotational: Truth | None = None
    mac: Text | None = None
    speed: Whole | None = None
    up: Truth | None = None
    virtual: Truth | None = None
    duplex: Text | None = None
    mtu: Whole | None = None
    queue: OrDefault[setup.Queue] = setup.Queue()
    driver: Text | None = None
    ipv4: Text | None = None
    ipv6: OrDefault[list[Text]] = []
    permanent_mac: Text | None = None
    businfo: Text | None = None
    model: Text | None = None
    serial: Text | None = None
    vendor: Text | None = None
    firmware: Text | None = None


class NamedDevice(Device):
    """A device that the kernel lists and that gets an IRI."""

    name: Name


class Bank(BaseModel):
    """A memory bank."""

    slot: Name | None = None
    size: Whole | None = None
    clock: Whole | None = None
    description: Text | None = None
    vendor: Text | None = None
    model: Text | None = None
    serial: Text | None = None


class Lshw(Board):
    """``lshw``."""

    memory: Whole | None = None
    cpus: OrDefault[list[CpuModel]] = []
    memory_banks: OrDefault[list[Bank]] = []
    disks: OrDefault[list[Device]] = []
    nics: OrDefault[list[Device]] = []


class Mask(BaseModel):
    """A unit mask of an event."""

    name: Name
    code: Text | None = None
    description: Text | None = None
    flags: list[Text] = []
    encoding: list[Text] = []


class ProbedEvent(Mask):
    """An event of a PMU."""

    umasks: list[Mask] = []
    modifiers: list[Text] = []


class ProbedPmu(BaseModel):
    """A PMU and its events; for a remote machine often only its name."""

    name: Name
    description: Text | None = None
    type: Text | None = None
    counters: Whole | None = None
    fixed_counters: Whole | None = None
    max_encoding: Whole | None = None
    event_count: Whole | None = None
    modifiers: dict[Text, Text] = {}
    events: list[ProbedEvent] = []


class Pfm(BaseModel):
    """``pfm``."""

    pmus: OrDefault[list[ProbedPmu]] = []


class Perf(BaseModel):
    """``perf``."""

    events: dict[Text, list[Text]] = {}
    paranoid: Whole | None = None
    watchdog: Truth | None = None
    formats: dict[Text, dict[Text, Text]] = {}
    cpumasks: dict[Text, Text] = {}


class Original(BaseModel):
    """``original``: notes on a probe file of the original SuperTwin."""

    disagreements: list[Text] = []


class Facts(BaseModel):
    """The facts of each source; those of a failed source are empty.

    ``pcp`` and ``event_sources`` are None if nothing gave them.
    """

    os: OrDefault[System] = System()
    board: OrDefault[Board] = Board()
    cpu: OrDefault[Cpu] = Cpu()
    hwloc: OrDefault[Hwloc] = NO_TOPOLOGY
    clocks: OrDefault[dict[Text, ThreadClock | None]] = {}
    numa_distances: OrDefault[list[Distance]] = []
    pcp: Pcp | None = None
    disks: OrDefault[list[NamedDevice]] = []
    nics: OrDefault[list[NamedDevice]] = []
    lshw: OrDefault[Lshw] = Lshw()
    pfm: OrDefault[Pfm] = Pfm()
    event_sources: list[Text] | None = None
    perf: OrDefault[Perf] = Perf()
    memory_banks: OrDefault[list[setup.MemorySlot]] = []
    gpus: OrDefault[setup.Gpus] = setup.Gpus()
    smart: OrDefault[list[setup.Smart]] = []
    tlbs: OrDefault[setup.Tlbs] = setup.Tlbs()
    cpu_state: OrDefault[setup.CpuState] = setup.CpuState()
    memory: OrDefault[setup.Memory] = setup.Memory()
    cgroups: OrDefault[setup.Cgroups] = setup.Cgroups()
    kernel_options: OrDefault[list[Text]] = []
    cache_sets: OrDefault[list[setup.KernelCache]] = []
    original: OrDefault[Original] = Original()

    @property
    def metrics(self) -> list[ProbedMetric]:
        """PCP's metrics; empty without PCP."""
        return self.pcp.metrics if self.pcp else []


class ProbeDocument(BaseModel):
    """A whole probe; ``address`` is that of a remote machine."""

    host: Name
    started: Time
    ended: Time
    sources: dict[Name, SourceReport]
    facts: Facts
    address: AnyText = None
