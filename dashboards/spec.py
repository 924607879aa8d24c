"""The neutral description of a dashboard, used by both renderers.

It is independent of Grafana, HTML and the store: a panel names its saved query, the
kind of its picture, the unit of its values, and either its series or its table.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ontology.selectors import pattern

Picture = Literal["timeseries", "heatmap", "stat", "bars", "roofline", "table"]
SERIES_PICTURES = ("timeseries", "heatmap", "stat", "bars")

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Unit:
    """A unit of values, from QUDT, with its names in each renderer.

    ``qudt`` is the unit's local name (``BYTE-PER-SEC``), ``grafana`` Grafana's id of
    it, ``symbol`` the text after a number, ``prefixes`` the prefixes that it takes:
    ``binary`` (1024), ``decimal`` (1000), ``metric`` (1000, also small ones), ``parts``
    (only small ones, as for seconds), or ``none``.
    """

    qudt: str
    symbol: str
    grafana: str
    prefixes: Literal["binary", "decimal", "metric", "parts", "none"] = "decimal"


@dataclass(frozen=True)
class PanelSeries:
    """One line of a picture: a series of the store, and its component.

    ``target`` is the index of the panel's expression that returns it; ``instname``
    identifies it within that expression (None if it is the only one).
    """

    label: str
    component: str
    metric: str
    db_name: str
    instname: str | None
    target: int
    group: str = ""


@dataclass(frozen=True)
class Target:
    """One MetricsQL expression; the label instname identifies each of its results.

    ``expression`` may contain ``$component``, a regular expression of instnames, if the
    panel can be narrowed to a component; ``.*`` means all.
    """

    expression: str
    metric: str


@dataclass(frozen=True)
class TableColumn:
    """One column of a table; a ``numeric`` one has a unit, or counts."""

    name: str
    numeric: bool = False
    unit: Unit | None = None


@dataclass(frozen=True)
class TableData:
    """A saved query's answer: cells in the order of the columns, IRIs as text.

    ``query`` is the saved query with its parameters bound, which returns these rows.
    """

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    query: str


@dataclass(frozen=True)
class Panel:
    """One picture, made from one saved query.

    ``id`` is stable and consists of [a-z0-9-]. ``series`` are in drawing order.
    ``minimum`` and ``maximum`` are the ends of the axis; ``greatest`` is the upper
    limit of the values if there is no maximum (None if unknown). ``table`` holds the
    lines of a roofline, and ``points`` its runs. ``why`` explains line by line what is
    missing: a metric that the host lacks, or why the panel is empty. ``problem`` is the
    one-line error of a failed saved query; the panel then has no other content.
    """

    id: str
    title: str
    description: str
    query: str
    picture: Picture
    unit: Unit | None = None
    minimum: float | None = None
    maximum: float | None = None
    greatest: float | None = None
    stack: bool = False
    width: int = 12
    height: int = 8
    narrows: bool = False
    targets: tuple[Target, ...] = ()
    series: tuple[PanelSeries, ...] = ()
    table: TableData | None = None
    points: TableData | None = None
    why: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Section:
    """A row of a dashboard: a socket, a NUMA domain, or a subject such as memory."""

    title: str
    panels: tuple[Panel, ...]
    component: str = ""


@dataclass(frozen=True)
class Component:
    """An option of the component drop-down: the instnames of the threads below it."""

    id: str
    label: str
    iri: str
    instances: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """A regular expression that matches exactly these instances."""
        return pattern(self.instances)


@dataclass(frozen=True)
class Dashboard:
    """Everything drawn of one host, or of all hosts if ``host`` is empty.

    ``given`` are values for parameters of its saved queries other than the host.
    """

    name: str
    title: str
    host: str
    base: str
    sections: tuple[Section, ...]
    hosts: tuple[str, ...] = ()
    components: tuple[Component, ...] = field(default=())
    given: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The dashboard as plain dictionaries and lists, for JSON."""
        return asdict(self)
