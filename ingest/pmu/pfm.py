"""PMUs and their events from libpfm4: those of this machine or of any known model."""

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any

from ingest.errors import PmuError
from ingest.pmu.pfm_library import (
    LIBRARY,
    MODIFIERS,
    UMASK,
    AttributeInfo,
    EventInfo,
    PfmLibrary,
    PmuInfo,
    opened,
)

# pfm_event_info_spec_t
_SPECULATION = ("", "speculative", "non-speculative", "")
_TYPES = {1: "core", 2: "uncore", 3: "os"}


def read_pfm(library: str = LIBRARY) -> dict[str, Any]:
    """Read every PMU of this machine with its events and their unit masks.

    The events of uncore boxes are only counted: a processor may have fifty boxes with
    thousands of events, and `read_models` returns them on request. Codes are
    hexadecimal: `code` is the value in the library's table, `encoding` the register
    values. Raises SourceMissingError and SourceRefusedError.
    """
    with opened(library) as pfm:
        present = [info for info in pfm.pmus() if info.is_present]
        return {"pmus": [_pmu(pfm, info, info.type != 2) for info in present]}


def list_models(library: str = LIBRARY) -> list[dict[str, Any]]:
    """List every PMU model of the library; `events` is the number of its events."""
    with opened(library) as pfm:
        return [
            {**_model(info), "events": info.nevents, "present": bool(info.is_present)}
            for info in pfm.pmus()
        ]


def read_models(names: Collection[str], library: str = LIBRARY) -> list[dict[str, Any]]:
    """Read the named PMU models with all their events, present on this machine or not.

    Raises PmuError for a name that the library does not know.
    """
    with opened(library, inactive=True) as pfm:
        found = {_text(info.name): info for info in pfm.pmus()}
        for name in names:
            if name not in found:
                raise PmuError(_unknown(name, found))
        return [_pmu(pfm, found[name], True) for name in names]


def read_events(
    names: dict[str, list[str]], library: str = LIBRARY
) -> dict[str, list[dict[str, Any]]]:
    """Read some events of some PMUs, as ``EVENT:UMASK``; unknown ones are left out.

    Several unit masks of one event may be joined, as in ``EVENT:A:B``.
    """
    with opened(library, inactive=True) as pfm:
        known = {_text(info.name): info for info in pfm.pmus()}
        return {
            pmu: [event for name in events if (event := _one(pfm, pmu, name))]
            for pmu, events in names.items()
            if pmu in known
        }


def _one(pfm: PfmLibrary, pmu: str, name: str) -> dict[str, Any] | None:
    encoding = _encoding(pfm, pmu, name)
    return {"name": name, "encoding": encoding} if encoding else None


def _pmu(pfm: PfmLibrary, info: PmuInfo, with_events: bool) -> dict[str, Any]:
    modifiers: dict[str, str] = {}
    events = list(_events(pfm, info, modifiers)) if with_events else []
    return {
        **_model(info),
        "event_count": info.nevents,
        "modifiers": modifiers,
        "events": events,
    }


def _model(info: PmuInfo) -> dict[str, Any]:
    return {
        "name": _text(info.name),
        "description": _text(info.desc),
        "type": _TYPES.get(info.type, "unknown"),
        "counters": max(0, info.num_cntrs),
        "fixed_counters": max(0, info.num_fixed_cntrs),
        "max_encoding": max(0, info.max_encoding) or None,
    }


def _events(
    pfm: PfmLibrary, pmu: PmuInfo, modifiers: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield the events; add their modifiers, mostly shared, to `modifiers`."""
    model = _text(pmu.name)
    for index, event in pfm.events(pmu):
        attributes = list(pfm.attributes(index, event))
        name = _text(event.name)
        # Some of the other attributes are modifiers: "count user mode only".
        own = [a for a in attributes if a.type in MODIFIERS]
        modifiers |= {_text(a.name): _text(a.desc) for a in own}
        yield {
            **_named(event),
            "flags": _flags(event.flags),
            "encoding": _encoding(pfm, model, name),
            "modifiers": [_text(a.name) for a in own],
            "umasks": [
                {
                    **_named(attribute),
                    "flags": _flags(attribute.flags >> 1, attribute.flags & 1),
                    "encoding": _encoding(
                        pfm, model, f"{name}:{_text(attribute.name)}"
                    ),
                }
                for attribute in attributes
                if attribute.type == UMASK
            ],
        }


def _encoding(pfm: PfmLibrary, pmu: str, event: str) -> list[str]:
    return [f"{code:#x}" for code in pfm.encoding(f"{pmu}::{event}")]


def _named(info: EventInfo | AttributeInfo) -> dict[str, Any]:
    return {
        "name": _text(info.name),
        "description": _text(info.desc),
        "code": f"{info.code:#x}",
    }


def _flags(bits: int, default: int = 0) -> list[str]:
    """The flags that events and unit masks have in common, as words.

    Hardware sampling is left out: libpfm4 also claims it for counters without sampling.
    """
    words = ["default"] * default + ["precise"] * (bits & 1)
    return words + [word for word in (_SPECULATION[bits >> 1 & 3],) if word]


def _unknown(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"libpfm4 knows no PMU {name!r}: {hint}`supertwin catalogue pmus` lists all"


def _text(text: bytes | None) -> str:
    return " ".join((text or b"").decode(errors="replace").split())
