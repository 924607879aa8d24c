"""lstopo's drawing of topologies from untrusted files."""

import subprocess
import time
from xml.etree.ElementTree import fromstring

import pytest

from ingest.errors import ProbeSourceError, TopologyError
from ingest.hwloc.lstopo import drawable, plain, sketch

DEEP = b"<a>" * 3000 + b"</a>" * 3000 + b"</topology>"
# With such numbers, lstopo runs until its timeout.
OTHER = b'os_index="99999999999999999999"'
HOSTILE = '<script x="1">&amp;\N{RIGHT-TO-LEFT OVERRIDE}'


def lstopo(text: str, *options: str) -> bytes:
    command = ["lstopo-no-graphics", "--input", text, *options, "--of", "xml"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def with_device(xml: bytes, name: str) -> bytes:
    """The topology with a disk of that name, and the same name in an info."""
    written = name.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    device = (
        f'<object type="OSDev" gp_index="99" name="{written}" osdev_type="0">'
        f'<info name="Model" value="{written}"/></object>'
    )
    end = xml.rindex(b"</object>")
    return xml[:end] + device.encode() + xml[end:]


def test_machine_is_drawn_in_several_layouts() -> None:
    made = sketch(lstopo("pack:2 l3:4 core:3 pu:2"))
    sizes = {fromstring(svg).get("width") for svg in made.svgs}
    assert len(sizes) == 2
    for svg in made.svgs:
        assert b"PU_47_rect" in svg and b"PU_48_rect" not in svg
    assert made.xml.count(b'type="PU"') == 48


def test_version_3_is_drawn() -> None:
    xml = lstopo("pack:1 core:2 pu:1")
    newer = xml.replace(b'version="2.0"', b'version="3.0"', 1)
    assert newer != xml
    assert b'version="2.0"' in drawable(newer)
    assert sketch(newer).svgs == sketch(xml).svgs


def test_version_1_is_drawn() -> None:
    old = lstopo("pack:1 core:2 pu:1", "--export-xml-flags", "1")
    assert b"<topology>" in old
    assert b"PU_1_rect" in sketch(old).svgs[0]


def test_names_cannot_become_markup() -> None:
    """lstopo copies them into its SVG unchanged."""
    svg = sketch(with_device(lstopo("pack:1 core:1 pu:1"), HOSTILE)).svgs[0]
    fromstring(svg)
    assert b"<script" not in svg
    assert b"[script x=_1_]" in svg


def test_plain_text_keeps_its_letters() -> None:
    assert plain("sda 1 (RAM) _-/") == "sda 1 (RAM) _-/"
    assert plain("a<b>&\n\0é") == "a[b]+???"


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (b"", "damaged or truncated"),
        (b"<topology", "damaged or truncated"),
        (b'<!DOCTYPE t [<!ENTITY x "y">]><topology/>', "declares an entity"),
        (lstopo("pu:1").replace(b"</topology>", DEEP), "nested too deeply"),
        (lstopo("pu:2").replace(b'os_index="1"', b'os_index="-5"'), "no os_index"),
        (lstopo("pu:2").replace(b'os_index="1"', OTHER), "the CPU set of other PUs"),
    ],
    ids=["empty", "cut", "entity", "deep", "negative", "other"],
)
def test_invalid_topology_is_refused(xml: bytes, message: str) -> None:
    start = time.process_time()
    with pytest.raises(TopologyError, match=message):
        sketch(xml)
    assert time.process_time() - start < 5


def test_refusal_of_lstopo_is_one_line() -> None:
    with pytest.raises(ProbeSourceError, match="lstopo-no-graphics failed") as error:
        sketch(
            b'<topology version="2.0"><object type="Machine" cpuset="0x1">'
            b'<object type="PU" os_index="0" cpuset="0x1"/></object></topology>'
        )
    assert "\n" not in str(error.value)
