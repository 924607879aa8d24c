"""Observations as answers show them."""

from typing import TYPE_CHECKING, Any

from api.problems import ApiError
from ontology.iris import Iris

if TYPE_CHECKING:
    from observations.record import Run
    from supertwin.observing.session import Session


def shown(iris: Iris, session: "Session") -> dict[str, Any]:
    """One that runs, or ran lately."""
    asked = session.wish.asked
    return {
        "id": session.id,
        "host": asked.host,
        "command": asked.command,
        "state": session.state,
        "began": session.began,
        "repeat": session.wish.repeat,
        "runs": [
            _run(str(iris.observation(id_)), run)
            for id_, run in zip(session.ids, session.runs, strict=False)
        ],
        "events": len(session.events),
        "problem": session.problem or None,
    }


def refused(detail: str, status: int = 400) -> ApiError:
    """What cannot be run as it is asked for."""
    return ApiError(status, "bad-observation", "Cannot be run", detail)


def _run(node: str, run: "Run") -> dict[str, Any]:
    left = [one["name"] for one in (run.ended or {}).get("left_behind", [])]
    seconds = run.span.seconds
    return {"node": node, "outcome": run.outcome, "seconds": seconds, "left": left}
