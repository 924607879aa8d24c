"""`make coverage`: the share of lines and of branches that the tests reached."""

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from coverage import Coverage

# The names of two counts: all, and those that were reached.
_COUNTED = {
    "lines": ("num_statements", "covered_lines"),
    "branches": ("num_branches", "covered_branches"),
}


def main() -> None:
    """Print a line for each package and one for all."""
    by_package: dict[str, Counter[str]] = {}
    for path, file in _report()["files"].items():
        package = by_package.setdefault(Path(path).parts[0], Counter())
        for names in _COUNTED.values():
            package.update({name: file["summary"][name] for name in names})
    for package, counts in sorted(by_package.items()):
        print(f"{package:16}", _shares(counts))
    print(f"{'all':16}", _shares(sum(by_package.values(), Counter())))


def _report() -> dict[str, Any]:
    coverage = Coverage()
    coverage.load()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        coverage.json_report(outfile=file.name)
        found: dict[str, Any] = json.load(file)
    return found


def _shares(counts: Counter[str]) -> str:
    return ", ".join(
        f"{what} {100 * counts[reached] / max(counts[all_], 1):5.1f} % "
        f"({counts[reached]:,} of {counts[all_]:,})"
        for what, (all_, reached) in _COUNTED.items()
    )


if __name__ == "__main__":
    main()
