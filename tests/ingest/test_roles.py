"""Roles: every formula can be programmed, and none is left out."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from rdflib import XSD, Literal

from ingest.describe.roles import describe_roles
from ingest.errors import RoleError
from ingest.pmu.formula import FormulaTerm, parse_formula
from ingest.pmu.kernel import kernel_pmus
from ingest.pmu.pfm import read_events
from ingest.pmu.roles import FOLDER, formulas, known_codes, role_events, roles
from ontology.iris import Iris
from ontology.terms import ST
from shapes.validate import validate

IRIS = Iris("http://localhost:8000")
ASKED = {
    "skl", "skx", "clx", "ivb", "ivb_ep", "hsw", "hsw_ep", "bdw", "bdw_ep", "icl",
    "icx", "spr", "knl", "adl_glc", "adl_grt", "amd64_fam17h_zen1", "amd64_fam17h_zen2",
    "amd64_fam19h_zen3", "amd64_fam19h_zen4", "amd64_fam1ah_zen5", "arm_n1",
}  # fmt: skip
# Bits of a counter's register that are not in perf's config.
PRIVILEGES_AND_ENABLE = 0x530000
# Table 2.2 of the thesis, the rows of hardware counters.
TABLE = """Cycles; Loads; Stores; L1 Data Misses; L2 Data Misses; LLC Misses;
L1 Data Stalls; L2 Stalls; L3 Stalls; Memory Stalls; Cycles with misses on L1 Data;
Cycles with misses on L2; Cycles with misses on L3; Cycles with outstanding loads;
FP Scalar Double; FP Scalar Single; FP 128-bit SIMD Double; FP 128-bit SIMD Single;
FP 256-bit SIMD Double; FP 256-bit SIMD Single; FP 512-bit SIMD Double;
FP 512-bit SIMD Single"""


def test_thesis_table_is_covered() -> None:
    rows = {row.strip() for row in TABLE.split(";")}
    assert {role.thesis for role in roles().values() if role.thesis} == rows


def test_every_model_answers_every_role() -> None:
    answers = formulas()
    models = {model for _, model in answers}
    assert models >= ASKED
    assert len(answers) == len(models) * len(roles())
    for answer in answers.values():
        assert bool(answer.terms) != bool(answer.reason), answer


def test_every_named_event_can_be_programmed() -> None:
    read = read_events(role_events())
    encoded = {(pmu, e["name"]) for pmu, events in read.items() for e in events}
    named = {(pmu, event) for pmu, events in role_events().items() for event in events}
    # Codes that libpfm4 encodes only on the processor itself: listed by hand, all used.
    assert named - encoded <= known_codes().keys() <= named


@pytest.mark.parametrize("precision", ["Double", "Single"])
@pytest.mark.parametrize("width", ["Scalar", "128", "256", "512"])
def test_flops_are_instructions_times_elements(width: str, precision: str) -> None:
    bits = {"Double": 64, "Single": 32}[precision]
    elements = 1 if width == "Scalar" else int(width) // bits
    for model in {model for _, model in formulas()}:
        instructions = formulas()[f"Fp{width}{precision}", model].terms
        operations = formulas()[f"FLOPs{width}{precision}", model].terms
        assert len(instructions) == len(operations)
        for one, many in zip(instructions, operations, strict=True):
            assert many == FormulaTerm(one.weight * elements, one.pmu, one.event)
            total = formulas()[f"FLOPs{precision}", model].terms
            assert many in total
            assert many in formulas()["FLOPs", model].terms


def test_totals_are_the_sum_of_their_parts() -> None:
    for model in {model for _, model in formulas()}:
        widths = ("Scalar", "128", "256", "512")
        for precision in ("Double", "Single"):
            parts = [
                term
                for width in widths
                for term in formulas()[f"FLOPs{width}{precision}", model].terms
            ]
            total = formulas()[f"FLOPs{precision}", model].terms
            # Zen 1 counts by precision, but not by width.
            if parts:
                assert sorted(map(str, parts)) == sorted(map(str, total))


def test_formulas_match_the_thesis() -> None:
    misses = formulas()["L2Misses", "skx"]
    assert {(t.weight, t.event) for t in misses.terms} == {
        (Decimal(1), "LONGEST_LAT_CACHE:REFERENCE"),
        (Decimal(-1), "L2_RQSTS:CODE_RD_MISS"),
    }
    traffic = formulas()["DramTraffic", "skx"]
    assert traffic.scope == "socket"
    assert {t.weight for t in traffic.terms} == {Decimal(64)}
    assert {(t.pmu, t.event[-2:]) for t in traffic.terms} == {
        (f"skx_unc_imc{n}", way) for n in range(6) for way in ("RD", "WR")
    }
    (energy,) = formulas()["EnergyPackage", "skx"].terms
    assert energy.weight == Decimal(1) / 2**32


# Event, unit mask and counter mask in tools/perf/pmu-events/arch/x86 of Linux 6.12:
# haswell, broadwellx, skylakex, icelakex, sapphirerapids, alderlake, amdzen4, amdzen5.
KERNEL_CODES = {
    ("hsw", "UOPS_ISSUED:ANY"): 0x10E,
    ("hsw", "UOPS_RETIRED:RETIRE_SLOTS"): 0x2C2,
    ("hsw", "INT_MISC:RECOVERY_CYCLES"): 0x100030D,
    ("hsw", "IDQ_UOPS_NOT_DELIVERED:CORE"): 0x19C,
    ("hsw", "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"): 0x400019C,
    ("hsw", "BR_MISP_RETIRED:ALL_BRANCHES"): 0xC5,
    ("hsw", "MACHINE_CLEARS:COUNT"): 0x10401C3,
    ("bdw_ep", "UOPS_ISSUED:ANY"): 0x10E,
    ("bdw_ep", "UOPS_RETIRED:RETIRE_SLOTS"): 0x2C2,
    ("bdw_ep", "INT_MISC:RECOVERY_CYCLES"): 0x100030D,
    ("bdw_ep", "IDQ_UOPS_NOT_DELIVERED:CORE"): 0x19C,
    ("bdw_ep", "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"): 0x400019C,
    ("bdw_ep", "BR_MISP_RETIRED:ALL_BRANCHES"): 0xC5,
    ("bdw_ep", "MACHINE_CLEARS:COUNT"): 0x10401C3,
    ("skx", "UOPS_ISSUED:ANY"): 0x10E,
    ("skx", "BR_MISP_RETIRED:ALL_BRANCHES"): 0xC5,
    ("skx", "MACHINE_CLEARS:COUNT"): 0x10401C3,
    ("skx", "CYCLE_ACTIVITY:STALLS_MEM_ANY"): 0x140014A3,
    ("skx", "CYCLE_ACTIVITY:STALLS_TOTAL"): 0x40004A3,
    ("skx", "EXE_ACTIVITY:BOUND_ON_STORES"): 0x40A6,
    ("skx", "EXE_ACTIVITY:1_PORTS_UTIL"): 0x2A6,
    ("skx", "EXE_ACTIVITY:2_PORTS_UTIL"): 0x4A6,
    ("skx", "UOPS_RETIRED:RETIRE_SLOTS"): 0x2C2,
    ("skx", "INT_MISC:RECOVERY_CYCLES"): 0x10D,
    ("skx", "IDQ_UOPS_NOT_DELIVERED:CORE"): 0x19C,
    ("skx", "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"): 0x400019C,
    ("icx", "TOPDOWN:SLOTS_P"): 0x1A4,
    ("icx", "UOPS_RETIRED:SLOTS"): 0x2C2,
    ("icx", "INT_MISC:UOP_DROPPING"): 0x100D,
    ("icx", "IDQ_UOPS_NOT_DELIVERED:CORE"): 0x19C,
    ("icx", "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"): 0x500019C,
    ("icx", "INT_MISC:CLEARS_COUNT"): 0x104010D,
    ("icx", "BR_MISP_RETIRED:ALL_BRANCHES"): 0xC5,
    ("icx", "MACHINE_CLEARS:COUNT"): 0x10401C3,
    ("icx", "CYCLE_ACTIVITY:STALLS_MEM_ANY"): 0x140014A3,
    ("icx", "CYCLE_ACTIVITY:STALLS_TOTAL"): 0x40004A3,
    ("icx", "EXE_ACTIVITY:BOUND_ON_STORES"): 0x20040A6,
    ("icx", "EXE_ACTIVITY:1_PORTS_UTIL"): 0x2A6,
    ("icx", "EXE_ACTIVITY:2_PORTS_UTIL"): 0x4A6,
    ("spr", "UOPS_RETIRED:HEAVY"): 0x1C2,
    ("spr", "BR_MISP_RETIRED:ALL_BRANCHES"): 0xC5,
    ("spr", "MACHINE_CLEARS:COUNT"): 0x10401C3,
    ("spr", "TOPDOWN:SLOTS_P"): 0x1A4,
    ("spr", "UOPS_RETIRED:SLOTS"): 0x2C2,
    ("spr", "INT_MISC:UOP_DROPPING"): 0x10AD,
    ("spr", "IDQ_UOPS_NOT_DELIVERED:CORE"): 0x19C,
    ("spr", "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"): 0x600019C,
    ("adl_glc", "TOPDOWN:SLOTS_P"): 0x1A4,
    ("adl_glc", "UOPS_RETIRED:SLOTS"): 0x2C2,
    ("adl_glc", "UOPS_RETIRED:HEAVY"): 0x1C2,
    ("adl_glc", "INT_MISC:UOP_DROPPING"): 0x10AD,
    ("adl_glc", "IDQ_UOPS_NOT_DELIVERED:CORE"): 0x19C,
    ("adl_glc", "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"): 0x600019C,
    ("adl_glc", "BR_MISP_RETIRED:ALL_BRANCHES"): 0xC5,
    ("adl_glc", "MACHINE_CLEARS:COUNT"): 0x10401C3,
    ("adl_grt", "CPU_CLK_UNHALTED:CORE_P"): 0x3C,
    ("adl_grt", "TOPDOWN_RETIRING:ALL"): 0xC2,
    ("adl_grt", "TOPDOWN_FE_BOUND:ALL"): 0x71,
    ("adl_grt", "TOPDOWN_FE_BOUND:FRONTEND_LATENCY"): 0x7271,
    ("adl_grt", "TOPDOWN_BE_BOUND:ALL"): 0x74,
    ("adl_grt", "TOPDOWN_BAD_SPECULATION:MISPREDICT"): 0x473,
    ("amd64_fam1ah_zen5", "RETIRED_OPS"): 0xC1,
    ("amd64_fam1ah_zen5", "RETIRED_UCODE_OPS"): 0x1000000C2,
    ("amd64_fam1ah_zen5", "DISPATCH_STALLS_1:FE_NO_OPS"): 0x1000001A0,
    ("amd64_fam1ah_zen5", "DISPATCH_STALLS_1:FE_NO_OPS:c=8"): 0x1080001A0,
    ("amd64_fam1ah_zen5", "DISPATCH_STALLS_1:BE_STALLS"): 0x100001EA0,
    ("amd64_fam1ah_zen5", "DISPATCH_STALLS_1:SMT_CONTENTION"): 0x1000060A0,
    ("amd64_fam1ah_zen5", "CYCLES_NO_RETIRE:NOT_COMPLETE_LOAD_AND_ALU"): 0x2D6,
    ("amd64_fam1ah_zen5", "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED"): 0xC3,
    ("amd64_fam1ah_zen5", "BP_REDIRECTS:RESYNC"): 0x19F,
    ("amd64_fam19h_zen4", "RETIRED_UCODE_OPS"): 0x1000000C2,
    ("amd64_fam19h_zen4", "CYCLES_NO_RETIRE:NOT_COMPLETE_MISSING_LOAD"): 0xA2D6,
    ("amd64_fam19h_zen4", "CYCLES_NO_RETIRE:NOT_COMPLETE_LOAD_AND_ALU"): 0x2D6,
    ("amd64_fam19h_zen4", "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED"): 0xC3,
    ("amd64_fam19h_zen4", "RESYNCS"): 0x96,
    ("amd64_fam19h_zen4", "RETIRED_OPS"): 0xC1,
    ("amd64_fam19h_zen4", "DISPATCH_STALLS_1:FE_NO_OPS"): 0x1000001A0,
    ("amd64_fam19h_zen4", "DISPATCH_STALLS_1:FE_NO_OPS:c=6"): 0x1060001A0,
    ("amd64_fam19h_zen4", "DISPATCH_STALLS_1:BE_STALLS"): 0x100001EA0,
    ("amd64_fam19h_zen4", "DISPATCH_STALLS_1:SMT_CONTENTION"): 0x1000060A0,
    (
        "amd64_fam19h_zen4",
        "OPS_SOURCE_DISPATCHED_FROM_DECODER:DECODER:OPCACHE:LOOP_BUFFER",
    ): 0x7AA,
}


# Cycles and instructions have their codes from the manuals.
BASICS = {"CPU_CLK_UNHALTED:THREAD_P", "CYCLES_NOT_IN_HALT", "INST_RETIRED:ANY_P"}
TOP_DOWN = (
    "MemoryBoundStalls", "ExecutionStalls", "TwoPortCycles", "BranchMispredicts",
    "MachineClears",
)  # fmt: skip


def test_top_down_events_have_the_codes_of_the_kernel() -> None:
    """Events for which libpfm4 has another code are in no formula."""
    events = {
        (term.pmu or model, term.event)
        for (role, model), formula in formulas().items()
        if role.startswith(("Slots", *TOP_DOWN))
        and model in {pmu for pmu, _ in KERNEL_CODES}
        for term in formula.terms
        if term.pmu not in kernel_pmus()
    }
    assert {event for _, event in events - KERNEL_CODES.keys()} == BASICS
    assert KERNEL_CODES.keys() <= events
    names: dict[str, list[str]] = {}
    for pmu, event in KERNEL_CODES:
        names.setdefault(pmu, []).append(event)
    found = {
        (pmu, one["name"]): int(one["encoding"][0], 16) & ~PRIVILEGES_AND_ENABLE
        for pmu, events_ in read_events(names).items()
        for one in events_
    }
    # Debian 12's libpfm4 does not know these PMUs.
    newer = {
        event: int(code, 16)
        for event, code in known_codes().items()
        if event in KERNEL_CODES
    }
    assert newer | found == KERNEL_CODES


def test_slots_of_a_skylake_add_up() -> None:
    """Each slot is used in exactly one way."""
    parts = ("Retiring", "BadSpeculation", "FrontEndBound", "BackEndBound")
    total: dict[str, Decimal] = {}
    for part in parts:
        for term in formulas()[f"Slots{part}", "skx"].terms:
            total[term.event] = total.get(term.event, Decimal(0)) + term.weight
    (slots,) = formulas()["Slots", "skx"].terms
    assert {event: n for event, n in total.items() if n} == {slots.event: slots.weight}


def test_graph_of_roles_conforms() -> None:
    described = describe_roles(IRIS)
    report = validate(described.graph())
    assert report.conforms, report.lines[:5]
    measured = {str(o) for _, p, o in described if p == ST.measuredOnHardware}
    assert measured == {"false"}
    weights = [o for _, p, o in described if p == ST.weight]
    for weight in weights:
        assert isinstance(weight, Literal)
        assert weight.datatype == XSD.decimal
        assert re.fullmatch(r"-?\d+(\.\d+)?", str(weight))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("A", [("1", None, "A")]),
        ("2 * A:B - c::D:E:c=1", [("2", None, "A:B"), ("-1", "c", "D:E:c=1")]),
        ("-A+0.5*B", [("-1", None, "A"), ("0.5", None, "B")]),
        ("64 * m[0-1]::X", [("64", "m0", "X"), ("64", "m1", "X")]),
        ("1e-3 * A:128B_X", [("0.001", None, "A:128B_X")]),
        (
            "2 * u_0::cas.rd - power::energy-pkg",
            [("2", "u_0", "cas.rd"), ("-1", "power", "energy-pkg")],
        ),
    ],
)
def test_formulas_are_parsed(
    text: str, terms: list[tuple[str, str | None, str]]
) -> None:
    assert parse_formula(text) == [FormulaTerm(Decimal(w), p, e) for w, p, e in terms]


@pytest.mark.parametrize(
    "text",
    ["", "2", "2 *", "A +", "A B", "A ++ B", "A - - B", "2 * 3 * A", "A * 2", "A::",
     "A, B", "2 * - A", "m[0-x]::A", "A + A", "m[0-1]::A + m1::A", "(A + B)"],
)  # fmt: skip
def test_invalid_formula_is_refused(text: str) -> None:
    with pytest.raises(RoleError):
        parse_formula(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  Cycles: CPU_CLK", "  Cycls: CPU_CLK", "unknown role Cycls"),
        ("  Cycles: CPU_CLK_UNHALTED:THREAD_P\n", "", "Cycles of .* has no formula"),
        ("source:", "scope: galaxy\nsource:", "unknown scope galaxy"),
        ("source:", "sauce: x\nsource:", "unknown key sauce"),
        ("models: [skl, skx, clx]", "models: [skl, skx, clx, icl]", "in another file"),
        ("L1D:REPLACEMENT", "amd_df::no_such_event", "no event no_such_event"),
    ],
)
def test_errors_in_the_files_are_reported(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    for path in FOLDER.glob("*.yaml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    file = tmp_path / "intel-skylake.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(RoleError, match=message):
        formulas(tmp_path)
