"""`supertwin catalogue`, without a stack and without any of the processors."""

import json

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
