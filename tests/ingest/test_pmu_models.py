"""Which PMUs a processor has, by its family and model numbers."""

from collections.abc import Sequence

import pytest

from ingest.pmu.models import Processor, all_pmus, pmus_of, processors
from ingest.pmu.pfm import list_models
from ingest.pmu.scope import is_usable, kernel_name, scope_of
from ingest.schema.schema import Facts
from ingest.schema.topology import NO_TOPOLOGY
from ingest.sources.procfs import read_cpu

# PMUs of the host as a whole, the common part of 32-bit processors, and an old name.
NOT_OF_A_PROCESSOR = {"perf", "perf_raw", "ix86arch", "amd64_fam17h"}
# Models that libpfm4 added after 4.13.0, the version of Debian 12.
NEWER = ("adl_", "amd64_fam1ah_zen5", "emr", "gnr", "icx_unc_", "spr_unc_")


def test_table_has_every_model_of_the_library() -> None:
    known = {model["name"] for model in list_models()}
    x86 = {pmu for pmu in all_pmus() if not pmu.startswith("arm_")}
    assert known - x86 <= NOT_OF_A_PROCESSOR
    missing = x86 - known
    assert not [pmu for pmu in missing if not pmu.startswith(NEWER)]


def test_models_of_this_machine_match_libpfm4() -> None:
    """libpfm4 omits what the kernel does not offer; the table does not."""
    (processor,) = processors(Facts.model_validate({"cpu": read_cpu()}))
    ours = set(pmus_of(processor))
    models = {m["name"]: m for m in list_models()}
    present = {name for name, m in models.items() if m["present"]}
    assert present - NOT_OF_A_PROCESSOR <= ours
    missing = ours - present
    assert not [name for name in missing if models[name]["type"] == "core"]


@pytest.mark.parametrize(
    ("processor", "first", "also"),
    [
        (Processor("GenuineIntel", 6, 85, 4), "skx", "skx_unc_imc5"),
        (Processor("GenuineIntel", 6, 85, 7), "clx", "skx_unc_imc5"),
        (Processor("GenuineIntel", 6, 85), "skx", "rapl"),
        (Processor("GenuineIntel", 6, 62, 4), "ivb_ep", "ivbep_unc_imc7"),
        (Processor("GenuineIntel", 6, 143, 8), "spr", "spr_unc_imc11"),
        (Processor("GenuineIntel", 6, 106, 6), "icx", "icx_unc_m2pcie2"),
        (Processor("GenuineIntel", 6, 207, 2), "emr", "emr"),
        (Processor("GenuineIntel", 6, 173, 1), "gnr", "gnr_unc_imc11"),
        (Processor("GenuineIntel", 6, 183, 1), "adl_glc", "adl_grt"),
        (Processor("AuthenticAMD", 26, 2, 1), "amd64_fam1ah_zen5", "amd64_fam1ah_zen5"),
        (Processor("AuthenticAMD", 25, 17, 1), "amd64_fam19h_zen4", "amd64_rapl"),
        (Processor("AuthenticAMD", 25, 1), "amd64_fam19h_zen3", "amd64_fam19h_zen3_l3"),
        (Processor("AuthenticAMD", 23, 49, 0), "amd64_fam17h_zen2", "amd64_rapl"),
        (Processor("ARM", 0x41, 0xD0C), "arm_n1", "arm_n1"),
    ],
)  # fmt: skip
def test_processors_have_their_pmus(
    processor: Processor, first: str, also: str
) -> None:
    pmus = pmus_of(processor)
    assert pmus[0] == first
    assert also in pmus
    assert len(pmus) == len(set(pmus))


def test_unknown_processor_has_none() -> None:
    assert pmus_of(Processor("GenuineIntel", 6, 255)) == []
    assert pmus_of(Processor("Nobody", 6, 85)) == []


def seen(
    infos: Sequence[dict[str, str] | None], cpus: Sequence[dict[str, str]] = ()
) -> list[Processor]:
    """The processors of hwloc's sockets and of the kernel's."""
    sockets = [{"os_index": 0, "threads": [], "info": info} for info in infos]
    hwloc = NO_TOPOLOGY.model_dump() | {"sockets": sockets}
    models = {"sockets": {str(number): cpu for number, cpu in enumerate(cpus)}}
    return processors(Facts.model_validate({"hwloc": hwloc, "cpu": models}))


def test_hwloc_and_the_kernel_name_one_processor() -> None:
    info = {
        "CPUVendor": "GenuineIntel",
        "CPUFamilyNumber": "6",
        "CPUModelNumber": "85",
    }
    cpu = {"vendor": "GenuineIntel", "family": "6", "model": "85", "stepping": "7"}
    assert seen([info, None], [cpu, cpu]) == [Processor("GenuineIntel", 6, 85, 7)]
    assert seen([info, None]) == [Processor("GenuineIntel", 6, 85)]
    arm = {"CPUImplementer": "0x41", "CPUPart": "0xd0c"}
    assert seen([arm]) == [Processor("ARM", 0x41, 0xD0C)]
    probed = {"vendor": "0x41", "family": "8", "model": "0xd0c", "stepping": "1"}
    assert seen([arm], [probed]) == [Processor("ARM", 0x41, 0xD0C)]
    assert seen([{"CPUVendor": "x"}]) == []
    assert processors(Facts()) == []


@pytest.mark.parametrize(
    ("pmu", "scope", "source"),
    [
        ("skx_unc_imc0", "memory", "uncore_imc_0"),
        ("skx_unc_cha12", "slice", "uncore_cha_12"),
        ("ivbep_unc_cbo3", "slice", "uncore_cbox_3"),
        ("skx_unc_upi1", "link", "uncore_upi_1"),
        ("skx_unc_iio2", "pcie", "uncore_iio_2"),
        ("knl_unc_imc_uclk0", "memory", "uncore_mc_uclk_0"),
        ("snbep_unc_ha", "socket", "uncore_ha"),
        ("hswep_unc_ubo", "socket", "uncore_ubox"),
        ("amd64_fam19h_zen3_l3", "cache", "amd_l3"),
        ("rapl", "socket", "power"),
    ],
)
def test_uncore_boxes_have_scope_and_kernel_name(
    pmu: str, scope: str, source: str
) -> None:
    assert scope_of(pmu, "uncore") == scope
    assert kernel_name(pmu) == source
    assert is_usable(pmu, "uncore", ["cpu", source]) is True
    assert is_usable(pmu, "uncore", ["cpu"]) is False
    assert is_usable(pmu, "uncore", None) is None


def test_core_pmus_have_scope_and_kernel_name() -> None:
    assert scope_of("skx", "core") == "thread"
    assert is_usable("skx", "core", ["cpu_core", "cpu_atom"]) is True
    assert is_usable("skx", "core", ["software", "msr"]) is False
    assert is_usable("perf", "os", ["software"]) is True
    assert is_usable("odd", "unknown", ["software"]) is None
