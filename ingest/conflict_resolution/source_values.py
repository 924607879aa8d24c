"""Read what each source says of a property from the facts of a probe.

Each function returns the values by component. Paths are those of the facts' attributes:
``board.bios.date``.
"""

from operator import attrgetter

from ingest.conflict_resolution.claims import Component, Read, Value
from ingest.describe import component_ids as ids
from ingest.schema.schema import Facts
from ingest.schema.setup import KernelCache
from ingest.schema.topology import Cache
from ingest.sources.memory_slots import memory_slots

Found = dict[Component, Value | None]
HOST: Component = ()


def host(path: str) -> Read:
    """Return a reader of one value of the host."""
    value = attrgetter(path)
    return lambda facts: {HOST: value(facts)}


def each(kind: str, path: str, fact: str) -> Read:
    """Return a reader of one fact of each device of a list, by the device's name."""
    devices, value = attrgetter(path), attrgetter(fact)
    return lambda facts: {
        (kind, device.name): value(device) for device in devices(facts) if device.name
    }


def smart(fact: str) -> Read:
    value = attrgetter(fact)
    return lambda facts: {("disk", disk.device): value(disk) for disk in facts.smart}


def bank(source: str, fact: str) -> Read:
    def read(facts: Facts) -> Found:
        slots = memory_slots(facts)
        return {("memory", slot.name): slot.says(source, fact) for slot in slots}

    return read


def _sockets(facts: Facts) -> dict[str, str]:
    """Map each socket's OS index to its component id."""
    return {
        str(socket.os_index): ids.container("socket", socket.threads)
        for socket in facts.hwloc.sockets
        if socket.threads
    }


def socket_cpu(fact: str) -> Read:
    value = attrgetter(fact)

    def read(facts: Facts) -> Found:
        known = _sockets(facts)
        return {
            ("socket", known[index]): value(model)
            for index, model in facts.cpu.sockets.items()
            if index in known
        }

    return read


def socket_hwloc(key: str) -> Read:
    def read(facts: Facts) -> Found:
        return {
            ("socket", ids.container("socket", socket.threads)): socket.info.get(key)
            for socket in facts.hwloc.sockets
            if socket.threads
        }

    return read


def socket_lshw(fact: str) -> Read:
    """Return a reader of a fact from lshw, for hosts where it lists all sockets.

    lshw numbers processors from 0, as the board does.
    """
    value = attrgetter(fact)

    def read(facts: Facts) -> Found:
        known, cpus = _sockets(facts), facts.lshw.cpus
        if len(cpus) != len(known):
            return {}
        order = [known[index] for index in sorted(known, key=lambda i: (len(i), i))]
        pairs = zip(order, cpus, strict=True)
        return {("socket", name): value(cpu) for name, cpu in pairs}

    return read


def numa(path: str) -> Read:
    domains = attrgetter(path)
    return lambda facts: {
        ("numa", str(domain.os_index)): domain.memory for domain in domains(facts)
    }


def cache(path: str, fact: str) -> Read:
    """Return a reader of one fact of each cache that hwloc knows."""
    caches, value = attrgetter(path), attrgetter(fact)

    def read(facts: Facts) -> Found:
        known = facts.hwloc.caches
        names = {_cache_name(cache) for cache in known if cache.threads}
        return {
            ("cache", name): value(cache)
            for cache in caches(facts)
            if cache.threads and (name := _cache_name(cache)) in names
        }

    return read


def _cache_name(cache: Cache | KernelCache) -> str:
    level = ids.cache_level(cache.level, cache.type)
    return ids.container(level.lower(), cache.threads)


def hwloc_memory(facts: Facts) -> Found:
    return {HOST: sum(domain.memory or 0 for domain in facts.hwloc.numa) or None}


def installed(facts: Facts) -> Found:
    return {HOST: sum(slot.size or 0 for slot in facts.memory_banks) or None}
