"""Disks, from trees that imitate /sys/block."""

from pathlib import Path

import pytest

from ingest.errors import SourceMissingError
from ingest.sources.disks import parse_unit_serial, read_disks
from tests.ingest.server import QUEUE
from tests.ingest.tree import copied, plant


def disk(name: str, files: dict[str, str], size: int = 16) -> dict[str, str]:
    files = {"size": f"{size}\n", "queue/rotational": "0\n", **files}
    return {f"sys/block/{name}/{path}": text for path, text in files.items()}


def test_sata_disk_is_read(tmp_path: Path) -> None:
    files = {
        "queue/rotational": "1\n",
        "device/model": "SAMSUNG MZ7LH480\n",
        "device/vendor": "ATA     \n",
        "device/rev": "904Q\n",
        "queue/scheduler": "[mq-deadline] kyber none\n",
        "queue/nr_requests": "64\n",
        "queue/logical_block_size": "512\n",
        "queue/physical_block_size": "4096\n",
        "queue/read_ahead_kb": "128\n",
        "queue/write_cache": "write back\n",
        "queue/discard_granularity": "0\n",
        "queue/zoned": "none\n",
    }
    root = plant(tmp_path, disk("sda", files, size=937703088))
    page = b"\x00\x80\x00\x14      S45PNA0M12345\x00"
    (root / "sys/block/sda/device/vpd_pg80").write_bytes(page)
    assert read_disks(copied(root)) == [
        {
            "name": "sda",
            "size": 480103981056,
            "rotational": True,
            "model": "SAMSUNG MZ7LH480",
            "serial": "S45PNA0M12345",
            "vendor": None,
            "firmware": "904Q",
            "queue": {**QUEUE, "discards": False},
        }
    ]


def test_nvme_and_virtio_disks_are_read(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            **disk(
                "nvme0n1", {"device/model": "SKC2000\n", "device/serial": "50026B\n"}
            ),
            **disk("vda", {"serial": "root\n", "device/vendor": "0x1af4\n"}),
            **disk("mmcblk0", {"device/name": "SD32G\n", "device/serial": "0x1\n"}),
        },
    )
    facts = [
        (d["name"], d["model"], d["serial"], d["vendor"])
        for d in read_disks(copied(root))
    ]
    assert facts == [
        ("mmcblk0", "SD32G", "0x1", None),
        ("nvme0n1", "SKC2000", "50026B", None),
        ("vda", None, "root", None),
    ]


def test_other_block_devices_are_skipped(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            **disk("loop0", {}),
            **disk("ram3", {}),
            **disk("zram0", {}),
            **disk("sr0", {}, size=0),
            **disk("dm-1", {}, size=0),
            **disk("nvme0c0n1", {"hidden": "1\n"}),
            **disk("dm-0", {}),
            **disk("cciss!c0d0", {}),
        },
    )
    assert [d["name"] for d in read_disks(copied(root))] == ["cciss/c0d0", "dm-0"]


def test_missing_sysfs_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="mount sysfs"):
        read_disks(copied(tmp_path))


@pytest.mark.parametrize(
    ("page", "serial"),
    [
        (b"", None),
        (b"\x00\x80\x00\x00", None),
        (b"\x00\x80\x00\x04  AB", "AB"),
        (b"\x00\x80\x00\x02ABCD", "AB"),
    ],
)
def test_unit_serials_are_parsed(page: bytes, serial: str | None) -> None:
    assert parse_unit_serial(page) == serial


def test_disks_of_this_machine_are_read() -> None:
    assert all(disk["size"] > 0 for disk in read_disks())
