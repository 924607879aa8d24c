"""An imported group as triples: its roles with their events, and its figures."""

from rdflib import DCTERMS, RDFS, XSD, Literal, URIRef

from ingest.describe.pmu import describe_encoded_event
from ingest.triples import Triples
from observations.groups.events import GroupRole
from observations.groups.figures import EventGroup, GroupFigure
from ontology.iris import Iris
from ontology.terms import QUDT, ST, UNIT

_ONE = Literal("1", datatype=XSD.decimal)


def describe_group(found: EventGroup, iris: Iris) -> Triples:
    """Describe a group; two groups of a model describe a common role alike."""
    triples, group = Triples(), found.group
    node = triples.node(
        iris.event_group(group.model, group.name),
        ST.EventGroup,
        {
            ST.groupName: group.name,
            ST.forModel: iris.pmu(group.model),
            ST.citation: group.source,
            ST.omittedMetric: [f"{n}: {why}" for n, why in found.omitted.items()],
            DCTERMS.title: group.title or None,
            RDFS.comment: group.description or None,
        },
        label=f"{group.name} on {group.model}",
    )
    for role in found.roles:
        _role(triples, iris, group.model, role)
    for figure in found.figures:
        _figure(triples, iris, found, figure, node)
    return triples


def _role(triples: Triples, iris: Iris, model: str, role: GroupRole) -> None:
    triples.node(
        iris.role(role.name),
        ST.Role,
        {
            ST.roleName: role.name,
            QUDT.hasUnit: UNIT.NUM,
            RDFS.comment: f"The event that likwid calls {role.name}.",
        },
        label=role.name,
    )
    term = triples.node(
        iris.role_term(role.name, model, 1),
        ST.RoleTerm,
        {ST.weight: _ONE, ST.countsEvent: iris.pmu_event(role.pmu, role.event)},
    )
    triples.node(
        iris.role_formula(role.name, model),
        ST.RoleFormula,
        {
            ST.measures: iris.role(role.name),
            ST.forModel: iris.pmu(model),
            ST.countScope: role.scope,
            ST.citation: "likwid's name of an event in the tables of libpfm4 or Linux",
            ST.formulaText: f"{role.pmu}::{role.event}",
            ST.measuredOnHardware: False,
            ST.hasTerm: term,
        },
        label=f"{role.name} on {model}",
    )
    _event(triples, iris, role)


def _event(triples: Triples, iris: Iris, role: GroupRole) -> None:
    if role.encoding:
        describe_encoded_event(triples, iris, role.pmu, role.event, list(role.encoding))
        return
    triples.node(
        iris.pmu_event(role.pmu, role.event),
        ST.PmuEvent,
        {
            ST.ofPmu: iris.pmu(role.pmu),
            ST.pmuName: role.event,
            ST.kernelTerms: role.terms or None,
        },
    )


def _figure(
    triples: Triples,
    iris: Iris,
    found: EventGroup,
    figure: GroupFigure,
    node: URIRef,
) -> None:
    model = found.group.model
    triples.node(
        iris.figure_formula(figure.name, model),
        ST.FigureFormula,
        {
            ST.figureName: figure.name,
            ST.forModel: iris.pmu(model),
            ST.figureExpression: figure.expression,
            ST.ofEventGroup: node,
            QUDT.hasUnit: UNIT[figure.unit] if figure.unit else None,
            ST.citation: found.group.source,
            ST.measuredOnHardware: False,
        },
        label=f"{figure.name} on {model}",
    )
