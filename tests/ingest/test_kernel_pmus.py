"""Events of the kernel's own PMUs: their codes, and how a kernel encodes them."""

import pytest

from ingest.errors import RoleError
from ingest.pmu.kernel import encode_terms, kernel_pmus
from ingest.pmu.roles import formulas, kernel_pmus_of

# The formats in arch/x86/events of Linux 6.12: amd/uncore.c, amd/core.c, intel/core.c.
ZEN2_DF = {"event": "config:0-7,32-35,59-60", "umask": "config:8-15"}
L3 = {"event": "config:0-7", "umask": "config:8-15"}
UMC = {"event": "config:0-7", "rdwrmask": "config:8-9"}
AMD_CORE = {"event": "config:0-7,32-35", "umask": "config:8-15"}
INTEL_CORE = {"event": "config:0-7", "umask": "config:8-15"}

# EventCode, UMask (RdWrMask) in tools/perf/pmu-events/arch/x86 of Linux 6.12: amdzen1
# to amdzen5, skylakex, icelakex, sapphirerapids and alderlake.
TABLES = {
    ("amd_df", "dram_channel_data_controller_0"): (0x07, 0x38),
    ("amd_df", "dram_channel_data_controller_1"): (0x47, 0x38),
    ("amd_df", "dram_channel_data_controller_2"): (0x87, 0x38),
    ("amd_df", "dram_channel_data_controller_3"): (0xC7, 0x38),
    ("amd_df", "dram_channel_data_controller_4"): (0x107, 0x38),
    ("amd_df", "dram_channel_data_controller_5"): (0x147, 0x38),
    ("amd_df", "dram_channel_data_controller_6"): (0x187, 0x38),
    ("amd_df", "dram_channel_data_controller_7"): (0x1C7, 0x38),
    ("amd_l3", "l3_lookup_state.l3_miss"): (0x04, 0x01),
    ("amd_umc_0", "umc_cas_cmd.rd"): (0x0A, 0x1),
    ("amd_umc_0", "umc_cas_cmd.wr"): (0x0A, 0x2),
    ("cpu", "topdown.backend_bound_slots"): (0xA4, 0x02),
    ("cpu", "topdown.br_mispredict_slots"): (0xA4, 0x08),
    ("cpu", "topdown.memory_bound_slots"): (0xA4, 0x10),
    ("cpu", "uops_retired.macro_fused"): (0xC2, 0x04),
    ("cpu", "de_src_op_disp.all"): (0xAA, 0x07),
    ("cpu", "ex_no_retire.load_not_complete"): (0xD6, 0xA2),
    ("cpu", "l2_pf_miss_l2_l3.l1_dc_l2_hwpf"): (0x72, 0xFF),
    ("cpu_core", "topdown.backend_bound_slots"): (0xA4, 0x02),
    ("cpu_core", "topdown.br_mispredict_slots"): (0xA4, 0x08),
    ("cpu_core", "topdown.memory_bound_slots"): (0xA4, 0x10),
}
# The kernel names these itself (arch/x86/events, drivers/perf/arm-cmn.c).
NAMED = {
    ("uncore_imc_0", "cas_count_read"),
    ("uncore_imc_0", "cas_count_write"),
    ("uncore_imc", "data_reads"),
    ("uncore_imc", "data_writes"),
    ("uncore_imc_free_running_0", "data_read"),
    ("uncore_imc_free_running_0", "data_write"),
    ("arm_cmn_0", "hnf_mc_reqs"),
    ("arm_cmn_0", "hnf_mc_retries"),
    ("power", "energy-pkg"),
}


def used() -> set[tuple[str, str]]:
    """The kernel's events in formulas; of devices of one kind the first."""
    return {
        (term.pmu, term.event)
        for formula in formulas().values()
        for term in formula.terms
        if term.pmu in kernel_pmus()
        if not term.pmu.rpartition("_")[2].isdigit() or term.pmu.endswith("_0")
    }


def test_events_have_the_codes_of_the_kernels_tables() -> None:
    assert used() == TABLES.keys() | NAMED
    for (pmu, event), (code, mask) in TABLES.items():
        terms = dict(
            term.split("=") for term in kernel_pmus()[pmu].events[event].split(",")
        )
        second = "rdwrmask" if pmu.startswith("amd_umc") else "umask"
        assert {name: int(number, 16) for name, number in terms.items()} == {
            "event": code,
            second: mask,
        }
    for pmu, event in NAMED:
        assert kernel_pmus()[pmu].events[event] == ""


@pytest.mark.parametrize(
    ("pmu", "event", "formats", "config"),
    [
        ("amd_df", "dram_channel_data_controller_0", ZEN2_DF, 0x3807),
        ("amd_df", "dram_channel_data_controller_7", ZEN2_DF, 0x1000038C7),
        ("amd_l3", "l3_lookup_state.l3_miss", L3, 0x104),
        ("amd_umc_3", "umc_cas_cmd.wr", UMC, 0x20A),
        ("cpu", "ex_no_retire.load_not_complete", AMD_CORE, 0xA2D6),
        ("cpu", "topdown.memory_bound_slots", INTEL_CORE, 0x10A4),
    ],
)
def test_terms_set_the_bits_of_the_kernels_format(
    pmu: str, event: str, formats: dict[str, str], config: int
) -> None:
    terms = kernel_pmus()[pmu].events[event]
    assert encode_terms(terms, formats) == {"config": config}


def test_terms_may_be_in_several_words() -> None:
    formats = {"type": "config:0-15", "bynodeid": "config:31", "nodeid": "config1:0-15"}
    terms = "type=0x5,bynodeid=1,nodeid=0x24"
    assert encode_terms(terms, formats) == {"config": 0x80000005, "config1": 0x24}


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("event=0x1,rdwrmask=0x4", "rdwrmask=0x4 does not fit the 2 bits"),
        ("event=0x1,umask=0x1", "format of the term umask is ''"),
        ("odd=0x1", "format of the term odd is 'config9x'"),
    ],
)
def test_terms_that_a_kernel_lacks_are_refused(terms: str, message: str) -> None:
    with pytest.raises(RoleError, match=message):
        encode_terms(terms, {**UMC, "odd": "config9x"})


def test_models_use_their_own_devices() -> None:
    assert kernel_pmus_of("amd64_fam17h_zen2") == {"amd_df", "amd_l3"}
    assert kernel_pmus_of("skl") == {"uncore_imc", "cpu"}
    assert kernel_pmus_of("skx") == {"cpu"}
    umc = {f"amd_umc_{number}" for number in range(24)}
    assert kernel_pmus_of("amd64_fam1ah_zen5") == umc | {"amd_l3", "cpu", "power"}
