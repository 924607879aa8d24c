"""A comparison as JSON, for the command line and the API."""

from dataclasses import asdict
from typing import Any

from observations.comparison.compare import TEST
from observations.comparison.comparing import RunComparison


def document(found: RunComparison) -> dict[str, Any]:
    """Return groups with their runs, measures with verdicts, and other differences."""
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
    """Convert times and decimals to JSON values."""
    return value.isoformat() if hasattr(value, "isoformat") else float(value)
