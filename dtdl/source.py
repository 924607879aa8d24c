"""The SPARQL that selects the triples for an export of a host."""

from ontology.iris import Iris
from ontology.terms import ST

_OBSERVES = f"<{ST.observes}>|<{ST.observesSoftware}>|<{ST.observesHardware}>"
_RUNS = f"<{ST.ObservationInterface}> <{ST.BenchmarkInterface}>"


def queries(iris: Iris, host: str) -> list[str]:
    """SELECTs of ``?s ?p ?o``: the host, its plans, its part of the catalogues, runs.

    Together they return the triples for `export`; some are returned twice. Runs that
    SuperTwin recorded are not part of a host: they are exported one by one.
    """
    twin, plans = iris.twin_graph(host), iris.plans_graph(host)
    node, metrics = iris.host(host), iris.metrics_graph
    return [
        f"SELECT ?s ?p ?o {{ GRAPH <{twin}> {{ ?s ?p ?o }} }}",
        f"SELECT ?s ?p ?o {{ GRAPH <{plans}> {{ ?s ?p ?o }} }}",
        f"""SELECT ?s ?p ?o {{
          {{ SELECT DISTINCT ?g {{ {_added_plan(node, plans)} }} }}
          GRAPH ?g {{ ?s ?p ?o }} }}""",
        f"""SELECT ?s ?p ?o {{
          {{ SELECT DISTINCT ?s {{ {_metrics(node, twin, plans)} }} }}
          GRAPH <{metrics}> {{ ?s ?p ?o }} }}""",
        f"""SELECT ?s ?p ?o {{
          {{ SELECT DISTINCT ?s {{ {_domains(node, twin, plans, metrics)} }} }}
          GRAPH <{metrics}> {{ ?s ?p ?o }} }}""",
        f"""SELECT ?s ?p ?o {{
          {{ SELECT DISTINCT ?s {{ GRAPH <{twin}> {{ ?pmu <{ST.pmuModel}> ?s }} }} }}
          GRAPH ?g {{ ?s ?p ?o }} }}""",
        f"""SELECT ?s ?p ?o {{
          {{ SELECT DISTINCT ?model {{
            GRAPH <{twin}> {{ ?pmu <{ST.pmuModel}> ?model }} }} }}
          GRAPH ?g {{ ?s <{ST.ofPmu}> ?model . ?s ?p ?o }} }}""",
        f"""SELECT ?s ?p ?o {{ VALUES ?kind {{ {_RUNS} }}
          GRAPH ?g {{ ?s <{ST.ofHost}> <{node}> ; a ?kind ; ?p ?o }}
          {_is_part("?s", node)} }}""",
        f"""SELECT ?s ?p ?o {{
          GRAPH ?g {{ ?run <{ST.ofHost}> <{node}> . ?s <{ST.ofBenchmark}> ?run ;
            ?p ?o }} {_is_part("?run", node)} }}""",
    ]


def _metrics(node: str, twin: str, plans: str, metric: str = "?s") -> str:
    return f"""{{ GRAPH <{twin}> {{ <{node}> <{ST.exposes}> {metric} }} }}
      UNION {{ GRAPH <{plans}> {{ ?plan <{ST.samples}>|<{ST.ofMetric}> {metric} }} }}
      UNION {{ {_added_plan(node, plans)}
        GRAPH ?g {{ ?plan <{ST.samples}> {metric} }} }}
      UNION {{ ?run <{ST.ofHost}> <{node}> ; {_OBSERVES} {metric}
        {_is_part("?run", node)} }}
      UNION {{ ?run <{ST.ofHost}> <{node}> .
        ?result <{ST.ofBenchmark}> ?run ; {_OBSERVES} {metric}
        {_is_part("?run", node)} }}"""


def _added_plan(node: str, plans: str) -> str:
    """Plans that were added to a host have graphs of their own."""
    return f"""?plan a <{ST.SamplingPlan}> ; <{ST.ofHost}> <{node}> .
      GRAPH ?g {{ ?plan <{ST.planName}> ?name }}
      FILTER (STRSTARTS(STR(?g), "{plans}/"))"""


def _is_part(run: str, node: str) -> str:
    return f'FILTER (STRSTARTS(STR({run}), "{node}/"))'


def _domains(node: str, twin: str, plans: str, metrics: str) -> str:
    known = _metrics(node, twin, plans, "?metric")
    return f"""{{ GRAPH <{twin}> {{ <{node}> <{ST.resolvesAtFetch}> ?s }} }}
      UNION {{ GRAPH <{twin}> {{ ?instance <{ST.inInstanceDomain}> ?s }} }}
      UNION {{ {{ SELECT DISTINCT ?metric {{ {known} }} }}
        GRAPH <{metrics}> {{ ?metric <{ST.instanceDomain}> ?s }} }}"""
