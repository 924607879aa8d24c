"""lstopo's drawing of a topology, from XML that anybody may have written."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import tostring

from ingest.errors import SourceRefusedError, TopologyError
from ingest.hwloc.read import parse_hwloc
from ingest.hwloc.xml import parse_xml
from ingest.sources.tool import run_tool

_TIMEOUT = 20.0
_INPUT = ("lstopo-no-graphics", "--if", "xml", "--disallowed")
# Smaller than lstopo's own style, so that a large machine is drawn in one piece.
_STYLE = ("--physical", "--gridsize", "4", "--linespacing", "2")
_OPTIONS = ("--no-factorize", "--no-legend", "--no-index=L1d,L1i,L1,L2,L3,L4")
# Sockets below each other or side by side: which is better depends on the machine.
_LAYOUTS = (("--of", "nativesvg"), ("--horiz=machine", "--of", "nativesvg"))
# lstopo copies names into its SVG as they are, so none may hold markup.
_PLAIN = str.maketrans({"<": "[", ">": "]", "&": "+", '"': "_", "'": "_"})


@dataclass(frozen=True)
class Sketch:
    """lstopo's SVG in several layouts, and the XML as lstopo numbered it in there."""

    svgs: tuple[bytes, ...]
    xml: bytes


def sketch(xml: bytes) -> Sketch:
    """Draw a topology of hwloc 1, 2 or 3, bounded in time and size.

    Raises TopologyError, and SourceError when lstopo is missing, fails or hangs. What
    cannot be described is not drawn: lstopo works on some of it until its time is over.
    """
    parse_hwloc(xml)
    with tempfile.TemporaryDirectory(prefix="supertwin-") as folder:
        path = Path(folder) / "topology.xml"
        path.write_bytes(drawable(xml))
        given = (*_INPUT, "-i", str(path))
        drawn = (*given, *_OPTIONS, *_STYLE)
        return Sketch(
            tuple(_run((*drawn, *layout)) for layout in _LAYOUTS),
            _run((*given, "--of", "xml")),
        )


def _run(argv: tuple[str, ...]) -> bytes:
    try:
        return run_tool(argv, "hwloc-nox", _TIMEOUT)
    except SourceRefusedError as error:
        # Nobody can repeat the command: its file is gone.
        reason = str(error).partition(": run ")[0]
        raise SourceRefusedError(
            f"{reason}: export the topology again with `lstopo --of xml`, and ingest it"
        ) from None


def plain(text: str) -> str:
    """A text as it stands in the drawing: no markup, and only what hwloc writes."""
    translated = text.translate(_PLAIN)
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in translated)


def drawable(xml: bytes) -> bytes:
    """The XML without markup in its texts, marked as a version that hwloc 2 reads.

    hwloc 2 refuses what is marked 3.0, and reads it when the mark says 2.0.
    """
    root = parse_xml(xml)
    for element in root.iter():
        for name, value in element.attrib.items():
            element.set(name, plain(value))
    if root.get("version", "").startswith("3."):
        root.set("version", "2.0")
    return _written(root)


def _written(root: Any) -> bytes:
    try:
        return bytes(tostring(root, encoding="utf-8", xml_declaration=True))
    except RecursionError:
        raise TopologyError(
            "the hwloc XML is nested too deeply to be drawn: export it again with "
            "`lstopo --of xml`"
        ) from None
