"""The schema of the document that ``supertwin probe`` writes, as far as it is read.

Unknown keys are ignored. Values that the shapes check (a size of -1) are left to them;
values that cannot be described at all are refused here.
"""

from pydantic import BaseModel, Field

from ingest.schema import setup
from ingest.schema.topology import Distance, Hwloc
from ingest.schema.types import Name, Number, Text, Time, Truth, Whole


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

    board: HardwarePart = HardwarePart()
    system: HardwarePart = HardwarePart()
    bios: HardwarePart = HardwarePart()


class CpuModel(BaseModel):
    """The model of one socket."""

    vendor: Text | None = None
    family: Text | None = None
    model: Text | None = None
    stepping: Text | None = None
    name: Text | None = None
    microcode: Text | None = None
    other_microcode: dict[Text, Text] = {}
    flags: list[Text] | None = None


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
    pmdas: dict[Text, Name] | None = None


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
    queue: setup.Queue | None = None
    driver: Text | None = None
    ipv4: Text | None = None
    ipv6: list[Text] | None = None
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
    cpus: list[CpuModel] | None = None
    memory_banks: list[Bank] | None = None
    disks: list[Device] | None = None
    nics: list[Device] | None = None


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

    pmus: list[ProbedPmu] | None = None


class Perf(BaseModel):
    """``perf``."""

    events: dict[Text, list[Text]] = Field(default_factory=dict)
    paranoid: Whole | None = None
    watchdog: Truth | None = None


class Facts(BaseModel):
    """The facts of each source; a failed one is absent."""

    os: System | None = None
    board: Board | None = None
    cpu: Cpu | None = None
    hwloc: Hwloc | None = None
    clocks: dict[Text, ThreadClock | None] | None = None
    numa_distances: list[Distance] | None = None
    pcp: Pcp | None = None
    disks: list[NamedDevice] | None = None
    nics: list[NamedDevice] | None = None
    lshw: Lshw | None = None
    pfm: Pfm | None = None
    event_sources: list[Text] | None = None
    perf: Perf | None = None
    memory_banks: list[setup.MemorySlot] | None = None
    gpus: setup.Gpus | None = None
    smart: list[setup.Smart] | None = None
    tlbs: setup.Tlbs | None = None
    cpu_state: setup.CpuState | None = None
    memory: setup.Memory | None = None
    cgroups: setup.Cgroups | None = None
    kernel_options: list[Text] | None = None
    cache_sets: list[setup.KernelCache] | None = None


class ProbeDocument(BaseModel):
    """A whole probe."""

    host: Name
    started: Time
    ended: Time
    sources: dict[Name, SourceReport]
    facts: Facts
