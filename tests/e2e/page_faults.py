"""Roles that are measured by page faults, which the kernel counts without hardware."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.e2e.processor import OWN, PREFIX, known_processor
from tests.stack import Stack

PERF = "PERF_COUNT_SW_PAGE_FAULTS"


def _formula(stack: Stack, role: str, terms: Mapping[str, int]) -> str:
    """Return an update that defines a role of this machine by events of the kernel."""
    base = stack.base
    listed = "".join(
        f"""?formula st:hasTerm <{base}/role/T/{role}/{number}> .
        <{base}/role/T/{role}/{number}> a st:RoleTerm ; st:weight {weight}.0 ;
          st:countsEvent <{base}/pmu/perf/{event}> ."""
        for number, (event, weight) in enumerate(terms.items())
    )
    return f"""{PREFIX}INSERT {{ GRAPH <{base}/graph/roles> {{
      ?formula a st:RoleFormula ; st:measures <{base}/role/{role}> ;
        st:forModel ?core ; st:countScope "thread" ; st:citation "a test" .
      {listed} }} }} WHERE {{ {OWN}
      BIND (IRI(CONCAT("{base}/role/T/{role}/", ?name)) AS ?formula) }}"""


@contextmanager
def counted_by_page_faults(
    stack: Stack, formulas: Mapping[str, Mapping[str, int]]
) -> Iterator[None]:
    """Replace the formulas of some roles on this machine: events and their weights."""
    found = stack.sparql(
        f"""{PREFIX}SELECT DISTINCT ?formula ?role {{ {OWN}
        ?formula st:forModel ?core ; st:measures ?role . ?role st:roleName ?called .
        FILTER (?called IN ({", ".join(f'"{role}"' for role in formulas)})) }}"""
    )
    graph = f"GRAPH <{stack.base}/graph/roles>"
    theirs = " ".join(f"<{one}> st:measures <{role}> ." for one, role in found)
    stack.update(f"{PREFIX}DELETE DATA {{ {graph} {{ {theirs} }} }}")
    with known_processor(stack):
        for role, terms in formulas.items():
            stack.update(_formula(stack, role, terms))
        yield
    stack.update(
        f"""{PREFIX}DELETE {{ {graph} {{ ?s ?p ?o }} }} WHERE {{ {graph} {{ ?s ?p ?o }}
          FILTER (STRSTARTS(STR(?s), "{stack.base}/role/T/")) }} ;
        {PREFIX}INSERT DATA {{ {graph} {{ {theirs} }} }}""",
    )
