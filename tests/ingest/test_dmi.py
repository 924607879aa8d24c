"""Board, system and firmware, without the makers' placeholders."""

from pathlib import Path

import pytest

from ingest.errors import SourceMissingError
from ingest.sources.dmi import read_board, real
from tests.ingest.tree import copied, plant

FOLDER = "sys/class/dmi/id"


def test_board_and_system_are_read(tmp_path: Path) -> None:
    values = {
        "board_vendor": "Supermicro\n",
        "board_name": "H11DSi-NT\n",
        "board_serial": "WM19S002834\n",
        "sys_vendor": "Supermicro\n",
        "product_name": "AS -4023S-TRT\n",
        "product_serial": "To be filled by O.E.M.\n",
        "product_uuid": "00000000-0000-0000-0000-3cecef47986e\n",
        "bios_vendor": "American Megatrends Inc.\n",
        "bios_version": "2.1\n",
        "bios_date": "02/21/2020\n",
    }
    root = plant(tmp_path, {f"{FOLDER}/{name}": text for name, text in values.items()})
    assert read_board(copied(root)) == {
        "board": {
            "vendor": "Supermicro",
            "model": "H11DSi-NT",
            "serial": "WM19S002834",
        },
        "system": {
            "vendor": "Supermicro",
            "model": "AS -4023S-TRT",
            "uuid": "00000000-0000-0000-0000-3cecef47986e",
        },
        "bios": {
            "vendor": "American Megatrends Inc.",
            "version": "2.1",
            "date": "02/21/2020",
        },
    }


def test_unreadable_values_are_omitted(tmp_path: Path) -> None:
    root = plant(tmp_path, {f"{FOLDER}/board_name": "X\n"})
    (root / FOLDER / "board_serial").mkdir()
    assert read_board(copied(root))["board"] == {"model": "X"}


def test_missing_dmi_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="sys/class/dmi/id does not exist"):
        read_board(copied(plant(tmp_path, {})))


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "   ",
        "To Be Filled By O.E.M.",
        "Default string",
        "None",
        "NOT SPECIFIED",
        "System Serial Number",
        "0123456789",
        "........",
        "00000000-0000-0000-0000-000000000000",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
        "03000200-0400-0500-0006-000700080009",
        "xxxxxxxxxxx",
    ],
)
def test_placeholders_are_ignored(text: str | None) -> None:
    assert real(text) is None


@pytest.mark.parametrize("text", ["0", "P4242", "A.7", "American Megatrends Inc."])
def test_real_texts_are_kept(text: str) -> None:
    assert real(f" {text} ") == text
