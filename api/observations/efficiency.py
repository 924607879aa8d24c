"""Parallel efficiencies of a run, as its page shows them."""

from dataclasses import dataclass

from api.observations.figures import duration
from api.observations.search import Row, rows
from api.services import Services
from ontology.figures import figures

QUERY = "observations/pop"
_GROUPS = {
    "all": ("efficiency", "loadBalance", "communication"),
    "MPI": ("mpi", "mpiLoadBalance", "mpiCommunication"),
    "OpenMP": ("openmp", "openmpLoadBalance", "openmpCommunication"),
}


@dataclass(frozen=True)
class ParallelEfficiency:
    """The efficiencies of a run by group; each has three texts.

    ``missing`` says what is missing, and why.
    """

    ranks: str
    threads: str
    took: str
    groups: dict[str, list[str]]
    missing: str


async def find_efficiency(services: Services, iri: str) -> ParallelEfficiency | None:
    """Return the efficiencies of a run; None if they were not requested."""
    found = await rows(services, QUERY, {"id": iri})
    return _efficiency(found[0]) if found else None


def _efficiency(row: Row) -> ParallelEfficiency:
    known = {
        name: [figures(float(row[column]), 3) for column in columns]
        for name, columns in _GROUPS.items()
        if row[columns[0]] is not None
    }
    seconds = row["seconds"]
    return ParallelEfficiency(
        str(row["ranks"] or ""),
        str(row["threads"] or ""),
        duration(float(seconds)) if seconds is not None else "",
        known,
        str(row["missing"] or ""),
    )
