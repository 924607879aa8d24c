"""Markdown tables."""

from collections.abc import Sequence


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table of rows, first the header; all but the first column align right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 1) + ":" for w in widths) + "|")
    return "\n".join(lines)
