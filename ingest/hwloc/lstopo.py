"""Draw a topology with lstopo, from untrusted XML."""

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
# Smaller than lstopo's default, so that a large machine fits one drawing.
_STYLE = ("--physical", "--gridsize", "4", "--linespacing", "2")
_OPTIONS = ("--no-factorize", "--no-legend", "--no-index=L1d,L1i,L1,L2,L3,L4")
# Sockets stacked or side by side: which is better depends on the machine.
_LAYOUTS = (("--of", "nativesvg"), ("--horiz=machine", "--of", "nativesvg"))
# lstopo copies names into its SVG unescaped, so they must not contain markup.
_PLAIN = str.maketrans({"<": "[", ">": "]", "&": "+", '"': "_", "'": "_"})


@dataclass(frozen=True)
class Sketch:
    """lstopo's SVG in several layouts, and the XML with lstopo's object numbers."""

    svgs: tuple[bytes, ...]
    xml: bytes


def sketch(xml: bytes) -> Sketch:
    """Draw a topology of hwloc 1, 2 or 3, with limits on time and size.

    Raises TopologyError, and ProbeSourceError if lstopo is missing, fails or hangs. A
    topology that cannot be described is not drawn: lstopo might work on it until it
    times out.
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
        # The user cannot repeat the command: its input file is gone.
        fix = "export the topology again with `lstopo --of xml`, and ingest it"
        raise SourceRefusedError(error.problem, fix) from None


def plain(text: str) -> str:
    """Return a text as the drawing shows it: without markup, printable ASCII only."""
    translated = text.translate(_PLAIN)
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in translated)


def drawable(xml: bytes) -> bytes:
    """Remove markup from the XML's texts and set a version that hwloc 2 accepts.

    hwloc 2 refuses version 3.0 but reads the same content marked as 2.0.
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
