"""The machine as a whole in hwloc's XML: operating system and board."""

from typing import Any

_SYSTEM = {
    "hostname": "HostName",
    "kernel": "OSRelease",
    "architecture": "Architecture",
}
_BOARD = {
    "board": {
        "vendor": "DMIBoardVendor",
        "model": "DMIBoardName",
        "serial": "DMIBoardSerial",
    },
    "system": {
        "vendor": "DMISysVendor",
        "model": "DMIProductName",
        "serial": "DMIProductSerial",
        "uuid": "DMIProductUUID",
    },
    "bios": {
        "vendor": "DMIBIOSVendor",
        "version": "DMIBIOSVersion",
        "date": "DMIBIOSDate",
    },
}


def host_facts(topology: dict[str, Any]) -> dict[str, Any]:
    """``os`` and ``board`` facts in the form of other sources, from hwloc's facts.

    Only root sees serial numbers and the UUID, so most files lack both.
    """
    info = topology.get("info", {})
    board = {part: _texts(names, info) for part, names in _BOARD.items()}
    facts: dict[str, Any] = {}
    if any((system := _texts(_SYSTEM, info)).values()):
        facts["os"] = system
    if any(text for texts in board.values() for text in texts.values()):
        facts["board"] = board
    return facts


def _texts(names: dict[str, str], info: dict[str, str]) -> dict[str, str | None]:
    return {key: info.get(name, "").strip() or None for key, name in names.items()}
