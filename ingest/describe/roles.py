"""Describe roles and their formulas as a graph."""

from rdflib import RDFS, XSD, Literal, URIRef

from ingest.describe.pmu import describe_kernel_pmus, describe_role_events
from ingest.pmu.figures import FigureFormula, figure_formulas
from ingest.pmu.formula import FormulaTerm
from ingest.pmu.roles import Formula, formulas, roles
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import QUDT, ST, UNIT


def describe_roles(iris: Iris) -> Triples:
    """Describe all roles, their formulas or the reasons, events, and figures."""
    triples = Triples()
    for role in roles().values():
        triples.node(
            iris.role(role.name),
            ST.Role,
            {
                ST.roleName: role.name,
                ST.thesisMetric: role.thesis,
                QUDT.hasUnit: UNIT[role.unit],
                RDFS.comment: role.definition,
            },
            label=role.name,
        )
    for formula in formulas().values():
        _formula(triples, iris, formula)
    for figure in figure_formulas().values():
        _figure(triples, iris, figure)
    describe_role_events(triples, iris)
    describe_kernel_pmus(triples, iris)
    return triples


def _formula(triples: Triples, iris: Iris, formula: Formula) -> None:
    iri = iris.role_formula(formula.role, formula.model)
    terms = [
        _term(triples, iris, formula, number, term)
        for number, term in enumerate(formula.terms, 1)
    ]
    triples.node(
        iri,
        ST.RoleFormula,
        {
            ST.measures: iris.role(formula.role),
            ST.forModel: iris.pmu(formula.model),
            ST.countScope: formula.scope,
            ST.citation: formula.source,
            ST.formulaText: formula.text,
            ST.absentReason: formula.reason,
            ST.measuredOnHardware: formula.measured if terms else None,
            ST.hasTerm: terms,
        },
        label=f"{formula.role} on {formula.model}",
    )


def _figure(triples: Triples, iris: Iris, formula: FigureFormula) -> None:
    triples.node(
        iris.figure_formula(formula.figure, formula.model),
        ST.FigureFormula,
        {
            ST.figureName: formula.figure,
            ST.forModel: iris.pmu(formula.model),
            ST.figureExpression: formula.expression,
            QUDT.hasUnit: UNIT[formula.unit] if formula.unit else None,
            ST.topDownLevel: formula.level,
            ST.citation: formula.source,
            ST.measuredOnHardware: formula.measured,
        },
        label=f"{formula.figure} on {formula.model}",
    )


def _term(
    triples: Triples, iris: Iris, formula: Formula, number: int, term: FormulaTerm
) -> URIRef:
    return triples.node(
        iris.role_term(formula.role, formula.model, number),
        ST.RoleTerm,
        {
            # Fixed-point notation: xsd:decimal has no exponent.
            ST.weight: Literal(f"{term.weight:f}", datatype=XSD.decimal),
            ST.countsEvent: iris.pmu_event(term.pmu or formula.model, term.event),
        },
    )
