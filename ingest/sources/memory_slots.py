"""Merge the memory slots of dmidecode and lshw.

Both read the same tables in the same order, so slots of the same name are matched in
order. Some boards give all slots the same name: such a slot is named with its bank, or
else by its number.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ingest.schema.schema import Bank, Facts
from ingest.schema.setup import MemorySlot

# lshw's model is the part number, and its clock the configured speed.
_DMIDECODE = {"model": "part", "clock": "configured_speed"}


@dataclass(frozen=True)
class SlotReadings:
    """One slot with the data of each source."""

    name: str
    label: str
    table: MemorySlot
    lshw: Bank

    @property
    def empty(self) -> bool:
        """Whether the slot has no module, as far as known."""
        empty = self.table.empty
        return not self.lshw.size if empty is None else empty

    def says(self, source: str, fact: str) -> Any:
        """A fact by lshw's key, from lshw or from dmidecode (`memory_banks`)."""
        if source == "lshw":
            return getattr(self.lshw, fact)
        value = getattr(self.table, _DMIDECODE.get(fact, fact))
        return value or (self.table.speed if fact == "clock" else None)


def memory_slots(facts: Facts) -> list[SlotReadings]:
    """Every slot of the board, from lshw if dmidecode has none."""
    tables, banks = facts.memory_banks, facts.lshw.memory_banks
    if tables:
        return _merged(tables, list(banks))
    names = _names([(bank.slot, None) for bank in banks])
    return [
        SlotReadings(name, bank.slot or name, MemorySlot(), bank)
        for name, bank in zip(names, banks, strict=True)
    ]


def _merged(tables: list[MemorySlot], left: list[Bank]) -> list[SlotReadings]:
    """The slots of dmidecode, each with the next bank of lshw that has its name."""
    found = []
    names = _names([(table.slot, table.bank) for table in tables])
    for name, table in zip(names, tables, strict=True):
        label = table.slot or name
        bank = next((bank for bank in left if bank.slot == label), None)
        if bank is not None:
            left.remove(bank)
        found.append(SlotReadings(name, label, table, bank or Bank()))
    return found


def _names(slots: list[tuple[str | None, str | None]]) -> list[str]:
    """A unique name for each slot and bank that is stable when modules are removed."""
    plain = [slot or f"bank-{n}" for n, (slot, _) in enumerate(slots)]
    longer = [
        f"{bank} {name}" if bank else name
        for name, (_, bank) in zip(plain, slots, strict=True)
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
