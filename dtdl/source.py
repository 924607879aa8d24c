"""The SPARQL that finds what an export of a host says."""

from ontology.iris import Iris
from ontology.terms import ST

_RUNS = f"VALUES ?kind {{ <{ST.ObservationInterface}> <{ST.BenchmarkInterface}> }}"


def queries(iris: Iris, host: str) -> list[str]:
    """SELECTs of ``?s ?p ?o``: the host, its plans, its part of the catalogues, runs.

    Together they are the triples that `export` takes; some come twice.
    """
    twin, plans = iris.twin_graph(host), iris.plans_graph(host)
    node, metrics = iris.host(host), iris.metrics_graph
    return [
        f"SELECT ?s ?p ?o {{ GRAPH <{twin}> {{ ?s ?p ?o }} }}",
        f"SELECT ?s ?p ?o {{ GRAPH <{plans}> {{ ?s ?p ?o }} }}",
        f"""SELECT ?s ?p ?o {{
          {{ SELECT DISTINCT ?s {{ {_metrics(node, twin, plans)} }} }}
          GRAPH <{metrics}> {{ ?s ?p ?o }} }}""",
        f"""SELECT ?s ?p ?o {{
          {{ SELECT DISTINCT ?d {{ {_domains(node, twin, plans, metrics)} }} }}
          GRAPH <{metrics}> {{ ?d ?p ?o }} BIND(?d AS ?s) }}""",
        f"""SELECT ?s ?p ?o {{
          {{ SELECT DISTINCT ?model {{
            GRAPH <{twin}> {{ ?pmu <{ST.pmuModel}> ?model }} }} }}
          {{ BIND(?model AS ?s) GRAPH ?g {{ ?s ?p ?o }} }}
          UNION {{ GRAPH ?g {{ ?s <{ST.ofPmu}> ?model . ?s ?p ?o }} }} }}""",
        f"""SELECT ?s ?p ?o {{
          {{ SELECT DISTINCT ?g {{ {_RUNS}
            GRAPH ?g {{ ?run <{ST.ofHost}> <{node}> ; a ?kind }} }} }}
          GRAPH ?g {{ ?s ?p ?o }} }}""",
    ]


def _metrics(node: str, twin: str, plans: str) -> str:
    return f"""{{ GRAPH <{twin}> {{ <{node}> <{ST.exposes}> ?s }} }}
      UNION {{ GRAPH <{plans}> {{ ?plan <{ST.samples}>|<{ST.ofMetric}> ?s }} }}
      UNION {{ ?run <{ST.ofHost}> <{node}> ; <{ST.observes}> ?s }}"""


def _domains(node: str, twin: str, plans: str, metrics: str) -> str:
    return f"""{{ GRAPH <{twin}> {{ <{node}> <{ST.resolvesAtFetch}> ?d }} }}
      UNION {{ GRAPH <{twin}> {{ ?i <{ST.inInstanceDomain}> ?d }} }}
      UNION {{ {{ SELECT DISTINCT ?m {{ {
        _metrics(node, twin, plans).replace("?s", "?m")
    } }} }}
        GRAPH <{metrics}> {{ ?m <{ST.instanceDomain}> ?d }} }}"""
