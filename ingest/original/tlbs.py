"""TLBs in the original's probe files, in the output format of ``cpuid -1 -l 2``."""

import re
from typing import Any

from ingest.gaps import report_gap
from ingest.original.values import malformed
from ingest.sources.tlb import TlbFacts

_PAGE_SIZES = "[0-9]+[KMG](?:/[0-9]+[KMG])*"
_TYPE = re.compile(rf"(data|instruction|L2) TLB: ({_PAGE_SIZES})(?: pages)?")
_WAYS = re.compile(r"([0-9]{1,4})-way.*|(fully).*")
_ENTRIES = re.compile(r"([0-9]{1,7}) entries")
_PAGES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_PLACE = "the file.cpu.tlb"


def tlbs(listed: Any) -> list[TlbFacts]:
    """Facts in the form of parse_tlbs; unreadable entries are reported.

    Raises ProbeDocumentError if it is not a list of objects.
    """
    entries = [] if listed is None else listed
    is_list = isinstance(entries, list) and all(isinstance(e, dict) for e in entries)
    if not is_list:
        raise malformed(_PLACE, "a list of TLBs")
    found: dict[tuple[Any, ...], TlbFacts] = {}
    for entry in entries:
        tlb = _tlb(entry)
        key = (tlb["level"], tlb["type"], *tlb["page_sizes"]) if tlb else ()
        if tlb is None:
            report_gap(_PLACE, _shown(entry), "a TLB as cpuid writes it")
        elif found.setdefault(key, tlb) != tlb:
            report_gap(
                _PLACE, _shown(entry), "the same as in an earlier entry for this TLB"
            )
    return list(found.values())


def _tlb(entry: dict[str, Any]) -> TlbFacts | None:
    kind = _TYPE.fullmatch(str(entry.get("type", "")))
    ways = _WAYS.fullmatch(str(entry.get("association", "")))
    entries = _ENTRIES.fullmatch(str(entry.get("size", "")))
    if not (kind and ways and entries):
        return None
    is_second = kind[1] == "L2"
    return {
        "level": 2 if is_second else 1,
        "type": "unified" if is_second else kind[1],
        "page_sizes": [int(p[:-1]) * _PAGES[p[-1]] for p in kind[2].split("/")],
        "entries": int(entries[1]),
        "ways": int(ways[1]) if ways[1] else None,
        "fully": bool(ways[2]),
    }


def _shown(entry: dict[str, Any]) -> str:
    return ", ".join(str(value) for value in entry.values())
