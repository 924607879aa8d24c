"""The roofline model as CSV, and its drawing as PNG."""

import csv
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.drawing import svg
from benchmarks.errors import PngError
from benchmarks.roofline import Peak, Roof, Roofline
from ingest.errors import ProbeSourceError
from ingest.sources.tool import run_tool

COLUMNS = (
    "kind",
    "name",
    "intensity (FLOP/B)",
    "rate",
    "unit",
    "theory",
    "limit",
    "share of limit",
    "moves",
    "traffic",
    "time",
    "concern",
    "iri",
)
_FLOPS, _BYTES = "FLOP/s", "B/s"
_SECONDS = 20.0
# Pixels: twice the width of the drawing.
_PNG_WIDTH = "1720"


def csv_table(model: Roofline) -> str:
    """Return a row for each roof, ridge point, peak and run, with its unit."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(_rows(model))
    return text.getvalue()


def _rows(model: Roofline) -> Iterator[dict[str, object]]:
    for roof in model.roofs:
        row = _row("roof", roof.level, roof.bandwidth, _BYTES, iri=roof.result)
        yield row | _about(roof)
    for roof in model.roofs:
        row = _row("ridge", roof.level, model.peaks[0].rate, _FLOPS, iri=roof.result)
        yield row | {"intensity (FLOP/B)": model.ridge(roof)}
    for peak in model.peaks:
        row = _row("peak", peak.name, peak.rate, _FLOPS, iri=peak.result)
        yield row | _about(peak)
    for point in model.points:
        yield _row(point.kind, point.name, point.rate, _FLOPS, iri=point.run) | {
            "intensity (FLOP/B)": point.intensity,
            "limit": point.roof,
            "share of limit": point.share,
            "moves": "; ".join(f"{move.direction} {move.text}" for move in point.moves),
            "traffic": point.traffic,
            "time": point.at,
        }


def _about(one: Roof | Peak) -> dict[str, object]:
    return {"theory": one.theory, "time": one.at, "concern": one.concern}


def _row(
    kind: str, name: str, rate: float, unit: str, *, iri: str
) -> dict[str, object]:
    return {"kind": kind, "name": name, "rate": rate, "unit": unit, "iri": iri}


def png(model: Roofline) -> bytes:
    """Return the drawing as PNG, by rsvg-convert; raises PngError."""
    with tempfile.TemporaryDirectory(prefix="supertwin-") as folder:
        path = Path(folder) / "roofline.svg"
        path.write_text(svg(model), "utf-8")
        words = ("rsvg-convert", "--width", _PNG_WIDTH, "--keep-aspect-ratio")
        try:
            return run_tool((*words, str(path)), "librsvg2-bin", _SECONDS)
        except ProbeSourceError as error:
            raise PngError(
                f"no PNG of the roofline of {model.host}: {error}, or take the SVG"
            ) from None
