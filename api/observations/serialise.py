"""Observations as JSON answers."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import ApiError, api_error, error_code
from observations.errors import UnknownRunError
from observations.hot_loops import table as loop_table
from observations.hot_loops.analysis import analyse_loops
from observations.pop.analysis import analyse
from observations.pop.table import table, trace_line
from observations.profiles.profile import ProfileKind, profile_of
from observations.profiles.table import profile_table
from observations.regions.regions import regions_of
from observations.regions.table import table as region_table
from ontology.iris import Iris

if TYPE_CHECKING:
    from observations.record import Run
    from observations.session.run_session import RunSession


def session_document(iris: Iris, session: "RunSession") -> dict[str, Any]:
    """Return the state of a session that runs or ended recently."""
    spec, problem = session.run_request.spec, session.status.problem
    return {
        "id": session.id,
        "host": spec.host,
        "command": spec.command,
        "cpus": [*spec.cpus],
        "state": "over" if session.state.is_over else "running",
        "began": session.began,
        "elapsed": round((session.ended or time.time()) - session.began, 3),
        "repeat": spec.repeat,
        "runs": [
            _run(str(iris.observation(id_)), run)
            for id_, run in zip(session.repetitions.ids, session.runs, strict=False)
        ],
        "events": session.repetitions.event_count,
        "problem": str(problem) if problem else None,
        "errorCode": error_code(problem) if problem else None,
        "notes": session.notes,
    }


def recorded(iris: Iris, home: Path, session: "RunSession") -> list[str]:
    """Return the IRIs of the session's runs that are recorded already."""
    from observations.session.repetition import RECORDED

    folder = home / "observations"
    ids = session.repetitions.ids
    done = (id_ for id_ in ids if (folder / id_ / RECORDED).exists())
    return [str(iris.observation(id_)) for id_ in done]


def refused(detail: str) -> ApiError:
    """Return the error for a request that cannot be run."""
    return ApiError(400, "bad-observation", "The request for a run is invalid", detail)


def not_running(id_: str) -> ApiError:
    """404 for a session that the run manager does not know, or has forgotten."""
    detail = (
        f"no observation {id_[:80]} is running or ended recently; /observations lists "
        "those that are recorded"
    )
    return api_error(UnknownRunError(detail))


def _profile_lines(run: "Run") -> Iterator[str]:
    if run.profile:
        yield from profile_table(profile_of(run.profile))
        if run.profile.get("off_cpu"):
            yield from profile_table(profile_of(run.profile, ProfileKind.OFF_CPU))


def _run(node: str, run: "Run") -> dict[str, Any]:
    left = [one["name"] for one in (run.ended or {}).get("left_behind", [])]
    seconds = run.span.seconds
    pop = [*table(analyse(run.pop)), *trace_line(run.pop)] if run.pop else []
    loops = loop_table.table(analyse_loops(run.hot_loops)) if run.hot_loops else []
    regions = region_table(regions_of(run.regions), seconds) if run.regions else []
    return {
        "node": node,
        "outcome": run.outcome,
        "seconds": seconds,
        "left": left,
        "pop": pop,
        "hotLoops": loops,
        "profile": list(_profile_lines(run)),
        "regions": regions,
    }
