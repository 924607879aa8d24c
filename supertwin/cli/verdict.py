"""Verdicts on runs as text, and the option for their tolerance."""

import click

from observations.comparison.compare import DEFAULT_TOLERANCE, ComparisonVerdict
from ontology.figures import figures
from supertwin.cli.parameters import FiniteNumber

tolerance_option = click.option(
    "--tolerance",
    type=FiniteNumber(0, 100),
    default=100 * DEFAULT_TOLERANCE,
    show_default=True,
    help="Change in percent of the reference's mean that does not matter.",
)


def verdict_text(verdict: ComparisonVerdict) -> str:
    """Text such as ``worse: +12.5 % (+8.1 to +17 %), p = 0.003; tolerance ±5 %``."""
    tolerance = f"; tolerance ±{figures(100 * verdict.tolerance)} %"
    more = f"; {verdict.needed}" if verdict.needed else ""
    return f"{verdict.word}{_change(verdict)}{tolerance}{more}"


def _change(verdict: ComparisonVerdict) -> str:
    if verdict.change is None:
        return ""
    text = f": {100 * verdict.change:+.1f} %"
    if verdict.low is not None and verdict.high is not None:
        text += f" ({100 * verdict.low:+.1f} to {100 * verdict.high:+.1f} %)"
    return text if verdict.p is None else f"{text}, p = {figures(verdict.p, 3)}"
