"""The neutral description of a dashboard, which both renderers draw from.

Nothing here knows Grafana, HTML or a store: a panel names its saved query, the kind of
its picture, the unit of its values, and either its series or its table.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ontology.selectors import pattern

Picture = Literal["timeseries", "heatmap", "stat", "bars", "table"]
SERIES_PICTURES = ("timeseries", "heatmap", "stat", "bars")

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Unit:
    """What a value is measured in, from QUDT, as each renderer names it.

    ``qudt`` is the unit's local name (``BYTE-PER-SEC``), ``grafana`` Grafana's id of
    it, ``symbol`` what stands behind a number, ``prefixes`` which prefixes it takes:
    ``binary`` (1024), ``decimal`` (1000), ``metric`` (1000, small ones too), ``parts``
    (small ones alone, as of seconds), or ``none``.
    """

    qudt: str
    symbol: str
    grafana: str
    prefixes: Literal["binary", "decimal", "metric", "parts", "none"] = "decimal"


@dataclass(frozen=True)
class Series:
    """One line of a picture: a series of the store, and the component it speaks of.

    ``target`` is the index of the panel's expression that gives it; within that
    expression ``instname`` tells it from the others (None: it is the only one).
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
    """One MetricsQL expression; each of its results is told by the label instname.

    ``expression`` may hold ``$component``, a regular expression of instnames, where the
    panel can be narrowed to a component; ``.*`` stands for all.
    """

    expression: str
    metric: str


@dataclass(frozen=True)
class Column:
    """One column of a table; ``numeric`` ones have a unit, or count."""

    name: str
    numeric: bool = False
    unit: Unit | None = None


@dataclass(frozen=True)
class Table:
    """A saved query's answer: cells in the order of the columns, IRIs as text.

    ``query`` is the saved query with the parameters bound, which gives these rows.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    query: str


@dataclass(frozen=True)
class Panel:
    """One picture, made from one saved query.

    ``id`` is stable, and made of [a-z0-9-]. ``series`` stand in the order in which they
    are drawn. ``minimum`` and ``maximum`` are the ends of the axis; ``greatest`` is
    what values cannot exceed where there is no maximum (None: nobody knows). ``why``
    says, line by line, why something is not there: a metric that the host lacks, or for
    an empty panel why it is empty. ``problem`` is the one line of a saved query that
    failed; the panel then has nothing else.
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
    series: tuple[Series, ...] = ()
    table: Table | None = None
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
    """A choice of the component drop-down: the instnames of the threads below it."""

    id: str
    label: str
    iri: str
    instances: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """A regular expression that finds these instances and no others."""
        return pattern(self.instances)


@dataclass(frozen=True)
class Dashboard:
    """Everything that is drawn of one host, or (host empty) of all of them.

    ``given`` are values for parameters of its saved queries, besides the host.
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
        """As plain dictionaries and lists, for JSON."""
        return asdict(self)
