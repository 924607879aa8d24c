"""Memory slots, as dmidecode and lshw name them, brought together.

Both read the same tables in the same order, so the slots of one name belong together
one by one. Boards are known that name all their slots alike: such a slot is named by
its bank as well, else by its number.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

Entry = dict[str, Any]
# What lshw calls model is the part number, and its clock the speed that is set.
_DMIDECODE = {"model": "part", "clock": "configured_speed"}


@dataclass(frozen=True)
class Slot:
    """One slot: what each source says of it."""

    name: str
    label: str
    table: Entry
    lshw: Entry

    @property
    def empty(self) -> bool:
        """No module in it, as far as is known."""
        return bool(self.table.get("empty", not self.lshw.get("size")))

    def says(self, source: str, fact: str) -> Any:
        """What lshw, or dmidecode (`memory_banks`), says of one of lshw's facts."""
        if source == "lshw":
            return self.lshw.get(fact)
        value = self.table.get(_DMIDECODE.get(fact, fact))
        return value or (self.table.get("speed") if fact == "clock" else None)


def memory_slots(facts: dict[str, Any]) -> list[Slot]:
    """Every slot of the board, those of lshw where dmidecode says nothing."""
    tables = facts.get("memory_banks") or []
    banks = (facts.get("lshw") or {}).get("memory_banks") or []
    left = list(banks)
    found = []
    names = _names(tables or banks)
    for name, entry in zip(names, tables or banks, strict=True):
        label = entry.get("slot") or name
        if not tables:
            found.append(Slot(name, label, {}, entry))
            continue
        other = next((bank for bank in left if bank.get("slot") == label), None)
        if other is not None:
            left.remove(other)
        found.append(Slot(name, label, entry, other or {}))
    return found


def _names(entries: list[Entry]) -> list[str]:
    """A name for each slot that no other has, and that stays when modules go."""
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
