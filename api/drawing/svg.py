"""Rewrites lstopo's SVG: boxes, lines and texts, with links to components.

Only numbers, box names and escaped texts are taken from the original.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from ingest.errors import MalformedSourceError

_NAME = re.compile(r"([A-Za-z0-9]+_[0-9]+)_(?:rect|text|line)(?:_[0-9]+)?")
_CLASS = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_NUMBER = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?")
_NUMBERS = {
    "rect": ("x", "y", "width", "height"),
    "line": ("x1", "y1", "x2", "y2"),
    "text": ("x", "y"),
}
# The aspect ratio of the space for a drawing.
_WIDE = 1.9
_SVG = "{http://www.w3.org/2000/svg}"
# For the image alone; in a page, the page's style applies and also knows the theme.
_STYLE = """rect{fill:#fff;stroke:#888}line{stroke:#888}
text{font:10px monospace;fill:#222}.off{fill:#ddd}a rect:hover{stroke-width:2}
rect.marked{stroke:#0060a8;stroke-width:3}
.b-socket{fill:#eef3ee}.b-core{fill:#e8e8ee}.b-numa{fill:#f4ecec}
@media (prefers-color-scheme:dark){rect{fill:#1b1d21}text{fill:#ddd}.off{fill:#333}
.b-socket{fill:#20262a}.b-core{fill:#2a2c33}.b-numa{fill:#2c2526}}"""


@dataclass(frozen=True)
class SvgShape:
    """One rectangle, line or text; ``box`` is the name of the box it belongs to."""

    tag: str
    box: str
    class_: str
    numbers: tuple[str, ...]
    text: str = ""


@dataclass(frozen=True)
class Picture:
    """A whole drawing; the size is in pixels."""

    width: int
    height: int
    shapes: tuple[SvgShape, ...]


@dataclass(frozen=True)
class Link:
    """The component that a box represents."""

    iri: str
    kind: str
    href: str
    label: str
    off: bool = False
    id: str = ""


def read_picture(svg: bytes) -> Picture:
    """Read the shapes of an SVG by lstopo; raises MalformedSourceError."""
    try:
        root = fromstring(svg, forbid_dtd=True)
    except (ParseError, ValueError, DefusedXmlException) as error:
        raise MalformedSourceError(
            f"lstopo drew no readable SVG ({error}): report this defect"
        ) from None
    shapes = tuple(_shapes(root))
    boxes = [shape for shape in shapes if shape.tag == "rect"]
    if not boxes:
        raise MalformedSourceError("lstopo drew nothing: report this defect")
    return Picture(_extent(boxes, 0), _extent(boxes, 1), shapes)


def best_fit(pictures: Sequence[Picture]) -> Picture:
    """Return the picture that appears largest on a page of usual shape."""
    return max(pictures, key=lambda p: min(_WIDE / p.width, 1 / p.height))


def write_picture(
    picture: Picture,
    link: Callable[[str], Link | None],
    host: str,
    *,
    mark: str = "",
    alone: bool = True,
) -> str:
    """Return the SVG with a link around each box that is a component.

    ``mark`` is the IRI of the component to highlight. With ``alone``, the SVG includes
    a style; in a page, the page's style applies.
    """
    style = f"<style>{_STYLE}</style>" if alone else ""
    size = f"{picture.width} {picture.height}"
    width, height = picture.width, picture.height
    body = "\n".join(_written(one, link(one.box), mark) for one in picture.shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="machine" role="group" '
        f'width="{width}" height="{height}" viewBox="0 0 {size}" '
        f'aria-label="Topology of {escape(host)}">{style}\n{body}\n</svg>\n'
    )


def _shapes(root: Any) -> Iterator[SvgShape]:
    for element in root:
        tag = str(element.tag).removeprefix(_SVG)
        numbers = tuple(element.get(name, "") for name in _NUMBERS.get(tag, ()))
        if not numbers or not all(_NUMBER.fullmatch(number) for number in numbers):
            continue
        name = _NAME.fullmatch(element.get("id", ""))
        class_ = element.get("class", "")
        yield SvgShape(
            tag=tag,
            box=name[1] if name else "",
            class_=class_ if _CLASS.fullmatch(class_) else "",
            numbers=numbers,
            text=(element.text or "")[:200] if tag == "text" else "",
        )


def _extent(boxes: list[SvgShape], axis: int) -> int:
    ends = (float(box.numbers[axis]) + float(box.numbers[axis + 2]) for box in boxes)
    return round(max(ends)) + 1


def _written(shape: SvgShape, link: Link | None, mark: str) -> str:
    pairs = zip(_NUMBERS[shape.tag], shape.numbers, strict=True)
    at = " ".join(f'{name}="{number}"' for name, number in pairs)
    class_ = f'class="{_classes(link, mark)}"'
    if shape.tag == "text":
        return f"<text {class_} {at}>{escape(shape.text)}</text>"
    if shape.tag == "line" or link is None:
        return f"<{shape.tag} {class_} {at}/>"
    return _linked(f"<rect {class_} {at}/>", link)


def _classes(link: Link | None, mark: str) -> str:
    if link is None:
        return "b"
    off, marked = " off" if link.off else "", " marked" if link.iri == mark else ""
    return f"b b-{link.kind}{off}{marked}"


def _linked(rectangle: str, link: Link) -> str:
    id_ = f' data-id="{escape(link.id)}"' if link.id else ""
    return (
        f'<a href="{escape(link.href)}" data-iri="{escape(link.iri)}" '
        f'data-kind="{link.kind}"{id_} aria-label="{escape(link.label)}">'
        f"<title>{escape(link.label)}</title>{rectangle}</a>"
    )
