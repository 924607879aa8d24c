"""The control groups that the scope of a request shows."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from core.stores.fuseki import GraphStore
from ontology.terms import PREFIXES

_QUERY = f"""PREFIX st: <{PREFIXES["st"]}>
SELECT DISTINCT ?host ?path {{
  ?group a st:Cgroup ; st:cgroupPath ?path ; st:ofHost/st:hostname ?host
}}"""


async def visible_groups(graph: GraphStore) -> Mapping[str, Sequence[str]]:
    """Return the paths of the groups by host; raises EndpointError."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in await graph.rows(_QUERY):
        found[row["host"].value].append(row["path"].value)
    return found
