"""Small dashboards in the neutral spec, made by hand."""

from collections.abc import Sequence

from dashboards.spec import (
    Component,
    Dashboard,
    Panel,
    PanelSeries,
    Picture,
    Section,
    TableColumn,
    TableData,
    Target,
    Unit,
)
from ontology.selectors import escaped

BASE = "http://localhost:8000"
HOST = "n1"
SHARE = Unit("FRACTION", "%", "percentunit", "none")
BYTES = Unit("BYTE", "B", "bytes", "binary")
NUMBER = Unit("UNITLESS", "", "short")
FLOPS = Unit("FLOPS", "FLOPS", "flops")
HOSTILE = "a$host ${host} [[host]] $__interval <b>*x*</b> _y_ \"q\" 'r' \\ , : `z`"


def series(
    instance: str | None,
    *,
    label: str = "",
    metric: str = "kernel.percpu.cpu.user",
    target: int = 0,
    group: str = "",
) -> PanelSeries:
    """A series of a thread."""
    return PanelSeries(
        label=label or f"thread {instance}",
        component=f"{BASE}/twin/{HOST}/thread/0",
        metric=metric,
        db_name=metric.replace(".", "_"),
        instname=instance,
        target=target,
        group=group,
    )


def target(name: str = "kernel.percpu.cpu.user", narrows: bool = False) -> Target:
    """An expression of all instances of a metric."""
    more = ',instname=~"$component"' if narrows else ""
    return Target(f'rate({name.replace(".", "_")}{{hostname="{HOST}"{more}}})', name)


def panel(
    *members: PanelSeries, picture: Picture = "timeseries", **given: object
) -> Panel:
    """A panel of these series; ``given`` sets more of its fields."""
    found = sorted({member.target for member in members})
    metrics = [next(m.metric for m in members if m.target == at) for at in found]
    narrows = bool(given.get("narrows"))
    fields: dict[str, object] = {
        "id": "busy",
        "title": "Busy threads",
        "description": "How busy each thread is.",
        "query": "monitor/threads",
        "picture": picture,
        "unit": SHARE,
        "series": members,
        "targets": tuple(target(metric, narrows) for metric in metrics),
    }
    return Panel(**(fields | given))  # type: ignore[arg-type]


def table_panel(query: str = "", **given: object) -> Panel:
    """A table of two disks; its query leaves the host open."""
    columns = (
        TableColumn("host"),
        TableColumn("size", True, BYTES),
        TableColumn("disk"),
    )
    rows = ((HOST, 5, f"{BASE}/twin/n1/disk/a"), (HOST, None, f"{BASE}/twin/n1/disk/b"))
    text = query or (
        "#+ title: Disks\nPREFIX st: <https://w3id.org/supertwin/ns#>\n"
        "SELECT ?host ?size ?disk WHERE {\n  VALUES (?host) { (UNDEF) }\n"
        "  ?disk st:isPartOf/st:hostname $host ; st:diskSize ?size .\n}\n"
    )
    fields: dict[str, object] = {
        "id": "disks",
        "title": "Disks",
        "description": "The disks.",
        "query": "inventory/disks",
        "picture": "table",
        "table": TableData(columns, rows, text),
    }
    return Panel(**(fields | given))  # type: ignore[arg-type]


def roofline_panel(**given: object) -> Panel:
    """A roofline with a roof, a peak and a run."""
    intensity, limit = (
        TableColumn("intensity", True, NUMBER),
        TableColumn("limit", True, FLOPS),
    )
    lines = (TableColumn("threads"), TableColumn("name"), intensity, limit)
    ends = ((2, "DRAM", 0.125, 0.5e9), (2, "DRAM", 8, 32e9), (2, "fma", 0.5, 32e9))
    rate = TableColumn("rate", True, FLOPS)
    points = (
        TableColumn("kind"),
        TableColumn("name"),
        intensity,
        rate,
        TableColumn("run"),
    )
    run = ("run", "./solver", 2, 4e9, f"{BASE}/observation/a")
    fields: dict[str, object] = {
        "id": "lines",
        "title": "Roofline",
        "description": "Roofs and runs.",
        "query": "benchmarks/lines",
        "picture": "roofline",
        "table": TableData(lines, (*ends, (2, "fma", 32, 32e9)), _select(lines)),
        "points": TableData(points, (run,), _select(points)),
    }
    return Panel(**(fields | given))  # type: ignore[arg-type]


def _select(columns: Sequence[TableColumn]) -> str:
    names = " ".join(f"?{one.name}" for one in columns)
    return f"SELECT {names} WHERE {{ VALUES ({names}) {{ }} }}"


def dashboard(
    *panels: Panel,
    host: str = HOST,
    name: str = "monitor",
    components: tuple[Component, ...] = (),
) -> Dashboard:
    """A dashboard with one section."""
    return Dashboard(
        name=name,
        title=name.capitalize(),
        host=host,
        base=BASE,
        sections=(Section("Socket 0", panels, f"{BASE}/twin/n1/socket/socket-0"),),
        hosts=(HOST, "n2"),
        components=components,
    )


def component(label: str, *instances: str) -> Component:
    """An entry of the drop-down."""
    return Component(label, label, f"{BASE}/twin/n1/core/0", instances)


def quoted(text: str) -> str:
    """A text as a string of MetricsQL."""
    return f'"{escaped(text)}"'
