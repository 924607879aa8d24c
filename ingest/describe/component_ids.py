"""The last part of a component's IRI, below its kind.

Threads and NUMA domains are named by their OS index, disks and network interfaces by
their name. All others are named by the lowest thread they contain, since OS indexes of
cores and dies repeat on real machines.
"""

from collections.abc import Collection

_LETTERS = {"data": "d", "instruction": "i", "unified": ""}


def container(name: str, threads: Collection[int]) -> str:
    """``socket-0``, ``die-8``, ``core-4``, ``l2-4``."""
    return f"{name}-{min(threads)}"


def group(level: int, threads: Collection[int]) -> str:
    """``group0-8``: groups nest, so several may begin with the same thread."""
    return container(f"group{level}", threads)


def cache_level(level: int, type_: str) -> str:
    """``L1d``, ``L1i``, ``L3``; raises KeyError for an unknown type."""
    return f"L{level}{_LETTERS[type_]}"


def device(name: str) -> str:
    """A device's name: the kernel writes the ``/`` of ``cciss/c0d0`` as ``!``."""
    return name.replace("!", "/")
