"""likwid's performance groups: read, resolved, counted, imported and removed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import UserError
from core.stores.endpoint import Endpoint
from ingest.errors import PmuError
from ingest.pmu.roles import formulas
from ingest.pmu.store import publish_roles
from observations.derived import RUN_SECONDS, ExpressionFigure, derive
from observations.errors import (
    BadGroupError,
    RefusedGroupError,
    UnknownFigureError,
    UnknownGroupError,
)
from observations.groups.figures import EventGroup, derive_group
from observations.groups.likwid import (
    FOLDERS,
    group_files,
    parse_group,
    read_group,
    translations,
)
from observations.groups.store import QUERY, import_group, remove_group
from observations.record import RunSpec
from observations.session.roles import (
    read_figures,
    read_named_roles,
    read_roles,
    roles_of_figures,
)
from queries.run import saved_rows
from tests.counting_hosts import IRIS, publish_host
from tests.observations.totals import SECONDS, recorded
from tests.servers import Fuseki
from virtual_telemetry.expression import parse

HEAD = """SHORT Work and  memory

EVENTSET
FIXC0 INSTR_RETIRED_ANY
FIXC1 CPU_CLK_UNHALTED_CORE
PMC0  FP_ARITH_INST_RETIRED_SCALAR_DOUBLE
PMC1:EDGEDETECT UOPS_ISSUED_STALL_CYCLES
PMC2  NO_SUCH_EVENT
PMC3:MATCH0=0x1 L2_LINES_IN_ALL
MBOX0C0 CAS_COUNT_RD
MBOX1C0 CAS_COUNT_RD
CBOX0C0 LLC_LOOKUP_DATA_READ
TMP0 TEMP_CORE
PWR1 PWR_PP0_ENERGY

METRICS
"""
LONG = "\nLONG\nFormulas:\nCPI = x\n-\nWhat it  is for.\n"
MODEL = "skx"
COUNTED = {
    "CPI  FIXC1/FIXC0": "<Cycles> / <Instructions>",
    "Scalar [MUOPS/s] 1.E-06*PMC0/time": (
        "1e-06 * <FP_ARITH_INST_RETIRED_SCALAR_DOUBLE> / <run>"
    ),
    "Stalls PMC1:EDGEDETECT": "<UOPS_ISSUED_STALL_CYCLES_EDGEDETECT>",
    "Read 64.0*(MBOX0C0+MBOX1C0)": "64 * (<DramReads> / 64)",
    "Mixed PMC0+MBOX1C0+MBOX0C0": (
        "<FP_ARITH_INST_RETIRED_SCALAR_DOUBLE> + <DramReads> / 64"
    ),
}
OMITTED = {
    "Runtime [s] time": "every run has its time",
    "Clock [MHz] FIXC1/inverseClock": "the frequency of the time stamp counter",
    "None PMC2": "PMC2 NO_SUCH_EVENT: libpfm4 has no such event of skx",
    "Option PMC3:MATCH0=0x1": "the option MATCH0 has no equivalent in libpfm4",
    "One MBOX0C0": "MBOX0C0 CAS_COUNT_RD: all boxes together are a role",
    "Twice MBOX0C0+MBOX0C0+MBOX1C0": "all boxes together are a role",
    "Box CBOX0C0": "events of CBOX are not counted",
    "Temperature TMP0": "TMP0 TEMP_CORE is an MSR with a temperature",
    "Energy PWR1": "PWR1 PWR_PP0_ENERGY: skx has no role for it",
    "Undefined FIXC7": "FIXC7 is not below EVENTSET",
}


def group_of(*metrics: str, model: str = MODEL, name: str = "WORK") -> EventGroup:
    text = HEAD + "\n".join(metrics) + LONG
    return derive_group(parse_group(text.encode(), Path(f"/x/{name}.txt"), model))


def test_file_has_title_description_and_source() -> None:
    group = group_of("CPI FIXC1/FIXC0").group
    assert (group.name, group.model, group.title) == ("WORK", MODEL, "Work and memory")
    assert group.description == "Formulas: CPI = x - What it is for."
    assert group.source == "likwid, /x/WORK.txt"
    assert group.counters["PMC1:EDGEDETECT"].options == ("EDGEDETECT",)


@pytest.mark.parametrize(("metric", "expected"), COUNTED.items())
def test_metric_is_an_expression_over_roles(metric: str, expected: str) -> None:
    found = group_of(metric)
    (figure,) = found.figures
    assert figure.expression == str(parse(expected))
    own = {role.name for role in found.roles}
    names = {*ExpressionFigure("", parse(figure.expression)).roles}
    assert names - own == {name for name in names if (name, MODEL) in formulas()}


@pytest.mark.parametrize(("metric", "reason"), OMITTED.items())
def test_metric_that_is_not_counted_has_a_reason(metric: str, reason: str) -> None:
    found = group_of("CPI FIXC1/FIXC0", metric)
    (text,) = found.omitted.values()
    assert reason in text
    assert [figure.name for figure in found.figures] == ["WORK CPI"]
    assert found.roles == ()
    if reason != "every run has its time":
        with pytest.raises(RefusedGroupError, match="no metric that skx") as caught:
            group_of(metric)
        assert caught.value.code == "event-group-refused"


def test_units_are_those_in_the_names() -> None:
    found = group_of("A [s] FIXC0", "B [J] FIXC0", "C FIXC0", "D [MFLOP/s] FIXC0")
    assert [figure.unit for figure in found.figures] == ["SEC", "J", "", ""]


def test_events_have_their_encodings() -> None:
    found = group_of("A PMC0", "B PMC1:EDGEDETECT")
    events = {role.event: role.encoding for role in found.roles}
    assert [*events] == [
        "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
        "UOPS_ISSUED:STALL_CYCLES:e=1",
    ]
    # Event and mask, and for the second a threshold, an edge and an inversion.
    codes = [int(code, 16) & 0xFF84FFFF for (code,) in events.values()]
    assert codes == [0x1C7, 0x184010E]


def test_two_metrics_of_one_name_differ() -> None:
    found = group_of("A FIXC0", "A FIXC1")
    assert [figure.name for figure in found.figures] == ["WORK A", "WORK A (2)"]


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        (b"\xff", "A.txt", "not a text"),
        (b"", "A.txt", "counters below EVENTSET"),
        (b"x", "A.txt", "expected SHORT"),
        (HEAD.encode(), "A.txt", "metrics below METRICS"),
        (f"{HEAD}CPI".encode(), "A.txt", "expected NAME FORMULA"),
        (f"{HEAD}CPI FIXC0".encode(), "A B.txt", "expected a file NAME.txt"),
        (b"SHORT a\nEVENTSET\nPMC0\nMETRICS\nA PMC0", "A.txt", "REGISTER EVENT"),
        (b"SHORT a\nEVENTSET\nPMC0 A\nPMC0 B\nMETRICS\nA PMC0", "A.txt", "twice"),
        (f"{HEAD}A (FIXC0".encode(), "A.txt", "A: the expression cannot be read"),
        (f"{HEAD}A MAX(FIXC0)".encode(), "A.txt", "A: the expression cannot be read"),
        (b"SHORT " + b"a" * (1 << 20), "A.txt", "bytes"),
    ],
)
def test_bad_file_is_refused_in_one_line(content: bytes, name: str, says: str) -> None:
    with pytest.raises(BadGroupError, match=says) as caught:
        derive_group(parse_group(content, Path("/x") / name, MODEL))
    assert caught.value.code == "bad-event-group"
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_processor_is_that_of_the_folder_or_named(tmp_path: Path) -> None:
    for folder in ("skylakeX", "other"):
        (tmp_path / folder).mkdir()
        text = f"{HEAD}CPI FIXC1/FIXC0{LONG}"
        (tmp_path / folder / "WORK.txt").write_text(text)
    (first,) = group_files(str(tmp_path / "skylakeX"))
    (second,) = group_files(str(tmp_path / "other/WORK"))
    assert read_group(first).model == "skx"
    assert read_group(second, "icx").model == "icx"
    with pytest.raises(BadGroupError, match="--pmu"):
        read_group(second)
    with pytest.raises(UnknownGroupError) as caught:
        group_files(str(tmp_path / "none"))
    assert caught.value.code == "no-such-event-group"
    with pytest.raises(PmuError):
        derive_group(read_group(second, "no-such-pmu"))


@pytest.mark.parametrize("folder", ["skylakeX", "haswellEP", "ICX", "zen3"])
def test_installed_groups_are_imported_or_refused(folder: str) -> None:
    """Each metric is a figure over known roles, or has a reason."""
    imported = 0
    for path in group_files(folder):
        group = read_group(path)
        try:
            found = derive_group(group)
        except UserError as error:
            assert error.code in ("event-group-refused", "bad-event-group")
            continue
        imported += 1
        assert len(found.figures) + len(found.omitted) == len(group.metrics)
        own = {role.name for role in found.roles}
        for figure in found.figures:
            names = ExpressionFigure("", parse(figure.expression)).roles
            assert all(
                name in own or formulas()[name, group.model].terms for name in names
            )
            assert RUN_SECONDS not in names
    assert imported > 5


def test_flops_of_likwid_are_those_of_the_roles() -> None:
    """The same events, so the same figures."""
    (path,) = group_files("skylakeX/FLOPS_DP")
    assert path.is_relative_to(FOLDERS[0]) or path.is_relative_to(FOLDERS[1])
    found = derive_group(read_group(path))
    events = {role.event for role in found.roles}
    assert events == {term.event for term in formulas()["FLOPsDouble", "skx"].terms}


def test_every_translation_is_readable() -> None:
    for candidates in translations()["events"].values():
        for one in candidates:
            assert "<" not in one or parse(one)


@pytest.fixture(scope="module")
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    """A store with the roles and a Skylake-X."""
    with Endpoint(f"{emptied_fuseki.url}/twin") as endpoint:
        publish_roles(endpoint, IRIS)
        publish_host(endpoint, "sky")
        yield endpoint


def triples_of(twin: Endpoint) -> int:
    """The number of triples in all graphs."""
    found = twin.select("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }").values()
    return int(found[0][0])


COUNTS = {
    "skx::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE": 3e6,
    "skx::INST_RETIRED:ANY_P": 1e9,
    "skx::CPU_CLK_UNHALTED:THREAD_P": 2e9,
}


def test_imported_group_is_counted_and_removed(twin: Endpoint) -> None:
    before = triples_of(twin)
    found = group_of(*COUNTED, *OMITTED)
    import_group(twin, IRIS, found)
    imported = triples_of(twin)
    import_group(twin, IRIS, found)
    assert before < triples_of(twin) == imported
    (row,) = saved_rows(twin, QUERY, {"host": "sky"})
    assert (row["pmu"], row["group"], row["title"]) == (
        MODEL,
        "WORK",
        "Work and memory",
    )
    assert int(row["figures"]) == len(COUNTED)
    assert "None: PMC2 NO_SUCH_EVENT" in row["omitted"]
    roles = roles_of_figures(twin, "sky", ["WORK CPI", "WORK Scalar [MUOPS/s]"])
    assert roles == ["Cycles", "Instructions", "FP_ARITH_INST_RETIRED_SCALAR_DOUBLE"]
    assert {*roles, "DramReads"} < {*roles_of_figures(twin, "sky", ["WORK"])}
    remove_group(twin, IRIS, f"{MODEL}/WORK")
    assert triples_of(twin) == before
    with pytest.raises(UnknownFigureError):
        roles_of_figures(twin, "sky", ["WORK"])
    with pytest.raises(UnknownGroupError) as caught:
        remove_group(twin, IRIS, f"{MODEL}/WORK")
    assert caught.value.code == "no-such-event-group"


def test_run_has_the_figures_of_its_group(twin: Endpoint) -> None:
    import_group(twin, IRIS, group_of(*COUNTED))
    named = tuple(roles_of_figures(twin, "sky", ["WORK CPI", "WORK Scalar [MUOPS/s]"]))
    spec = RunSpec("sky", ("x",), (0,), roles=named)
    names = {one.metric for one in recorded(COUNTS, 0)}
    # Roles of imported figures are only derived if they are named.
    found = {role.name for role in read_roles(twin, spec, "run-a", names)}
    assert {"Cycles", "Instructions"} <= found
    assert "FP_ARITH_INST_RETIRED_SCALAR_DOUBLE" not in found
    roles = read_named_roles(twin, spec, named, names)
    figures = derive(roles, recorded(COUNTS, 0), SECONDS, read_figures(twin, "sky"))
    values = {one.name: one.value for one in figures}
    assert values["WORK CPI"] == pytest.approx(2.0)
    assert values["WORK Scalar [MUOPS/s]"] == pytest.approx(1.5)
    assert "WORK Stalls" not in values
    remove_group(twin, IRIS, f"{MODEL}/WORK")


def test_role_of_two_groups_stays_with_the_other(twin: Endpoint) -> None:
    role = "FP_ARITH_INST_RETIRED_SCALAR_DOUBLE"
    for name in ("ONE", "TWO"):
        import_group(twin, IRIS, group_of("A PMC0", name=name))
    remove_group(twin, IRIS, f"{MODEL}/ONE")
    (row,) = saved_rows(twin, "pmu/role-events", {"host": "sky", "role": role})
    assert (row["event"], row["weight"]) == ("FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", 1)
    remove_group(twin, IRIS, f"{MODEL}/TWO")
    assert saved_rows(twin, "pmu/role-events", {"host": "sky", "role": role}) == []
