"""Memory slots in the formats of dmidecode's versions and of several makers."""

from pathlib import Path
from typing import Any

import pytest

from ingest.errors import (
    MalformedSourceError,
    SourceMissingError,
    SourceRefusedError,
)
from ingest.sources.dmidecode import parse_memory_banks, read_memory_banks
from ingest.sources.machine import Machine, ToolOutcome
from tests.ingest.tree import copied

HEAD = "# dmidecode 3.5\nGetting SMBIOS data from sysfs.\nSMBIOS 3.5.0 present.\n\n"
DDR5 = """Handle 0x0035, DMI type 17, 92 bytes
Memory Device
\tArray Handle: 0x0033
\tError Information Handle: 0x0034
\tTotal Width: 80 bits
\tData Width: 64 bits
\tSize: 64 GB
\tForm Factor: DIMM
\tSet: None
\tLocator: DIMM 0
\tBank Locator: P0 CHANNEL A
\tType: DDR5
\tType Detail: Synchronous Registered (Buffered)
\tSpeed: 5600 MT/s
\tManufacturer: Samsung
\tSerial Number: 80CE01234512345678
\tAsset Tag: Not Specified
\tPart Number: M321R8GA0BB0-CQKZJ
\tRank: 2
\tConfigured Memory Speed: 4800 MT/s
\tMinimum Voltage: 1.1 V
\tMemory Technology: DRAM
\tNon-Volatile Size: None
\tVolatile Size: 64 GB

"""
EMPTY = """Handle 0x0036, DMI type 17, 92 bytes
Memory Device
\tTotal Width: Unknown
\tData Width: Unknown
\tSize: No Module Installed
\tForm Factor: DIMM
\tLocator: DIMM 0
\tBank Locator: P0 CHANNEL B
\tType: Unknown
\tSpeed: Unknown
\tManufacturer: NO DIMM
\tSerial Number: NO DIMM
\tPart Number: NO DIMM
\tRank: Unknown

"""
# dmidecode 2.12 on an HP machine: sizes in MB, speeds in MHz.
OLD = """# dmidecode 2.12
SMBIOS 2.7 present.

Handle 0x1100, DMI type 17, 40 bytes
Memory Device
\tSize: 16384 MB
\tForm Factor: DIMM
\tLocator: PROC  1 DIMM  1
\tBank Locator: Not Specified
\tType: DDR3
\tSpeed: 1866 MHz
\tManufacturer: HP
\tSerial Number: Not Specified
\tPart Number: 712383-081
\tRank: 2
\tConfigured Clock Speed: 1600 MHz

"""
HBM = """Handle 0x0040, DMI type 17, 40 bytes
Memory Device
\tSize: 16 GB
\tForm Factor: Die
\tLocator: HBM_0
\tType: HBM2
\tSpeed: Unknown

"""
OTHER = """Handle 0x0041, DMI type 16, 23 bytes
Physical Memory Array
\tMaximum Capacity: 6 TB
\tNumber Of Devices: 24

"""


def parse(text: str) -> list[dict[str, Any]]:
    return parse_memory_banks(text.encode())


def test_ddr5_module_is_parsed() -> None:
    (bank,) = parse(HEAD + OTHER + DDR5)
    assert bank == {
        "slot": "DIMM 0",
        "bank": "P0 CHANNEL A",
        "empty": False,
        "size": 64 << 30,
        "form_factor": "DIMM",
        "type": "DDR5",
        "technology": "DRAM",
        "detail": "Synchronous Registered (Buffered)",
        "speed": 5_600_000_000,
        "configured_speed": 4_800_000_000,
        "vendor": "Samsung",
        "part": "M321R8GA0BB0-CQKZJ",
        "serial": "80CE01234512345678",
        "asset": None,
        "rank": 2,
        "total_width": 80,
        "data_width": 64,
    }


def test_empty_slot_has_no_module_facts() -> None:
    module, empty = parse(HEAD + DDR5 + EMPTY)
    assert empty["empty"] and not module["empty"]
    known = {key for key, value in empty.items() if value}
    assert known == {"slot", "bank", "empty", "form_factor"}


def test_old_version_is_parsed() -> None:
    (bank,) = parse(OLD)
    assert (bank["size"], bank["type"]) == (16 << 30, "DDR3")
    assert (bank["speed"], bank["configured_speed"]) == (1_866_000_000, 1_600_000_000)
    assert (bank["bank"], bank["serial"]) == (None, None)


def test_stacked_memory_is_parsed() -> None:
    (bank,) = parse(HEAD + HBM)
    assert (bank["type"], bank["form_factor"], bank["speed"]) == ("HBM2", "Die", None)


@pytest.mark.parametrize(
    ("text", "size"),
    [("8 GiB", 8 << 30), ("2 TB", 2 << 40), ("64 Go", None), ("many", None)],
)
def test_size_units_are_parsed(text: str, size: int | None) -> None:
    (bank,) = parse(DDR5.replace("Size: 64 GB\n\tForm", f"Size: {text}\n\tForm"))
    assert (bank["size"], bank["empty"]) == (size, False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "# dmidecode 3.4\n# No SMBIOS nor DMI entry point found, sorry.\n",
            "no SMBIOS",
        ),
        (HEAD, "list no memory slot"),
        (HEAD + OTHER, "list no memory slot"),
    ],
)
def test_missing_tables_are_reported(text: str, why: str) -> None:
    with pytest.raises(SourceMissingError, match=why):
        parse(text)


def test_other_output_is_refused() -> None:
    with pytest.raises(MalformedSourceError, match="printed no tables"):
        parse("<html>")


def test_truncated_tables_give_slots_or_one_line() -> None:
    whole = (HEAD + DDR5 + EMPTY).encode()
    for cut in range(0, len(whole), 7):
        try:
            slots = parse_memory_banks(whole[:cut])
        except (SourceMissingError, MalformedSourceError) as error:
            assert "\n" not in str(error)
        else:
            assert 1 <= len(slots) <= 2


def test_copied_output_is_read(tmp_path: Path) -> None:
    machine = copied(tmp_path, {"dmidecode": HEAD + DDR5 + EMPTY})
    assert [slot["empty"] for slot in read_memory_banks(machine)] == [False, True]


@pytest.mark.parametrize(
    ("complaint", "error", "why"),
    [
        ("/dev/mem: No such file or directory", SourceMissingError, "nothing to fix"),
        ("/dev/mem: Permission denied", SourceRefusedError, "Permission denied"),
    ],
)
def test_failed_dmidecode_has_its_reason(
    tmp_path: Path, complaint: str, error: type[Exception], why: str
) -> None:
    reason = f"dmidecode failed with status 1 ({complaint}): run `dmidecode` by hand"
    machine = Machine(tmp_path, tmp_path, {"dmidecode": ToolOutcome(reason)})
    with pytest.raises(error, match=why):
        read_memory_banks(machine)
