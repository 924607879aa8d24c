"""The kernel's command line: what is kept, and what is secret."""

from pathlib import Path

import pytest

from ingest.errors import SourceMissingError
from ingest.sources.kernel import parse_kernel_options, read_kernel_options
from tests.ingest.tree import copied, plant


def test_options_are_unique_and_in_order() -> None:
    text = 'BOOT_IMAGE=/vmlinuz quiet isolcpus=2-7 dyndbg="file a.c +p" quiet\n'
    assert parse_kernel_options(text) == [
        "BOOT_IMAGE=/vmlinuz",
        "quiet",
        "isolcpus=2-7",
        "dyndbg=file a.c +p",
    ]


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        ("rd.iscsi.password=hunter2", "rd.iscsi.password=***"),
        ("rd.iscsi.in.password=hunter2", "rd.iscsi.in.password=***"),
        ("k3s.token=abc", "k3s.token=***"),
        ("systemd.set_credential=db:hunter2", "systemd.set_credential=***"),
        ("rd.luks.key=/keyfile", "rd.luks.key=***"),
        ("ks=https://me:hunter2@host/ks.cfg", "ks=https://***@host/ks.cfg"),
        ("netroot=iscsi:me:hunter2@host::", "netroot=iscsi:***@host::"),
        ("wifi.psk=hunter2", "wifi.psk=***"),
    ],
)
def test_secrets_in_options_are_hidden(option: str, shown: str) -> None:
    assert parse_kernel_options(f"quiet {option}") == ["quiet", shown]


@pytest.mark.parametrize(
    "option",
    ["iommu.passthrough=1", "rd.vconsole.keymap=de", "root=UUID=1-2", "password"],
)
def test_variables_that_are_not_secret_are_recorded(option: str) -> None:
    assert parse_kernel_options(option) == [option]


def test_arguments_for_init_are_omitted() -> None:
    assert parse_kernel_options("quiet -- --auth-token hunter2") == ["quiet"]


def test_unclosed_quote_is_read() -> None:
    assert parse_kernel_options('a="b c') == ['a="b', "c"]


def test_copied_options_are_read(tmp_path: Path) -> None:
    machine = copied(plant(tmp_path, {"proc/cmdline": "quiet\n"}))
    assert read_kernel_options(machine) == ["quiet"]
    with pytest.raises(SourceMissingError):
        read_kernel_options(copied(tmp_path / "nowhere"))
