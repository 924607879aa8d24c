"""Describe claims: what each source says where sources disagree."""

from collections.abc import Collection

from rdflib import URIRef

from ingest.conflict_resolution.claims import Claim, Resolved
from ingest.describe.host import source_iri
from ingest.schema.schema import ProbeDocument
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST


def describe_resolved(
    triples: Triples, iris: Iris, host: str, resolved: Resolved, kinds: Collection[str]
) -> None:
    """Write the winning values of components of the given kinds.

    The components themselves are described by other modules.
    """
    for component, values in resolved.values.items():
        if component and component[0] in kinds:
            triples.link(iris.component(host, *component), values)


def describe_claims(
    triples: Triples,
    probe: Triples,
    iris: Iris,
    document: ProbeDocument,
    claims: list[Claim],
) -> None:
    """Describe the claims about things that have a description.

    The link to the claiming source goes to `probe`, since every probe has new sources.
    """
    host = document.host
    described = {subject for subject, _, _ in triples}
    for claim in claims:
        about = iris.component(host, *claim.component) if claim.component else None
        about = about or iris.host(host)
        if about in described and claim.source in document.sources:
            iri = _claim(triples, iris, host, claim, about)
            source = source_iri(iris, document, claim.source)
            probe.link(iri, {ST.claimedBy: source})


def _claim(
    triples: Triples, iris: Iris, host: str, claim: Claim, about: URIRef
) -> URIRef:
    name = str(claim.property).removeprefix(str(ST))
    parts = (*(claim.component or ("host",)), name, claim.source)
    iri = iris.component(host, "claim", ".".join(parts))
    triples.link(about, {ST.claims: iri})
    return triples.node(
        iri,
        ST.Claim,
        {
            ST.claimedProperty: claim.property,
            ST.claimedValue: claim.value,
            ST.claimWon: claim.won,
        },
    )
