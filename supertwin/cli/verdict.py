"""A verdict on runs, as a line has it."""

from observations.compare import Verdict


def verdict_text(verdict: Verdict) -> str:
    """Such as ``worse (+12.5 %), p = 0.003``."""
    change = "" if verdict.change is None else f" ({100 * verdict.change:+.1f} %)"
    sure = "" if verdict.p is None else f", p = {verdict.p:.3g}"
    return f"{verdict.word}{change}{sure}"
