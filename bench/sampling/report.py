"""Output during the measurement, and the pages and plots of the full profile.

With a folder, a part's tables are ``NAME.md`` and its plots ``NAME-….svg``, next to its
results ``NAME.json``; ``sampling.md`` has the goals of all parts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.sampling.part import Part
from bench.sampling.profiles import Profile
from bench.sampling.results import Results, machine_text
from bench.table import Figure, rows_of

PAGE = "sampling.md"
_HEAD = """# Sampling: goals

Written by `make bench-sampling FORM=--full`. The page of each part, below, states the
commit and the machine of its figures, and
[benchmarks.md](../benchmarks.md#sampling) what is counted and how.
"""


class Report:
    """Prints results; with a folder, writes them as well."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    def say(self, line: str) -> None:
        """Print a line about progress."""
        print(line, flush=True)

    def results(self, part: Part[Any], profile: Profile) -> Results:
        """The saved steps of a part."""
        path = self._folder / f"{part.name}.json" if self._folder else None
        return Results(part, profile, path)

    def tell(self, part: Part[Any], results: Results) -> None:
        """Print and write a part's tables and plots, of the steps measured so far."""
        tables = {k: v for k, v in part.tables(results.found).items() if v}
        for title, body in tables.items():
            print(f"\n{title}\n\n{body}\n", flush=True)
        if self._folder:
            pictures = self._pictures(part, results.found)
            page = _page(part, results, tables, pictures)
            (self._folder / f"{part.name}.md").write_text(page)

    def goals(self, parts: Mapping[str, Sequence[Figure]]) -> None:
        """Print and write the goals of the measured parts."""
        figures = [figure for rows in parts.values() for figure in rows]
        if not figures:
            return
        table = "\n".join(rows_of(figures))
        print(f"\nGoals\n\n{table}\n", flush=True)
        if self._folder:
            links = "\n".join(f"- [{name}]({name}.md)" for name in parts)
            (self._folder / PAGE).write_text(f"{_HEAD}\n{table}\n\n{links}\n")

    def _pictures(self, part: Part[Any], found: Mapping[str, Any]) -> list[str]:
        assert self._folder
        plots = part.plots(found)
        for name, draw in plots.items():
            draw(self._folder / name)
        return list(plots)


def _page(
    part: Part[Any],
    results: Results,
    tables: Mapping[str, str],
    pictures: Sequence[str],
) -> str:
    head = (
        f"# {part.title}\n\nWritten by `make bench-sampling FORM=--full`; "
        "[benchmarks.md](../benchmarks.md#sampling) says what is counted and how.\n"
    )
    runs = "".join(map(_run, results.machines))
    bodies = [f"## {title}\n\n{body}\n" for title, body in tables.items()]
    return "\n".join([head, runs, *bodies, *(f"![{p}]({p})\n" for p in pictures)])


def _run(where: Mapping[str, Any]) -> str:
    steps = where["steps"]
    number = f"{steps} step{'s' if steps > 1 else ''}"
    times = f"{where['date']} to {where['until']}"
    return f"- {number}, {times}: {machine_text(where)}\n"
