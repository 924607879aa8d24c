"""Draws the roofline model as SVG, with logarithmic axes."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from benchmarks.roofline import REQUESTED, Point, Roofline

_WIDTH, _HEIGHT = 860, 540
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 40, 56
_SHOWN_POINTS = 1_000
_NAME_WIDTH, _NAME_HEIGHT = 165, 13
# Where the first name of a bandwidth may be: a share of its line.
_FIRST = 0.05
# How far the axes go beyond what is drawn: a factor of two.
_BEYOND = 2.0
_STYLE = """text{font:12px sans-serif;fill:#222}line{stroke:#888}
.grid{stroke:#ddd}.roof{stroke:#0060a8;stroke-width:2}.peak{stroke:#a83200;stroke-width:2}
.theory{stroke:#666;stroke-dasharray:6 4}.point{fill:#00703c;fill-opacity:.75}
.benchmark{fill:#7a3db8}.requested{fill:#b8006e}.mark{fill:#d68400;stroke:#fff;stroke-width:2}
.title{font-weight:bold}rect{fill:#fff}
.name{stroke:#fff;stroke-width:3px;paint-order:stroke}
@media (prefers-color-scheme:dark){rect{fill:#1b1d21}text{fill:#ddd}
.grid{stroke:#333}.name{stroke:#1b1d21}}"""


@dataclass(frozen=True)
class _Axes:
    """The ranges of both axes, and where a value is on the drawing."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, intensity: float) -> float:
        """Return the horizontal position of an intensity."""
        share = math.log(intensity / self.x_low) / math.log(self.x_high / self.x_low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, rate: float) -> float:
        """Return the vertical position of a rate."""
        share = math.log(rate / self.y_low) / math.log(self.y_high / self.y_low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def document(self) -> dict[str, dict[str, float]]:
        """Return both axes for a page: values, and positions of their ends."""
        x, y = (self.x_low, self.x_high), (self.y_low, self.y_high)
        return {
            name: {"low": low, "high": high, "start": at(low), "end": at(high)}
            for name, (low, high), at in (("x", x, self.x), ("y", y, self.y))
        }


def svg(model: Roofline) -> str:
    """Draw the model: roofs, peaks, and its newest thousand points."""
    axes = _axes(model)
    shapes = (
        *_grid(axes),
        *_roofs(model, axes),
        *_peaks(model, axes),
        *_theory(model, axes),
        *(_point(point, axes) for point in model.points[:_SHOWN_POINTS]),
    )
    title = f"{model.host}, {model.counted} ({model.policy})"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'role="img" aria-label="Roofline of {escape(title)}" '
            f'data-axes="{escape(json.dumps(axes.document()))}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}"/>',
            _text(_WIDTH / 2, 22, f"Roofline of {title}", "title", "middle"),
            *shapes,
            # The page draws marks of current runs into it.
            '<g class="live"/>',
            "</svg>\n",
        )
    )


def _axes(model: Roofline) -> _Axes:
    rates = [point.rate for point in model.points if point.rate > 0]
    placed = [point.intensity for point in model.points if point.intensity > 0]
    ridges = [model.ridge(roof) for roof in model.roofs]
    x_low = min(*ridges, *placed, ridges[0]) / 2**3
    x_high = max(*ridges, *placed, ridges[-1]) * 2**2
    lowest = x_low * model.memory.bandwidth
    return _Axes(
        2.0 ** math.floor(math.log2(x_low)),
        2.0 ** math.ceil(math.log2(x_high)),
        min([lowest, *rates]) / _BEYOND,
        max(peak.theory or peak.rate for peak in model.peaks) * _BEYOND,
    )


def _grid(axes: _Axes) -> Iterator[str]:
    bottom = _HEIGHT - _BOTTOM
    for power in range(round(math.log2(axes.x_low)), round(math.log2(axes.x_high)) + 1):
        x = axes.x(2.0**power)
        yield _line(x, _TOP, x, bottom, "grid")
        label = str(2**power) if power >= 0 else f"1/{2**-power}"
        yield _text(x, bottom + 18, label, "", "middle")
    first = math.ceil(math.log10(axes.y_low))
    for power in range(first, math.floor(math.log10(axes.y_high)) + 1):
        y = axes.y(10.0**power)
        yield _line(_LEFT, y, _WIDTH - _RIGHT, y, "grid")
        yield _text(_LEFT - 8, y + 4, _rate(10.0**power), "", "end")
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield _text(middle, _HEIGHT - 14, "operations per byte", "", "middle")
    yield _text(_LEFT - 50, _TOP - 12, "FLOP/s", "", "start")


def _roofs(model: Roofline, axes: _Axes) -> Iterator[str]:
    """Draw each level of memory up to where the highest peak limits it.

    Names are at different places of their lines, so that those of equal roofs differ.
    """
    for number, roof in enumerate(model.roofs, 1):
        start, end = axes.x_low, model.ridge(roof)
        low = start * roof.bandwidth
        if low < axes.y_low:
            start, low = axes.y_low / roof.bandwidth, axes.y_low
        high = model.peaks[0].rate
        yield _line(axes.x(start), axes.y(low), axes.x(end), axes.y(high), "roof")
        label = f"{roof.level} {roof.bandwidth / 1e9:.1f} GB/s"
        # The names of peaks are in the upper half.
        at = start * (end / start) ** (number / (len(model.roofs) + 1) / 2 + _FIRST)
        yield _along(axes, at, at * roof.bandwidth, label)


def _peaks(model: Roofline, axes: _Axes) -> Iterator[str]:
    """Draw each peak from where the fastest level of memory reaches it."""
    right = _WIDTH - _RIGHT
    end, above = right - 4, 0.0
    for peak in model.peaks:
        x, y = axes.x(peak.rate / model.roofs[0].bandwidth), axes.y(peak.rate)
        yield _line(x, y, right, y, "peak")
        # Names of peaks that are almost equal are side by side.
        end = end - _NAME_WIDTH if y - above < _NAME_HEIGHT else right - 4
        above = y
        yield _text(end, y - 4, f"{peak.name} {_rate(peak.rate)}", "name", "end")


def _theory(model: Roofline, axes: _Axes) -> Iterator[str]:
    """Draw the highest theoretical peak, and main memory's bandwidth, dashed."""
    known = [peak.theory for peak in model.peaks if peak.theory]
    top = max(known, default=model.peaks[0].rate)
    if known:
        x, y = axes.x(top / model.roofs[0].bandwidth), axes.y(top)
        yield _line(x, y, _WIDTH - _RIGHT, y, "theory")
        yield _text(x + 6, y - 5, f"theory {_rate(top)}", "name", "start")
    if bandwidth := model.memory.theory:
        start, end = max(axes.x_low, axes.y_low / bandwidth), top / bandwidth
        low = axes.x(start), axes.y(start * bandwidth)
        yield _line(*low, axes.x(end), axes.y(top), "theory")
        middle = math.sqrt(start * end)
        label = f"theory {bandwidth / 1e9:.1f} GB/s"
        yield _along(axes, middle, middle * bandwidth, label)


def _point(point: Point, axes: _Axes) -> str:
    requested = point.traffic == REQUESTED
    per = "byte that its cores request" if requested else "byte"
    about = (
        f"{point.name}: {point.intensity:.3g} operations per {per}, "
        f"{_rate(point.rate)}FLOP/s, {point.share:.0%} of its limit ({point.roof}), "
        f"{point.at}"
    )
    x, y = axes.x(point.intensity), axes.y(point.rate)
    shape, place = "circle", f'cx="{x:.1f}" cy="{y:.1f}" r="5"'
    if requested:  # a diamond
        shape, place = "path", f'd="M{x:.1f} {y - 7:.1f}l7 7-7 7-7-7z"'
    kind = f"{point.kind} {point.traffic}" if requested else point.kind
    return (
        f'<a href="{escape(point.run)}"><{shape} class="point {escape(kind)}" {place}>'
        f"<title>{escape(about)}</title></{shape}></a>"
    )


def _along(axes: _Axes, intensity: float, rate: float, text: str) -> str:
    """Write a text above the line of a bandwidth, around a point of it."""
    x, y = axes.x(intensity), axes.y(rate)
    right, up = axes.x(2 * intensity) - x, y - axes.y(2 * rate)
    angle = -math.degrees(math.atan2(up, right))
    return (
        f'<text class="name" x="{x:.1f}" y="{y:.1f}" dy="-5" text-anchor="middle" '
        f'transform="rotate({angle:.1f} {x:.1f} {y:.1f})">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{class_}" {ends}/>'


def _text(x: float, y: float, text: str, class_: str, anchor: str) -> str:
    return (
        f'<text class="{class_}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _rate(value: float) -> str:
    """Format a rate with a prefix, such as ``36.4 G``."""
    power = max(0, min(5, math.floor(math.log10(value) / 3 + 1e-9)))
    return f"{value / 1000**power:.3g} {['', 'k', 'M', 'G', 'T', 'P'][power]}"
