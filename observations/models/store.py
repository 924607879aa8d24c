"""Writes models to the graph store, each in its own graph."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from rdflib import PROV, XSD, Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.entailed import drop, with_entailed
from ingest.triples import Triples, insertion, rounded
from observations.errors import ModelInputError
from observations.models.model import ModelTerm, RuntimeModel
from observations.store import check_shapes
from ontology.iris import IdError, Iris, stated
from ontology.terms import ST


def keep_model(twin: Endpoint, iris: Iris, model: RuntimeModel) -> URIRef:
    """Write a model in place of an earlier one for the same tag and host.

    Raises NotRecordedError if it violates the shapes.
    """
    runs = model.runs
    try:
        graph = iris.model_graph(runs.host, runs.tag)
    except IdError as error:
        raise ModelInputError(
            f"a model of the tag {runs.tag!r} cannot be stored: {error}"
        ) from None
    triples = describe_model(model, iris, datetime.now(UTC))
    check_shapes(triples, twin)
    added = insertion(with_entailed({graph: triples}, iris))
    twin.update(f"{drop(iris, graph)} ;\n{added}")
    return iris.model(runs.host, runs.tag)


def graphs_of_models(twin: Endpoint, runs: Iterable[str]) -> list[URIRef]:
    """Return the graphs of the models that were fitted to any of these runs."""
    values = " ".join(f"<{run}>" for run in runs)
    rows = twin.select(
        f"""SELECT DISTINCT ?graph {{ VALUES ?run {{ {values} }}
          {stated(f"?model <{ST.modelledRun}> ?run")} }}"""
    ).values()
    return [URIRef(str(graph)) for (graph,) in rows]


def describe_model(model: RuntimeModel, iris: Iris, fitted: datetime) -> Triples:
    """Return all triples of a model's graph."""
    runs, held_out, triples = model.runs, model.held_out, Triples()
    terms = [*_terms(triples, iris, model)]
    inputs = [*_inputs(triples, iris, model)]
    when = Literal(fitted.isoformat(timespec="milliseconds"), datatype=XSD.dateTime)
    triples.node(
        iris.model(runs.host, runs.tag),
        ST.RuntimeModel,
        {
            ST.modelledTag: runs.tag,
            ST.ranOn: runs.host,
            ST.ofHost: iris.host(runs.host),
            PROV.generatedAtTime: when,
            ST.modelForm: model.form,
            ST.modelFormula: model.formula,
            ST.heldOutError: rounded(held_out.mean),
            ST.greatestHeldOutError: rounded(held_out.greatest),
            ST.heldOutCoverage: rounded(held_out.covered),
            ST.relativeDeviation: rounded(model.deviation),
            ST.modelledRun: [URIRef(run.iri) for run in runs.runs],
            ST.hasModelTerm: terms,
            ST.hasModelInput: inputs,
        },
        label=f"{runs.tag} on {runs.host}: {model.formula}",
    )
    return triples


def _terms(triples: Triples, iris: Iris, model: RuntimeModel) -> Iterator[URIRef]:
    for number, term in enumerate(model.terms, 1):
        part = iris.model(model.runs.host, model.runs.tag, "term", str(number))
        yield triples.node(part, ST.ModelTerm, {ST.termNumber: number, **_time(term)})


def _time(term: ModelTerm) -> Mapping[URIRef, str | Literal]:
    found = term.seconds
    return {
        ST.termFormula: term.text,
        ST.termTime: rounded(found.value),
        ST.termTimeLow: rounded(found.low or 0.0),
        ST.termTimeHigh: rounded(found.high or 0.0),
    }


def _inputs(triples: Triples, iris: Iris, model: RuntimeModel) -> Iterator[URIRef]:
    for name, (low, high) in model.runs.ranges.items():
        part = iris.model(model.runs.host, model.runs.tag, "input", name)
        about = {
            ST.inputName: name,
            ST.smallestInput: rounded(low),
            ST.greatestInput: rounded(high),
        }
        yield triples.node(part, ST.ModelInput, about)
