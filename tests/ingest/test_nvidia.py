"""NVIDIA's GPUs in the output formats of several driver versions."""

from pathlib import Path
from typing import Any

import pytest

from ingest.errors import MalformedSourceError, SourceMissingError
from ingest.sources.nvidia import bus_id, parse_gpus, read_gpus
from tests.ingest.tree import copied, plant

HEAD = (
    '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_{}.dtd">\n'
)
# Driver 535 on a DGX: one GPU whole, one partitioned (MIG).
NEW = (
    HEAD.format("v12")
    + """<nvidia_smi_log>
  <timestamp>Fri Oct 11 18:24:09 2024</timestamp>
  <driver_version>535.129.03</driver_version>
  <cuda_version>12.2</cuda_version>
  <attached_gpus>2</attached_gpus>
  <gpu id="00000000:18:00.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <product_brand>NVIDIA</product_brand>
    <product_architecture>Hopper</product_architecture>
    <persistence_mode>Enabled</persistence_mode>
    <mig_mode><current_mig>Disabled</current_mig></mig_mode>
    <mig_devices>None</mig_devices>
    <serial>1651023001234</serial>
    <uuid>GPU-f124aa59-d406-d45b-9481-8fcd694e6c9e</uuid>
    <minor_number>0</minor_number>
    <vbios_version>96.00.61.00.01</vbios_version>
    <board_part_number>692-2G520-0200-000</board_part_number>
    <gpu_part_number>2330-885-A1</gpu_part_number>
    <pci>
      <pci_bus>18</pci_bus>
      <pci_bus_id>00000000:18:00.0</pci_bus_id>
      <pci_gpu_link_info>
        <pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>5</current_link_gen>
        </pcie_gen>
        <link_widths><max_link_width>16x</max_link_width></link_widths>
      </pci_gpu_link_info>
    </pci>
    <fb_memory_usage><total>81559 MiB</total><used>3 MiB</used></fb_memory_usage>
    <compute_mode>Default</compute_mode>
    <ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
    <gpu_power_readings>
      <power_draw>70.11 W</power_draw>
      <default_power_limit>700.00 W</default_power_limit>
    </gpu_power_readings>
    <max_clocks>
      <graphics_clock>1980 MHz</graphics_clock>
      <sm_clock>1980 MHz</sm_clock>
      <mem_clock>2619 MHz</mem_clock>
    </max_clocks>
  </gpu>
  <gpu id="00000000:2A:00.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <mig_mode><current_mig>Enabled</current_mig></mig_mode>
    <mig_devices>
      <mig_device>
        <index>0</index>
        <gpu_instance_id>1</gpu_instance_id>
        <compute_instance_id>0</compute_instance_id>
        <device_attributes><shared><multiprocessor_count>60</multiprocessor_count>
        </shared></device_attributes>
        <fb_memory_usage><total>40448 MiB</total></fb_memory_usage>
      </mig_device>
      <mig_device>
        <index>1</index>
        <gpu_instance_id>5</gpu_instance_id>
        <compute_instance_id>0</compute_instance_id>
        <fb_memory_usage><total>N/A</total></fb_memory_usage>
      </mig_device>
    </mig_devices>
    <fb_memory_usage><total>81559 MiB</total><used>N/A</used></fb_memory_usage>
  </gpu>
</nvidia_smi_log>
"""
)
# Driver 304 with a GeForce, which reports little.
OLD = (
    HEAD.format("v4")
    + """<nvidia_smi_log>
  <driver_version>304.131</driver_version>
  <gpu id="0000:02:00.0">
    <product_name>GeForce GTX 680</product_name>
    <serial>N/A</serial>
    <uuid>GPU-1b724e78-eef5-4163-d43c-e4da15d41176</uuid>
    <pci><pci_bus_id>0000:02:00.0</pci_bus_id>
      <pci_gpu_link_info><pcie_gen><max_link_gen>N/A</max_link_gen></pcie_gen>
      </pci_gpu_link_info></pci>
    <memory_usage><total>2047 MB</total><used>305 MB</used></memory_usage>
    <compute_mode>Default</compute_mode>
    <ecc_mode><current_ecc>N/A</current_ecc></ecc_mode>
    <power_readings><power_limit>N/A</power_limit></power_readings>
    <max_clocks>N/A</max_clocks>
  </gpu>
</nvidia_smi_log>
"""
)


def parse(text: str) -> dict[str, Any]:
    return parse_gpus(text.encode())


def test_current_driver_is_read() -> None:
    facts = parse(NEW)
    assert (facts["driver"], facts["cuda"]) == ("535.129.03", "12.2")
    assert facts["gpus"][0] == {
        "index": 0,
        "busid": "0000:18:00.0",
        "name": "NVIDIA H100 80GB HBM3",
        "brand": "NVIDIA",
        "architecture": "Hopper",
        "uuid": "GPU-f124aa59-d406-d45b-9481-8fcd694e6c9e",
        "serial": "1651023001234",
        "part": "692-2G520-0200-000",
        "vbios": "96.00.61.00.01",
        "memory": 81559 << 20,
        "max_clock": 1_980_000_000,
        "max_memory_clock": 2_619_000_000,
        "power_limit": 700.0,
        "link_generation": 5,
        "link_width": 16,
        "compute_mode": "Default",
        "persistence": True,
        "ecc": True,
        "mig": False,
        "partitions": [],
    }


def test_mig_devices_are_read() -> None:
    gpu = parse(NEW)["gpus"][1]
    assert (gpu["busid"], gpu["mig"]) == ("0000:2a:00.0", True)
    assert gpu["partitions"] == [
        {
            "index": 0,
            "gpu_instance": 1,
            "compute_instance": 0,
            "uuid": None,
            "multiprocessors": 60,
            "memory": 40448 << 20,
        },
        {
            "index": 1,
            "gpu_instance": 5,
            "compute_instance": 0,
            "uuid": None,
            "multiprocessors": None,
            "memory": None,
        },
    ]


def test_old_driver_is_read() -> None:
    (gpu,) = parse(OLD)["gpus"]
    assert (gpu["name"], gpu["memory"]) == ("GeForce GTX 680", 2047 << 20)
    unknown = ("serial", "ecc", "mig", "link_generation", "power_limit", "max_clock")
    assert not any(gpu[key] for key in unknown)


def test_warning_before_the_document_is_skipped() -> None:
    assert parse("WARNING: infoROM is corrupted at gpu 0\n" + OLD)["gpus"]


def test_driver_without_gpus_is_read() -> None:
    with pytest.raises(SourceMissingError, match="lists no GPU"):
        parse(HEAD.format("v12") + "<nvidia_smi_log></nvidia_smi_log>")


@pytest.mark.parametrize("text", ["", "NVIDIA-SMI has failed", "<nvidia_smi_log>"])
def test_other_output_is_refused(text: str) -> None:
    with pytest.raises(MalformedSourceError, match="printed no XML"):
        parse(text)


def test_another_document_is_refused() -> None:
    with pytest.raises(MalformedSourceError, match="expected <nvidia_smi_log>"):
        parse("<topology/>")


@pytest.mark.parametrize(
    "declared",
    ['<!ENTITY a "b">', '<!ENTITY x SYSTEM "file:///etc/passwd">'],
)
def test_entities_are_refused(declared: str) -> None:
    text = f"<?xml version='1.0'?><!DOCTYPE n [{declared}]><nvidia_smi_log/>"
    with pytest.raises(MalformedSourceError, match="printed no XML"):
        parse(text)


def test_truncated_document_is_refused() -> None:
    for cut in range(0, len(NEW) - 2, 41):
        with pytest.raises(MalformedSourceError) as caught:
            parse(NEW[:cut])
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["81559", "81559 MO", "MiB", "1..5 MiB", "-3 MiB", "0 MiB"]
)
def test_unknown_memory_unit_is_a_gap(text: str) -> None:
    assert parse(OLD.replace("2047 MB", text))["gpus"][0]["memory"] is None


@pytest.mark.parametrize(
    ("text", "busid"),
    [
        ("00000000:18:00.0", "0000:18:00.0"),
        ("00010000:3B:00.1", "10000:3b:00.1"),
        ("GPU-1", None),
    ],
)
def test_bus_ids_are_normalised(text: str, busid: str | None) -> None:
    assert bus_id(text) == busid


def test_missing_tool_matters_only_with_a_gpu(tmp_path: Path) -> None:
    vendor = "sys/bus/pci/devices/0000:18:00.0/vendor"
    assert read_gpus(copied(plant(tmp_path, {vendor: "0x1a03\n"}), {}))["gpus"] == []
    with pytest.raises(SourceMissingError):
        read_gpus(copied(plant(tmp_path, {vendor: "0x10de\n"}), {}))
    assert len(read_gpus(copied(tmp_path, {"nvidia-smi": NEW}))["gpus"]) == 2
