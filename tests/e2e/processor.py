"""The PMU of this machine's processor, which libpfm4 may not know."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.stack import HOST, Stack

PREFIX = "PREFIX st: <https://w3id.org/supertwin/ns#> "
OWN = f"""?node st:hostname "{HOST}" . ?unit st:isPartOf ?node ; st:pmuModel ?core .
  ?core st:countScope "thread" ; st:pmuName ?name ."""


def why_no_role(stack: Stack) -> str:
    """Return why roles are unavailable where the kernel offers no counters."""
    if stack.sparql(f"{PREFIX}SELECT ?unit {{ {OWN} }}"):
        return "the kernel of this host does not offer this PMU"
    return "no PMU of this host's processor is known"


@contextmanager
def known_processor(stack: Stack) -> Iterator[None]:
    """Add a made-up PMU that can have roles if libpfm4 knows none of this processor."""
    graph, model = f"<{stack.base}/graph/made-up>", f"<{stack.base}/pmu/made-up>"
    stack.update(
        f"""{PREFIX}INSERT {{ GRAPH {graph} {{
          [] a st:Pmu ; st:pmuName "made-up" ; st:isPartOf ?host ; st:pmuModel {model} .
          {model} a st:PmuModel ; st:pmuName "made-up" ; st:countScope "thread" }} }}
        WHERE {{ ?host st:hostname "{HOST}" FILTER NOT EXISTS {{ {OWN} }} }}"""
    )
    yield
    stack.update(f"DROP SILENT GRAPH {graph}")
