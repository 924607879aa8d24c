"""Divides a request into passes, and checks the passes that have run."""

from collections.abc import Sequence
from dataclasses import replace

from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.errors import PassFailedError
from observations.record import Outcome, RunRequest
from observations.session.repetition import Repetition
from sampling.counters.passes import plan_passes

_ENDED = {
    Outcome.FAILED: "failed",
    Outcome.KILLED: "was killed",
    Outcome.TIMED_OUT: "timed out",
    Outcome.BROKE_OFF: "broke off",
    Outcome.CANCELLED: "was cancelled",
}


def in_passes(
    settings: Settings, run_request: RunRequest, most: int | None
) -> RunRequest:
    """Return a request with passes; unchanged if all events fit the counters.

    ``most``: the greatest number of events of a pass. Raises PerfeventError.
    """
    spec = run_request.spec
    with dataset(settings, "twin") as twin:
        found = plan_passes(twin, spec.host, spec.roles, spec.events, most)
    if len(found.passes) < 2:
        return run_request
    with_passes = replace(spec, passes=found.passes, common=found.common)
    return replace(run_request, spec=with_passes)


def earlier_passes(run: Repetition, runs: Sequence[Repetition]) -> list[Repetition]:
    """Return the other passes of a round if a run is its last one and completed."""
    spec = run.run_request.spec
    if not spec.is_last_pass or run.result.outcome is not Outcome.COMPLETED:
        return []
    last = [one.id for one in runs].index(run.id)
    return [*runs[last + 1 - len(spec.passes) : last]]


def check_completed(run: Repetition) -> None:
    """Raise PassFailedError if a pass did not complete."""
    spec, outcome = run.run_request.spec, run.result.outcome
    if outcome is not Outcome.COMPLETED:
        raise PassFailedError(
            f"pass {spec.pass_number} of {len(spec.passes)} {_ENDED[outcome]}: the "
            "passes after it were not run, so their figures are missing"
        )
