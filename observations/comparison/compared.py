"""A comparison as JSON, for the command line and over HTTP."""

from dataclasses import asdict
from typing import Any

from observations.comparison.compare import TEST
from observations.comparison.comparing import Comparison


def document(found: Comparison) -> dict[str, Any]:
    """Groups with their runs, measures with verdicts, and what else differs."""
    return {
        "groups": [
            {"name": group.name, "runs": [dict(run) for run in group.runs]}
            for group in found.groups
        ],
        "test": TEST,
        "tolerance": found.tolerance,
        "measures": [asdict(measure) for measure in found.measures],
        "differences": dict(found.differences),
    }


def plain(value: Any) -> Any:
    """Times and decimals as JSON has them."""
    return value.isoformat() if hasattr(value, "isoformat") else float(value)
