"""`supertwin catalogue`, without a stack and without any of the processors."""

import json
import re
from pathlib import Path

import pytest
from rdflib import Graph

from ingest.pmu.pfm import list_models
from ingest.pmu.roles import formulas, roles
from ontology.terms import ST
from tests.command_line import run


def test_events_of_a_model_are_listed(env: dict[str, str]) -> None:
    done = run(env, "catalogue", "pmu", "skx")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[0] == "skx: Intel Skylake X"
    assert "8 counters, 3 fixed; 86 events, 461 unit masks" in lines[1]
    flops = [line for line in lines if ":512B_PACKED_DOUBLE" in line]
    # The event has two names.
    assert len(flops) == 2
    assert all("0x5340c7" in line for line in flops)


def test_models_are_written_as_json_and_turtle(env: dict[str, str]) -> None:
    printed = run(env, "catalogue", "pmu", "spr", "skx_unc_imc0", "--json").stdout
    assert [model["name"] for model in json.loads(printed)] == ["spr", "skx_unc_imc0"]
    graph = Graph().parse(data=run(env, "catalogue", "pmu", "rapl", "--turtle").stdout)
    assert len(set(graph.subjects(ST.eventCode))) >= 2


def test_all_models_are_listed(env: dict[str, str]) -> None:
    lines = run(env, "catalogue", "pmus").stdout.splitlines()
    assert [line[2:].split()[0] for line in lines] == [m["name"] for m in list_models()]
    (kernel,) = (line for line in lines if line[2:].startswith("perf "))
    assert kernel.startswith("* ")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["skq"], 2, "no PMU 'skq': did you mean"),
        (["skx", ""], 2, "[unknown-pmu]"),
        (["../skx", "--json"], 2, "[unknown-pmu]"),
        ([], 2, "Missing argument"),
        (["skx", "--load"], 1, "[graph-store-away]"),
        (["skx", "skq", "--load"], 2, "[unknown-pmu]"),
    ],
)
def test_invalid_request_gives_one_line(
    env: dict[str, str], words: list[str], status: int, message: str
) -> None:
    done = run(env, "catalogue", "pmu", *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def test_roles_are_listed(env: dict[str, str]) -> None:
    heads, *lines = run(env, "catalogue", "roles").stdout.splitlines()
    models = sorted({model for _, model in formulas()})
    assert len(heads.split()) == len(models)
    assert [line.split()[0] for line in lines] == list(roles())
    for line in lines:
        role, *marks = line.split()
        assert marks == ["+" if formulas()[role, m].terms else "-" for m in models]


def test_groups_are_checked_without_a_store(env: dict[str, str]) -> None:
    done = run(env, "catalogue", "groups", "add", "skylakeX/FLOPS_DP", "--check")
    head, *lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    counted = re.fullmatch(r"skx/FLOPS_DP: (\d+) of (\d+) metrics, new roles: 4", head)
    assert counted
    assert "  FLOPS_DP AVX DP [MFLOP/s]" in lines
    without = [line for line in lines if line.startswith("  without ")]
    assert len(without) == int(counted[2]) - int(counted[1])
    assert len(lines) == int(counted[2])


def test_group_that_is_refused_does_not_stop_others(
    env: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "skylakeX"
    folder.mkdir()
    text = "SHORT a\nEVENTSET\nFIXC0 INSTR_RETIRED_ANY\nMETRICS\nA {}\nLONG\n"
    (folder / "GOOD.txt").write_text(text.format("FIXC0"))
    (folder / "BAD.txt").write_text(text.format("(FIXC0"))
    (folder / "TIME.txt").write_text(text.format("time"))
    done = run(env, "catalogue", "groups", "add", str(folder), "--check")
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 2)
    assert done.stdout.startswith("skx/GOOD: 1 of 1 metrics")
    for code in ("bad-event-group", "event-group-refused"):
        assert f"[{code}]" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["add", "no/such"], 2, "[no-such-event-group]"),
        (["add", ""], 2, "it is empty"),
        (["add", "skylakeX/FLOPS_DP", "--pmu", "skq"], 2, "[unknown-pmu]"),
        (["add", "skylakeX/FLOPS_DP"], 1, "[graph-store-away]"),
        (["list"], 1, "[graph-store-away]"),
        (["remove", "skx/X"], 1, "[graph-store-away]"),
    ],
)
def test_invalid_group_gives_one_line(
    env: dict[str, str], words: list[str], status: int, message: str
) -> None:
    done = run(env, "catalogue", "groups", *words)
    assert done.returncode == status
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
