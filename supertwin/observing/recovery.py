"""What an API that was killed left: runs that nobody recorded, and their plans."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingest.errors import PlanRequestError
from observations.record import Asked
from supertwin import sampling
from supertwin.loading import dataset
from supertwin.observing.marks import Mark
from supertwin.observing.meanwhile import Meanwhile, plan_of, planned
from supertwin.observing.repetition import EVENTS, RECORDED, WISH, Repetition
from supertwin.observing.wish import Wish
from supertwin.settings import Settings

_LOG = logging.getLogger(__name__)

_WHY = "SuperTwin was stopped while it ran"


def recover(settings: Settings) -> None:
    """Record what began and is not recorded, and end what was sampled for it."""
    left = list(_left(settings.home / "observations"))
    for run in left:
        try:
            _record(settings, run)
        except Exception:
            _LOG.exception("observation %s is not recorded", run.id)
    for host, plan in {(r.wish.asked.host, _plan(r)) for r in left}:
        try:
            sampling.remove(settings, host, plan, _LOG.debug)
        except PlanRequestError:  # nothing was sampled, or it is gone already
            continue
        except Exception:
            _LOG.exception("plan %s of %s is left", plan, host)


def _left(folder: Path) -> Iterator[Repetition]:
    """Runs that began and are not recorded."""
    for path in sorted(folder.glob("*/")):
        if (path / RECORDED).exists():
            continue
        try:
            wish = json.loads((path / WISH).read_text("utf-8"))
            lines = (path / EVENTS).read_text("utf-8").splitlines()
            events = [json.loads(line) for line in lines]
        except (OSError, ValueError):
            continue
        if events and events[0]["event"] == "started":
            asked = _asked(wish)
            yield Repetition(path.name, Wish(asked), path, Mark(), events=events)


def _asked(wish: dict[str, Any]) -> Asked:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in wish.items()
    }
    return Asked(**values)


def _plan(run: Repetition) -> str:
    return plan_of(run.wish.asked.group or run.id)


def _record(settings: Settings, run: Repetition) -> None:
    asked = run.wish.asked
    with dataset(settings, "twin") as twin:
        metrics = planned(twin, asked.host, _plan(run))
    meanwhile = Meanwhile(settings, asked, metrics)
    run.record(settings, meanwhile, "" if run.is_over else _WHY)
