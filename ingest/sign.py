"""The signs of a machine, which distinguish it from another one of the same name.

KINDS and TIERS define the precedence: the strongest tier in which both sides have a
sign of the same kind decides alone. Firmware signs belong to the machine and survive a
reinstallation. So they precede the machine-id, which clones of a disk image share, and
the addresses of network cards, which can be moved.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ingest.sources.dmi import real

if TYPE_CHECKING:
    from ingest.schema.schema import Device, Facts

Signs = dict[str, set[str]]

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
# A board without its own UUID derives one from the address of its first card.
_UUID_OF_A_MAC = re.compile(r"0{8}-0{4}-0{4}-0{4}-([0-9a-f]{12})")
_NOT_ITS_OWN = 0b11  # bits of multicast and locally administered addresses


def _board_serials(facts: "Facts") -> Sequence[str | None]:
    return [facts.board.board.serial]


def _uuids(facts: "Facts") -> Sequence[str | None]:
    uuid = _uuid(facts)
    return [] if _UUID_OF_A_MAC.fullmatch(uuid) else [uuid]


def _machine_ids(facts: "Facts") -> Sequence[str | None]:
    return [facts.os.machine_id]


def _macs(facts: "Facts") -> Sequence[str | None]:
    """Addresses of permanently installed cards; USB adapters move between machines."""
    cards = [nic for nic in facts.nics or facts.lshw.nics if _is_card(nic)]
    found = [_mac(_lasting(nic)) for nic in cards]
    of_uuid = _UUID_OF_A_MAC.fullmatch(_uuid(facts))
    return sorted({mac for mac in [*found, _mac(of_uuid and of_uuid[1])] if mac})


def _is_card(nic: "Device") -> bool:
    bus = nic.businfo or ""
    return nic.virtual is not True and not bus.startswith("usb")


def _lasting(nic: "Device") -> str | None:
    """The permanent address; a source that does not know of any gives only one."""
    stated = "permanent_mac" in nic.model_fields_set
    return nic.permanent_mac if stated else nic.mac


def _mac(text: str | None) -> str | None:
    """An address in one spelling; None if it is invented or not of Ethernet.

    Virtual machines, containers, bridges and phones with random addresses set the
    "locally administered" bit (IEEE 802, 8.4).
    """
    digits = re.sub("[:-]", "", (text or "").lower())
    mac = ":".join(re.findall("..", digits))
    good = _MAC.fullmatch(mac) and real(mac) and not int(mac[:2], 16) & _NOT_ITS_OWN
    return mac if good else None


def _uuid(facts: "Facts") -> str:
    return (facts.board.system.uuid or "").lower()


# The strongest first; each function returns the values in the facts.
KINDS: dict[str, Callable[["Facts"], Sequence[str | None]]] = {
    "board-serial": _board_serials,
    "product-uuid": _uuids,
    "machine-id": _machine_ids,
    "mac": _macs,
}
# Within a tier, all kinds that both sides have must agree.
TIERS = (("board-serial", "product-uuid"), ("machine-id", "mac"))


def signs(facts: "Facts") -> list[str]:
    """Return every real sign in a probe's facts as ``kind:value``, strongest first.

    A probe without root sees only the weaker tier.
    """
    return [
        f"{kind}:{text}"
        for kind, values in KINDS.items()
        for value in values(facts)
        if (text := real(value))
    ]


class SignMatch(Enum):
    """Whether two sets of signs belong to the same machine."""

    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Judgement:
    """The verdict, and the kinds that agree and differ, strongest first."""

    verdict: SignMatch
    agree: tuple[str, ...]
    differ: tuple[str, ...]


def judge(known: Iterable[str], seen: Iterable[str]) -> Judgement:
    """Compare two sets of signs; a set may have several of one kind (cards).

    A kind agrees if both sets share a value; a kind that only one set has does not
    count.
    """
    one, other = by_kind(known), by_kind(seen)
    shared = [kind for kind in KINDS if one.get(kind) and other.get(kind)]
    agree = tuple(kind for kind in shared if one[kind] & other[kind])
    differ = tuple(kind for kind in shared if kind not in agree)
    return Judgement(_verdict(shared, differ), agree, differ)


def _verdict(shared: list[str], differ: tuple[str, ...]) -> SignMatch:
    for tier in TIERS:
        if decisive := set(tier) & set(shared):
            return SignMatch.OTHER if decisive & set(differ) else SignMatch.SAME
    return SignMatch.UNKNOWN


def by_kind(texts: Iterable[str]) -> Signs:
    """Group signs such as ``mac:3c:ec:ef:47:98:6e`` by kind."""
    found: Signs = defaultdict(set)
    for text in texts:
        kind, _, value = text.partition(":")
        found[kind].add(value)
    return found


def unseen_signs(known: Iterable[str], seen: Iterable[str]) -> list[str]:
    """The known signs of kinds that this probe could not see; these are kept."""
    kinds = by_kind(seen)
    return sorted(text for text in known if text.partition(":")[0] not in kinds)
