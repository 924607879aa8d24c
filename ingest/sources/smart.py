"""A disk's own report (SMART), from the JSON of ``smartctl -j -a``.

Temperatures, hours and error counts change constantly. They are telemetry and left to
PCP's ``smart`` and ``nvme`` metrics.
"""

import json
from collections.abc import Mapping
from typing import Any

from ingest.describe.component_ids import device
from ingest.errors import (
    MalformedSourceError,
    ProbeSourceError,
    SourceMissingError,
    SourceRefusedError,
)
from ingest.gaps import report_gap
from ingest.sources.dmi import real
from ingest.sources.machine import HERE, Machine

Node = dict[str, Any]

# ATA attributes that count down from 100 as flash wears, with the vendors' names from
# smartmontools' drivedb.h; those of NVMe and SCSI disks are standard.
_WEAR = {
    177: "Wear_Leveling_Count",
    202: "Percent_Lifetime_Remain",
    231: "SSD_Life_Left",
    233: "Media_Wearout_Indicator",
}


def read_smart(machine: Machine = HERE) -> list[dict[str, Any]]:
    """Read each disk's own report; raises ProbeSourceError if no disk gives one."""
    found, refused = [], []
    for name, answer in machine.tool_each("smartctl").items():
        try:
            if isinstance(answer, ProbeSourceError):
                raise answer
            # The kernel's name: smartctl may have found another device behind it.
            found.append({**parse_smart(answer), "device": device(name)})
        except ProbeSourceError as error:
            refused.append(error)
    if found:
        return found
    if refused:
        raise refused[0]
    raise SourceMissingError(
        "no disk has SMART data, as in most virtual machines; nothing to fix there"
    )


def parse_smart(output: bytes) -> dict[str, Any]:
    """Parse the facts of one disk; ``wear`` in percent used up, ``size`` in bytes.

    ``healthy`` is the disk's own verdict, None without one. Raises
    MalformedSourceError, and SourceRefusedError if smartctl could not query the disk.
    """
    try:
        document = json.loads(output.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError) as error:
        raise MalformedSourceError(
            f"smartctl printed no JSON ({error}): run `smartctl -j -a` by hand"
        ) from None
    if not isinstance(document, dict) or not isinstance(document.get("smartctl"), dict):
        raise MalformedSourceError(
            "smartctl's JSON is not a report of a disk: run `smartctl -j -a` by hand"
        )
    if not isinstance(document.get("device"), dict) or not _models(document):
        raise SourceRefusedError(
            f"smartctl could not query the disk ({_why(document)}): run `smartctl -a` "
            "by hand"
        )
    return _facts(document)


def _facts(document: Node) -> dict[str, Any]:
    rotation = _whole(document, "rotation_rate")
    return {
        "device": (_text(document, "device", "name") or "").removeprefix("/dev/"),
        "protocol": _text(document, "device", "protocol"),
        "model": real(next(iter(_models(document)), None)),
        "vendor": real(_text(document, "vendor") or _text(document, "scsi_vendor")),
        "family": real(_text(document, "model_family")),
        "serial": real(_text(document, "serial_number")),
        "firmware": real(
            _text(document, "firmware_version")
            or _text(document, "revision")
            or _text(document, "scsi_revision")
        ),
        "size": _whole(document, "user_capacity", "bytes")
        or _whole(document, "nvme_total_capacity"),
        "rotation_rate": rotation or None,
        "form_factor": _text(document, "form_factor", "name"),
        "supported": _truth(document, "smart_support", "available"),
        "healthy": _truth(document, "smart_status", "passed"),
        "wear": _wear(document),
        "self_test": _self_test(document),
    }


def _models(document: Node) -> list[str]:
    keys = ("model_name", "scsi_model_name", "product", "scsi_product")
    return [text for key in keys if (text := _text(document, key))]


def _wear(document: Node) -> int | None:
    """The disk's estimate of the percentage used up; it may be over 100."""
    for path in (
        ("endurance_used", "current_percent"),  # smartctl 7.4, all protocols
        ("nvme_smart_health_information_log", "percentage_used"),
        ("scsi_percentage_used_endurance_indicator",),
    ):
        if (used := _whole(document, *path)) is not None:
            return min(used, 255)  # the maximum of NVMe
    table = _get(document, "ata_smart_attributes", "table")
    for row in table if isinstance(table, list) else []:
        known = isinstance(row, dict) and _WEAR.get(row.get("id", 0))
        if known and row.get("name") == known:
            left = _whole(row, "value")
            return None if left is None else max(0, 100 - left)
    return None


def _self_test(document: Node) -> bool | None:
    """Whether the disk can test itself; None if unknown."""
    for path in (
        ("ata_smart_data", "capabilities", "self_tests_supported"),
        ("nvme_optional_admin_commands", "self_test"),
    ):
        if (able := _truth(document, *path)) is not None:
            return able
    logs = ("ata_smart_self_test_log", "nvme_self_test_log", "scsi_self_test_0")
    return True if any(log in document for log in logs) else None


def _why(document: Node) -> str:
    messages = _get(document, "smartctl", "messages")
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict) and (text := _text(message, "string")):
            return " ".join(text.split())[:200]
    return "it gives no reason"


def _get(node: Any, *path: str) -> Any:
    for key in path:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _text(node: Node, *path: str) -> str | None:
    value = _get(node, *path)
    return value.strip() or None if isinstance(value, str) else None


def _whole(node: Node, *path: str) -> int | None:
    value = _get(node, *path)
    if type(value) is int and 0 <= value < 2**63:
        return value
    if value is not None:
        report_gap(".".join(path), value, "a whole number from 0")
    return None


def _truth(node: Node, *path: str) -> bool | None:
    value = _get(node, *path)
    return value if isinstance(value, bool) else None
