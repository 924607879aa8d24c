"""The column of a query result that lists the components of a metric."""

import pytest
from rdflib import Literal, URIRef

from core.stores.results import Term, TermRows
from ingest.errors import PlanRequestError
from sampling.plans.instances import components_in

CPUS = {f"cpu{number}": URIRef(f"urn:thread/{number}") for number in range(3)}
CORE = URIRef("urn:core/0")


def chosen(columns: list[str], *rows: list[Term | None]) -> set[URIRef]:
    return set(components_in(TermRows(columns, [*rows]), "a/b", "cpu.user", CPUS))


def test_instance_column_is_used() -> None:
    found = chosen(
        ["host", "core", "thread"],
        [Literal("n1"), CORE, CPUS["cpu0"]],
        [Literal("n1"), CORE, CPUS["cpu2"]],
        [Literal("n1"), CORE, None],
        [Literal("n1"), CORE, URIRef("urn:thread/9")],
    )
    assert found & {*CPUS.values()} == {CPUS["cpu0"], CPUS["cpu2"]}


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "returns no rows, so no instance of cpu.user"),
        ([[Literal("n1"), Literal(0)]], r"no column of components \(one, other\)"),
        ([[None, None]], "no column of components"),
        ([[CORE, Literal(0)]], "no component that cpu.user has an instance of"),
        ([[CPUS["cpu0"], CPUS["cpu1"]]], r"several columns \(one, other\)"),
    ],
)
def test_results_without_instances_are_refused(
    rows: list[list[Term | None]], reason: str
) -> None:
    with pytest.raises(PlanRequestError, match=reason):
        chosen(["one", "other"], *rows)
