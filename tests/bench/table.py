"""The table that `make bench` prints."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured figure, its goal, and what it is set against.

    `beside` is the peer's or the limit's figure of the same run, in the same unit.
    """

    what: str
    value: float
    unit: str
    goal: float | None = None
    beside: float | None = None
    against: str = ""
    at_least: bool = False

    def row(self) -> tuple[str, ...]:
        ratio = f"{self.value / self.beside:.2f}" if self.beside else ""
        beside = f"{_number(self.beside)}" if self.beside is not None else ""
        sign = "≥" if self.at_least else "≤"
        goal = f"{sign} {_number(self.goal)}" if self.goal is not None else ""
        return (
            self.what,
            _number(self.value),
            self.unit,
            goal,
            beside,
            ratio,
            self.against,
        )


HEADER = ("what", "measured", "unit", "goal", "beside", "ratio", "set against")


def print_table(figures: list[Figure]) -> None:
    """A Markdown table, aligned."""
    for line in rows_of(figures):
        print(line)


def rows_of(figures: list[Figure]) -> list[str]:
    """The lines of the table."""
    rows = [HEADER, *(figure.row() for figure in figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * width for width in widths))
    return [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"
