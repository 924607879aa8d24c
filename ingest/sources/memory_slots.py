"""Merge the memory slots of dmidecode and lshw.

Both read the same tables in the same order, so slots of the same name are matched in
order. Some boards give all slots the same name: such a slot is named with its bank, or
else by its number.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

Entry = dict[str, Any]
# lshw's model is the part number, and its clock the configured speed.
_DMIDECODE = {"model": "part", "clock": "configured_speed"}


@dataclass(frozen=True)
class SlotReadings:
    """One slot with the data of each source."""

    name: str
    label: str
    table: Entry
    lshw: Entry

    @property
    def empty(self) -> bool:
        """Whether the slot has no module, as far as known."""
        return bool(self.table.get("empty", not self.lshw.get("size")))

    def says(self, source: str, fact: str) -> Any:
        """A fact by lshw's key, from lshw or from dmidecode (`memory_banks`)."""
        if source == "lshw":
            return self.lshw.get(fact)
        value = self.table.get(_DMIDECODE.get(fact, fact))
        return value or (self.table.get("speed") if fact == "clock" else None)


def memory_slots(facts: dict[str, Any]) -> list[SlotReadings]:
    """Every slot of the board, from lshw if dmidecode has none."""
    tables = facts.get("memory_banks") or []
    banks = (facts.get("lshw") or {}).get("memory_banks") or []
    left = list(banks)
    found = []
    names = _names(tables or banks)
    for name, entry in zip(names, tables or banks, strict=True):
        label = entry.get("slot") or name
        if not tables:
            found.append(SlotReadings(name, label, {}, entry))
            continue
        other = next((bank for bank in left if bank.get("slot") == label), None)
        if other is not None:
            left.remove(other)
        found.append(SlotReadings(name, label, entry, other or {}))
    return found


def _names(entries: list[Entry]) -> list[str]:
    """A unique name for each slot that is stable when modules are removed."""
    plain = [entry.get("slot") or f"bank-{n}" for n, entry in enumerate(entries)]
    longer = [
        f"{entry['bank']} {name}" if entry.get("bank") else name
        for name, entry in zip(plain, entries, strict=True)
    ]
    once, once_longer = Counter(plain), Counter(longer)
    taken: set[str] = set()
    names = []
    for number, (short, long) in enumerate(zip(plain, longer, strict=True)):
        name = short if once[short] == 1 else long
        if name in taken or (once[short] > 1 and once_longer[long] > 1):
            name = short if short not in taken else f"{short}-{number}"
        taken.add(name)
        names.append(name)
    return names
