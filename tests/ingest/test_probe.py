"""The probe tries every source and continues when some fail."""

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from ingest import probe as module
from ingest.errors import HostNameError
from ingest.host_name import check_host
from ingest.probe import SOURCES, hwloc_document, probe
from ingest.sources.machine import Machine

# These work on every machine that is set up for SuperTwin.
NEEDED = {"hwloc", "os", "cpu", "disks", "nics", "lshw", "pfm", "pcp"}


def test_this_machine_is_probed(pmcd: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    document = probe("n1", pmcd, lines.append)
    assert json.loads(json.dumps(document)) == document
    assert (document["format"], document["host"]) == ("supertwin-probe/1", "n1")
    started, ended = (datetime.fromisoformat(document[k]) for k in ("started", "ended"))
    assert started.tzinfo
    assert started <= ended
    assert list(document["sources"]) == list(SOURCES)
    for name, source in document["sources"].items():
        assert source["ok"] == (source["reason"] is None) == (name in document["facts"])
        with capsys.disabled():
            print(f"\n  {name:15}{source['seconds']:8.4f} s", end="")
    assert not {name for name in NEEDED if not document["sources"][name]["ok"]}
    assert sorted(line.partition(":")[0] for line in lines) == sorted(SOURCES)


NAMES_OF_EACH_THREAD = """
import ctypes, json, sys
from ingest import probe

def names():
    found = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    return sum(1 for _ in iter(iter(found).__next__, None))

seen, ask = [], probe._ask
probe._ask = lambda *given: (seen.append(names()), ask(*given))[1]
probe.probe("n1", sys.argv[1])
print(json.dumps([*seen, names()]))
"""


def test_no_library_changes_the_environment_while_threads_run(pmcd: str) -> None:
    """A thread that reads the environment at the same time may crash the process."""
    command = (sys.executable, "-c", NAMES_OF_EACH_THREAD, pmcd)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len({*json.loads(done.stdout)}) == 1


def test_machine_without_dmi_has_a_reason(pmcd: str) -> None:
    board = probe("n1", pmcd)["sources"]["board"]
    assert board["ok"] == Path("/sys/class/dmi/id").is_dir()
    assert board["ok"] or "/sys/class/dmi/id does not exist" in board["reason"]


def test_missing_tools_affect_only_their_facts(
    monkeypatch: pytest.MonkeyPatch, pmcd: str
) -> None:
    monkeypatch.setenv("PATH", "")
    document = probe("n1", pmcd)
    sources = document["sources"]
    assert sources["lshw"]["reason"] == "lshw is not installed: apt-get install lshw"
    assert "apt-get install hwloc-nox" in sources["hwloc"]["reason"]
    assert NEEDED - document["facts"].keys() == {"lshw", "hwloc"}


def test_garbage_of_a_tool_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("lshw", "lstopo-no-graphics"):
        (tmp_path / name).write_text("#!/bin/sh\necho '<svg/>'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    sources = probe("n1", "unix:///nowhere")["sources"]
    assert sources["lshw"]["reason"].startswith("lshw printed no JSON")
    assert "not a topology of hwloc" in sources["hwloc"]["reason"]
    assert "no PMCD answers at unix:///nowhere" in sources["pcp"]["reason"]
    assert sources["os"]["ok"]


def test_defect_in_a_source_affects_only_its_facts(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(machine: Machine) -> None:
        raise KeyError("surprise")

    monkeypatch.setitem(module.SOURCES, "disks", broken)
    document = probe("n1", "unix:///nowhere")
    reason = document["sources"]["disks"]["reason"]
    assert reason == (
        "disks failed unexpectedly (KeyError: 'surprise'): report this bug"
    )
    assert "disks" not in document["facts"]
    assert document["sources"]["nics"]["ok"]
    assert "source disks failed unexpectedly" in caplog.text


def test_probe_from_a_topology_file() -> None:
    document = hwloc_document("n2", {"threads": []})
    assert document.keys() == probe("n1", "unix:///nowhere").keys()
    assert document["host"] == "n2"
    assert document["facts"] == {"hwloc": {"threads": []}}
    nothing_wrong = {"reason": None, "code": None, "left_out": []}
    assert document["sources"] == {
        "hwloc": {"ok": True, "seconds": 0.0, **nothing_wrong}
    }
    with pytest.raises(HostNameError):
        hwloc_document("a/b", {})


@pytest.mark.parametrize(
    "name", ["n1", "node-1.example.org", "AS-4023S-TRT", "my_host", "1", "a" * 63]
)
def test_valid_host_names_are_accepted(name: str) -> None:
    assert check_host(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "two words",
        'quo"te',
        "quo'te",
        "n1\n",
        "-n1",
        "n1-",
        "a..b",
        "n1.",
        "knoten-ü",
        "a" * 64,
        ".".join(["abcdefgh"] * 29),
        "<http://example.org>",
    ],
)
def test_invalid_host_names_are_refused(name: str) -> None:
    with pytest.raises(HostNameError) as caught:
        check_host(name)
    assert "\n" not in str(caught.value)
    assert "such as node1.example.org" in str(caught.value)
    with pytest.raises(HostNameError):
        probe(name)
