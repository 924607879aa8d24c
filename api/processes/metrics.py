"""Finds PCP's metrics of processes in the graph."""

from rdflib import URIRef

from core.stores.fuseki import GraphStore
from ontology.iris import Iris
from ontology.terms import ST
from queries.terms import iri_term, text_term

_ANY = "proc.psinfo.pid"


async def process_metrics(
    store: GraphStore, iris: Iris, host: str
) -> tuple[str, list[tuple[str, URIRef]]]:
    """Return PCP's domain of processes, such as ``3.9``, and a host's metrics in it.

    Empty if the host has none, or nothing is known of its PMCD.
    """
    rows = await store.rows(
        f"""SELECT ?id ?name ?metric {{
          ?pid {iri_term(ST.samplerName)} {text_term(_ANY)} ;
               {iri_term(ST.instanceDomain)} ?domain .
          ?domain {iri_term(ST.domainId)} ?id .
          ?metric {iri_term(ST.instanceDomain)} ?domain ;
                  {iri_term(ST.samplerName)} ?name .
          {iri_term(iris.host(host))} {iri_term(ST.exposes)} ?metric
        }} ORDER BY ?name"""
    )
    found = [(row["name"].value, URIRef(row["metric"].value)) for row in rows]
    return (rows[0]["id"].value if rows else ""), found
