"""The table that `make bench` prints."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured figure, its goal, and a figure to compare with.

    `versus` is the peer's or the limit's figure of the same run, in the same unit.
    """

    what: str
    value: float
    unit: str
    goal: float | None = None
    versus: float | None = None
    against: str = ""
    at_least: bool = False

    def row(self) -> tuple[str, ...]:
        ratio = f"{self.value / self.versus:.2f}" if self.versus else ""
        versus = f"{_number(self.versus)}" if self.versus is not None else ""
        sign = "≥" if self.at_least else "≤"
        goal = f"{sign} {_number(self.goal)}" if self.goal is not None else ""
        return (
            self.what,
            _number(self.value),
            self.unit,
            goal,
            versus,
            ratio,
            self.against,
        )


HEADER = ("what", "measured", "unit", "goal", "versus", "ratio", "set against")
# Fixed widths, because rows are printed before the next ones are known.
_WIDTHS = (72, 8, 4, 8, 8, 7, 11)


def print_rows(figures: Iterable[Figure]) -> None:
    """Print a Markdown table, each row as soon as its figure is measured."""
    print(_line(HEADER, _WIDTHS))
    print(_line(_rule(_WIDTHS), _WIDTHS), flush=True)
    for figure in figures:
        print(_line(figure.row(), _WIDTHS), flush=True)


def rows_of(figures: list[Figure]) -> list[str]:
    """The lines of the table, aligned."""
    rows = [HEADER, *(figure.row() for figure in figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, _rule(widths))
    return [_line(row, widths) for row in rows]


def _rule(widths: Sequence[int]) -> tuple[str, ...]:
    return tuple("-" * width for width in widths)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (c.ljust(w) for c, w in zip(row, widths, strict=True))
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"
