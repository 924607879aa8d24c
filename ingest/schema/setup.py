"""The schema of modules, disks and set-up in a probe; see ``schema``."""

from pydantic import BaseModel

from ingest.schema.types import (
    CacheType,
    Index,
    Name,
    Number,
    OrDefault,
    Text,
    Truth,
    Whole,
)


class MemorySlot(BaseModel):
    """A memory slot of ``memory_banks``."""

    slot: Name | None = None
    bank: Text | None = None
    empty: Truth | None = None
    size: Whole | None = None
    form_factor: Text | None = None
    type: Text | None = None
    technology: Text | None = None
    detail: Text | None = None
    speed: Whole | None = None
    configured_speed: Whole | None = None
    vendor: Text | None = None
    part: Text | None = None
    serial: Text | None = None
    asset: Text | None = None
    rank: Whole | None = None
    total_width: Whole | None = None
    data_width: Whole | None = None


class Partition(BaseModel):
    """A MIG device."""

    index: Index
    gpu_instance: Whole | None = None
    compute_instance: Whole | None = None
    uuid: Text | None = None
    multiprocessors: Whole | None = None
    memory: Whole | None = None


class Gpu(BaseModel):
    """A GPU as NVIDIA's driver describes it."""

    index: Index
    busid: Name | None = None
    name: Name | None = None
    architecture: Text | None = None
    uuid: Name | None = None
    serial: Text | None = None
    part: Text | None = None
    vbios: Text | None = None
    memory: Whole | None = None
    max_clock: Whole | None = None
    max_memory_clock: Whole | None = None
    power_limit: Number | None = None
    link_generation: Whole | None = None
    link_width: Whole | None = None
    compute_mode: Text | None = None
    persistence: Truth | None = None
    ecc: Truth | None = None
    mig: Truth | None = None
    partitions: list[Partition] = []


class Gpus(BaseModel):
    """``gpus``."""

    driver: Text | None = None
    cuda: Text | None = None
    gpus: list[Gpu] = []


class Smart(BaseModel):
    """A disk of ``smart``."""

    device: Name
    protocol: Text | None = None
    model: Text | None = None
    vendor: Text | None = None
    family: Text | None = None
    serial: Text | None = None
    firmware: Text | None = None
    size: Whole | None = None
    rotation_rate: Whole | None = None
    form_factor: Text | None = None
    healthy: Truth | None = None
    wear: Whole | None = None
    self_test: Truth | None = None


class Queue(BaseModel):
    """Request queue settings of a disk."""

    scheduler: Text | None = None
    depth: Whole | None = None
    logical_block: Whole | None = None
    physical_block: Whole | None = None
    read_ahead: Whole | None = None
    write_cache: Truth | None = None
    discards: Truth | None = None
    zoned: Text | None = None


class Tlb(BaseModel):
    """One TLB of a core."""

    level: Whole
    type: Name | None
    page_sizes: list[Whole]
    entries: Whole
    ways: Whole | None
    fully: Truth


class Tlbs(BaseModel):
    """``tlbs``."""

    core_type: Text | None = None
    tlbs: list[Tlb] = []


class Smt(BaseModel):
    """Simultaneous multithreading."""

    active: Truth | None = None
    control: Text | None = None


class Scaling(BaseModel):
    """Frequency scaling settings."""

    driver: Text | None = None
    status: Text | None = None
    preference: Text | None = None
    boost: Truth | None = None


class CpuState(BaseModel):
    """``cpu_state``."""

    lists: dict[Text, list[Index]] = {}
    smt: OrDefault[Smt] = Smt()
    scaling: OrDefault[Scaling] = Scaling()


class Pool(BaseModel):
    """Huge pages of one size."""

    size: Whole
    count: Whole


class NumaMemory(BaseModel):
    """The memory of one NUMA domain, according to the kernel."""

    os_index: Index
    memory: Whole | None = None
    huge_pages: list[Pool] = []


class Swap(BaseModel):
    """A swap area."""

    name: Name
    type: Text | None = None
    size: Whole | None = None
    priority: Whole | None = None


class Memory(BaseModel):
    """``memory``."""

    numa: list[NumaMemory] = []
    huge_pages: list[Pool] = []
    default_huge_page: Whole | None = None
    transparent_huge_pages: Text | None = None
    swap: list[Swap] = []


class Hierarchy(BaseModel):
    """A mounted cgroup hierarchy."""

    path: Name
    version: Whole
    name: Text | None = None
    controllers: list[Text] = []
    enabled: list[Text] = []
    delegated: list[Text] = []


class Cgroups(BaseModel):
    """``cgroups``."""

    layout: Text | None = None
    hierarchies: list[Hierarchy] = []


class KernelCache(BaseModel):
    """A cache of ``cache_sets``."""

    level: Whole
    type: CacheType
    threads: list[Index]
    size: Whole | None = None
    line: Whole | None = None
    ways: Whole | None = None
    sets: Whole | None = None
