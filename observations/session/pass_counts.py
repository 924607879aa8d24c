"""What passes counted, by the readings before and after each, and how they agree."""

from observations.passes import MOST_SPREAD, PassCounts
from observations.record import PassAgreement, RunSpec, Summary
from observations.session.counter_snapshots import Key, RunSnapshots
from observations.session.repetition import Repetition
from observations.statistics import Statistics
from ontology.figures import figures
from sampling.events.event import is_counter, is_dutycycle


def counts_of(run: Repetition) -> PassCounts:
    """Return the counts of a pass that has run, without its samples."""
    result, snapshots = run.result, run.snapshots
    keys = [key for key in snapshots.after.values if is_counter(key[0])]
    series = {key: _summary(key, snapshots) for key in keys}
    usage = (result.ended or {}).get("rusage")
    cpu = usage and usage["user_seconds"] + usage["system_seconds"]
    number = run.run_request.spec.pass_number
    return PassCounts(number, result.span.seconds, cpu, series)


def _summary(key: Key, snapshots: RunSnapshots) -> Summary:
    metric, instance = key
    if is_dutycycle(metric):
        figures = Statistics(0, median=snapshots.after.values[key])
    else:
        growth = snapshots.growth(key)
        total, covered = (growth.total, growth.seconds) if growth else (None, None)
        figures = Statistics(0, total=total, covered=covered)
    return Summary(metric, "", instance, figures)


def describe_passes(spec: RunSpec) -> list[str]:
    """Say what each pass counts, a line each."""
    return [
        f"pass {number} of {len(spec.passes)} counts {', '.join((*roles, *events))}"
        for number, (roles, events) in enumerate(spec.passes, 1)
    ]


def describe_agreement(spec: RunSpec, found: PassAgreement) -> list[str]:
    """Say how well the passes of a round agree, and warn if they differ too much."""
    parts = {
        "wall time": found.duration,
        "CPU time": found.cpu_time,
        spec.common: found.event,
    }
    shown = ", ".join(
        f"{k} {figures(v, 2)} %" for k, v in parts.items() if v is not None
    )
    where = f" of round {spec.repetition}" if spec.repeat > 1 else ""
    lines = [f"the {len(spec.passes)} passes{where} differ by: {shown}"]
    largest = f"{figures(found.largest, 2)} %"
    if found.largest > MOST_SPREAD:
        lines.append(
            f"figures of several passes{where} are uncertain by {largest}, "
            f"more than {MOST_SPREAD:g} %: bind the command to free CPUs (--pin), or "
            "give it more work"
        )
    return lines
