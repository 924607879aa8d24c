"""The ``panel:`` header of a saved query: how and where its rows are drawn."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, get_args

from dashboards.errors import PanelError, UnitError
from dashboards.roofline import LIMIT, LINES, X
from dashboards.spec import SERIES_PICTURES, Picture, TableColumn, Unit
from dashboards.units import drawn_unit
from queries.catalogue import SavedQuery

SERIES_COLUMNS = (
    "host",
    "component",
    "label",
    "metric",
    "dbName",
    "instname",
    "semantics",
    "unit",
)
SERIES = "$series"
COMPONENT = "$component"

GRID = 24
_PICTURES: tuple[Picture, ...] = get_args(Picture)
# The limit of an axis; JSON has neither infinity nor NaN.
_LARGEST = 1e300
_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")
# Keys for the position of a panel, used even if other keys are wrong.
_PLACE = ("dashboard", "position", "section", "title", "width", "height")


@dataclass(frozen=True)
class PanelHeader:
    """One picture of the rows of a saved query.

    ``metrics`` are patterns of PCP names: rows of other metrics are not drawn, and
    missing metrics are explained. ``unit`` is the QUDT unit of ``expression``'s values,
    if the header has one. ``columns`` are the numeric columns of a table. ``problem``
    describes an error in the header; then only the position is read from it
    (``dashboard`` is empty if not even that was possible).
    """

    saved: SavedQuery
    dashboard: str
    position: int
    section: str
    picture: Picture
    title: str
    description: str
    metrics: tuple[str, ...]
    expression: str
    unit: str
    minimum: float | None
    maximum: float | None
    stack: bool
    split: bool
    width: int
    height: int
    empty: str
    columns: Mapping[str, Unit]
    problem: str = ""

    @property
    def draws_series(self) -> bool:
        """Whether its picture is drawn from series of the store."""
        return self.picture in SERIES_PICTURES

    @property
    def draws_roofline(self) -> bool:
        """Whether its rows are lines of a roofline, whose points are runs."""
        return self.picture == "roofline"

    @property
    def needs_host(self) -> bool:
        """Whether its picture shows one host."""
        return self.draws_series or self.draws_roofline

    @property
    def table_columns(self) -> tuple[TableColumn, ...]:
        """The columns of its table, as the query returns them."""
        return tuple(
            TableColumn(name, name in self.columns, self.columns.get(name))
            for name in self.saved.returns
        )


def read_panels(saved: SavedQuery) -> tuple[PanelHeader, ...]:
    """The panels of a saved query; a wrong header becomes a panel's ``problem``."""
    return tuple(_read(saved, keys) for keys in saved.panels)


def read_panel(saved: SavedQuery, keys: Mapping[str, Any]) -> PanelHeader:
    """Draw a saved query with other keys; wrong keys become its ``problem``."""
    return _read(saved, keys)


def _read(saved: SavedQuery, keys: Mapping[str, Any]) -> PanelHeader:
    try:
        header = _Keys(saved, keys).header()
        _check(header)
    except (PanelError, UnitError) as error:
        return _broken(saved, keys, f"queries/{saved.name}.rq: panel: {error}")
    return header


def _broken(saved: SavedQuery, keys: Mapping[str, Any], problem: str) -> PanelHeader:
    """A panel that shows the error, as near to its position as the header allows."""
    nowhere = {"dashboard": "unknown", "picture": "table"}
    sound: dict[str, Any] = {}
    for key in (key for key in _PLACE if key in keys):
        tried = {**sound, key: keys[key]}
        with suppress(PanelError):
            _Keys(saved, {**nowhere, **tried}).header()
            sound = tried
    header = _Keys(saved, {**nowhere, **sound}).header()
    return replace(header, problem=problem, dashboard=sound.get("dashboard", ""))


class _Keys:
    """Reads the keys of one header and checks the type of each."""

    def __init__(self, saved: SavedQuery, keys: Mapping[str, Any]) -> None:
        self._saved = saved
        self._keys = dict(keys)

    def header(self) -> PanelHeader:
        """Read and check all keys; keys that are not fields are errors."""
        known = PanelHeader.__dataclass_fields__.keys() - {"saved", "problem"}
        unknown = [str(key) for key in self._keys if key not in known]
        if unknown:
            names = ", ".join(sorted(known))
            raise PanelError(f"unknown keys {', '.join(unknown)}; known: {names}")
        return PanelHeader(
            saved=self._saved,
            dashboard=self._dashboard(),
            position=self._integer("position", 1000, 0, 9999),
            section=self._text("section", "Overview"),
            picture=self._picture(),
            title=self._text("title", self._saved.title),
            description=self._text("description", self._saved.description),
            metrics=self._names("metrics"),
            expression=self._text("expression", ""),
            unit=self._text("unit", ""),
            minimum=self._number("minimum"),
            maximum=self._number("maximum"),
            stack=self._flag("stack", default=False),
            split=self._flag("split", default=True),
            width=self._integer("width", 12, 1, GRID),
            height=self._integer("height", 8, 2, 40),
            empty=self._text("empty", "the twin has no data about this"),
            columns=self._columns(),
        )

    def _dashboard(self) -> str:
        name = self._text("dashboard", "")
        if not _NAME.fullmatch(name):
            raise PanelError(
                f"dashboard must be a name such as monitor, not {name[:60]!r}"
            )
        return name

    def _picture(self) -> Picture:
        value = self._keys.get("picture")
        for picture in _PICTURES:
            if value == picture:
                return picture
        raise PanelError(f"picture must be one of {', '.join(_PICTURES)}")

    def _text(self, key: str, default: str) -> str:
        value = self._keys.get(key, default)
        if not isinstance(value, str) or (not value.strip() and key in self._keys):
            raise PanelError(f"{key} must be a text")
        return value.strip()

    def _names(self, key: str) -> tuple[str, ...]:
        value = self._keys.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise PanelError(f"{key} must be a list of names")
        return tuple(value)

    def _integer(self, key: str, default: int, least: int, most: int) -> int:
        value = self._keys.get(key, default)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not least <= value <= most:
            raise PanelError(f"{key} must be a whole number from {least} to {most}")
        return int(value)

    def _number(self, key: str) -> float | None:
        value = self._keys.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise PanelError(f"{key} must be a number")
        if not -_LARGEST <= value <= _LARGEST:
            raise PanelError(f"{key} must be a number of at most {_LARGEST:g}")
        return float(value)

    def _flag(self, key: str, *, default: bool) -> bool:
        value = self._keys.get(key, default)
        if not isinstance(value, bool):
            raise PanelError(f"{key} must be true or false")
        return value

    def _columns(self) -> dict[str, Unit]:
        value = self._keys.get("columns", {})
        if not isinstance(value, dict):
            raise PanelError("columns must be a mapping such as {size: BYTE}")
        return {
            str(name): _column_unit(str(name), unit) for name, unit in value.items()
        }


def _column_unit(name: str, qudt: Any) -> Unit:
    unit, scale = drawn_unit(str(qudt))
    if scale != 1:
        raise PanelError(
            f"column {name}: a table shows values as they are, so its unit must be "
            f"{unit.qudt}, not {qudt}"
        )
    return unit


def _check(header: PanelHeader) -> None:
    """Check the keys in combination."""
    if header.saved.form != "select":
        raise PanelError("only a SELECT can be drawn")
    if header.draws_series:
        _check_series(header)
    else:
        _check_table(header)
    if header.draws_roofline:
        _check_roofline(header)
    low, high = header.minimum, header.maximum
    if low is not None and high is not None and low >= high:
        raise PanelError("minimum must be less than maximum")


def _check_series(header: PanelHeader) -> None:
    lacking = [name for name in SERIES_COLUMNS if name not in header.saved.returns]
    if lacking:
        raise PanelError(
            f"picture {header.picture} needs the columns {', '.join(lacking)} as well"
        )
    if "host" not in header.saved.params:
        raise PanelError("needs the parameter host: a picture shows one host")
    if header.columns:
        raise PanelError("columns are for tables")
    if header.unit:
        drawn_unit(header.unit)
    if header.expression and not header.unit:
        raise PanelError("expression needs a unit: state the unit of its values")
    if header.expression and SERIES not in header.expression:
        raise PanelError(f"expression must hold {SERIES}")


def _check_roofline(header: PanelHeader) -> None:
    lacking = [name for name in LINES if name not in header.saved.returns]
    if lacking:
        raise PanelError(f"a roofline needs the columns {', '.join(lacking)} as well")
    if "host" not in header.saved.params:
        raise PanelError("needs the parameter host: a roofline shows one host")
    if {*header.columns} != {X, LIMIT}:
        raise PanelError(f"columns must state the units of {X} and {LIMIT}")


def _check_table(header: PanelHeader) -> None:
    unknown = [name for name in header.columns if name not in header.saved.returns]
    if unknown:
        raise PanelError(
            f"columns names {', '.join(unknown)}, which it does not return"
        )
    needless = [
        key
        for key in ("metrics", "expression", "unit", "stack", "minimum", "maximum")
        if getattr(header, key) or isinstance(getattr(header, key), float)
    ]
    if needless:
        raise PanelError(f"{', '.join(needless)}: not for tables")
