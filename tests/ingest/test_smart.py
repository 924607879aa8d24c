"""SMART data of disks, in the formats of three protocols and several versions."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import MalformedSourceError, SourceMissingError, SourceRefusedError
from ingest.sources.smart import parse_smart, read_smart
from tests.ingest.tree import copied

SMARTCTL = {"version": [7, 3], "argv": ["smartctl", "-j", "-a"], "exit_status": 0}
SATA = {
    "smartctl": SMARTCTL,
    "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
    "model_family": "Samsung based SSDs",
    "model_name": "SAMSUNG MZ7LH480HAHQ-00005",
    "serial_number": "S45PNA0M123456",
    "firmware_version": "HXT7904Q",
    "user_capacity": {"blocks": 937703088, "bytes": 480103981056},
    "rotation_rate": 0,
    "form_factor": {"ata_value": 3, "name": "2.5 inches"},
    "smart_support": {"available": True, "enabled": True},
    "smart_status": {"passed": True},
    "ata_smart_data": {"capabilities": {"self_tests_supported": True}},
    "ata_smart_attributes": {
        "table": [
            {"id": 9, "name": "Power_On_Hours", "value": 95, "raw": {"value": 21000}},
            {"id": 177, "name": "Wear_Leveling_Count", "value": 97},
            {"id": 190, "name": "Airflow_Temperature_Cel", "value": 70},
        ]
    },
    "temperature": {"current": 30},
    "power_on_time": {"hours": 21000},
}
NVME = {
    "smartctl": SMARTCTL,
    "device": {"name": "/dev/nvme0n1", "type": "nvme", "protocol": "NVMe"},
    "model_name": "KINGSTON SKC2000M8500G",
    "serial_number": "50026B7683012345",
    "firmware_version": "S2681101",
    "nvme_total_capacity": 500107862016,
    "user_capacity": {"blocks": 976773168, "bytes": 500107862016},
    "smart_status": {"passed": False, "nvme": {"value": 4}},
    "nvme_smart_health_information_log": {"percentage_used": 103, "temperature": 40},
    "nvme_self_test_log": {"table": []},
}
SAS = {
    "smartctl": {**SMARTCTL, "exit_status": 64},
    "device": {"name": "/dev/sdb", "type": "scsi", "protocol": "SCSI"},
    "vendor": "TOSHIBA",
    "product": "AL13SXB60EN",
    "model_name": "TOSHIBA AL13SXB60EN",
    "revision": "5702",
    "serial_number": "Z5A0A0FTFTLB",
    "rotation_rate": 15000,
    "form_factor": {"scsi_value": 3, "name": "2.5 inches"},
    "smart_status": {"passed": True},
}
REFUSED = {
    "smartctl": {
        **SMARTCTL,
        "messages": [
            {"string": "/dev/vda: Unable to detect device type", "severity": "error"}
        ],
        "exit_status": 1,
    },
}


def parse(document: Any) -> dict[str, Any]:
    return parse_smart(json.dumps(document).encode())


def test_sata_report_is_parsed() -> None:
    assert parse(SATA) == {
        "device": "sda",
        "protocol": "ATA",
        "model": "SAMSUNG MZ7LH480HAHQ-00005",
        "vendor": None,
        "family": "Samsung based SSDs",
        "serial": "S45PNA0M123456",
        "firmware": "HXT7904Q",
        "size": 480103981056,
        "rotation_rate": None,
        "form_factor": "2.5 inches",
        "supported": True,
        "healthy": True,
        "wear": 3,
        "self_test": True,
    }


def test_report_of_a_worn_nvme_disk_is_parsed() -> None:
    disk = parse(NVME)
    assert (disk["healthy"], disk["wear"], disk["self_test"]) == (False, 103, True)


def test_sas_report_is_parsed() -> None:
    disk = parse(SAS)
    assert (disk["vendor"], disk["firmware"]) == ("TOSHIBA", "5702")
    assert (disk["rotation_rate"], disk["wear"]) == (15000, None)


def test_newer_version_reports_wear_for_all_protocols() -> None:
    assert parse({**SAS, "endurance_used": {"current_percent": 2}})["wear"] == 2


def test_temperatures_and_hours_are_not_facts() -> None:
    warmer = {**SATA, "temperature": {"current": 55}, "power_on_time": {"hours": 9}}
    assert parse(warmer) == parse(SATA)


@pytest.mark.parametrize(
    "change",
    [
        {"smart_status": "passed", "user_capacity": [], "form_factor": 3},
        {"user_capacity": {"bytes": -1}, "rotation_rate": True},
        {"ata_smart_attributes": {"table": [None, 3, {"id": 177, "value": "x"}]}},
        {"user_capacity": {"bytes": 1e400}},
    ],
)
def test_values_of_another_type_are_unknown(change: dict[str, Any]) -> None:
    assert parse({**SATA, **change})["model"]


def test_unreadable_disk_is_reported() -> None:
    with pytest.raises(SourceRefusedError, match="/dev/vda: Unable to detect"):
        parse(REFUSED)


@pytest.mark.parametrize("output", [b"", b"smartctl 7.3", b'{"smartctl', b"[]", b"{}"])
def test_other_output_is_refused(output: bytes) -> None:
    with pytest.raises(MalformedSourceError, match="by hand"):
        parse_smart(output)


def test_truncated_report_is_refused() -> None:
    whole = json.dumps(SATA).encode()
    for cut in range(0, len(whole) - 1, 13):
        with pytest.raises(MalformedSourceError, match="smartctl printed no JSON"):
            parse_smart(whole[:cut])


def test_reports_of_a_copy_are_read(tmp_path: Path) -> None:
    printed = {"smartctl:vda": json.dumps(REFUSED)}
    with pytest.raises(SourceRefusedError, match="Unable to detect"):
        read_smart(copied(tmp_path, printed))
    printed["smartctl:sda"] = json.dumps(SATA)
    assert [disk["device"] for disk in read_smart(copied(tmp_path, printed))] == ["sda"]
    with pytest.raises(SourceMissingError, match="no disk has SMART data"):
        read_smart(copied(tmp_path, {}))
