"""The roofline picture: lines of limits, and runs on as many threads as points."""

from dataclasses import replace

from core.stores.results import TermRows
from dashboards.questions import Answer, BoundQuery
from dashboards.rows import cells
from dashboards.spec import Panel, TableColumn, TableData

#: Operations per byte, in both tables.
X = "intensity"
#: Operations per second: of a line, and of a point.
LIMIT, RATE = "limit", "rate"
#: The columns of lines; rows with one name are a line.
LINES = ("threads", "name", X, LIMIT)
#: What points are coloured by.
KIND = "kind"
_POINTS = "benchmarks/points"


def points_question(host: str, lines: TermRows) -> BoundQuery:
    """The query of the points for the lines of a host, of which there are some."""
    threads = lines.records()[0]["threads"]
    return BoundQuery.of(_POINTS, {"host": host, "threads": threads})


def with_points(panel: Panel, question: BoundQuery, answer: Answer) -> Panel:
    """The panel of lines with its points, or with the reason why there are none."""
    if isinstance(answer, str):
        return replace(panel, why=(*panel.why, answer))
    if not panel.table:
        return panel
    units = {one.name: one.unit for one in panel.table.columns}
    units[RATE] = units[LIMIT]
    columns = tuple(
        TableColumn(name, name in (X, RATE), units[name] if name in (X, RATE) else None)
        for name in answer.columns
    )
    return replace(panel, points=TableData(columns, cells(answer), question.sparql))
