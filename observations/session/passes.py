"""Divides a request into passes, by the counters of its host."""

from dataclasses import replace

from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.record import RunRequest
from sampling.counters.passes import plan_passes


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
