"""Which PMCD is used, and with what configuration."""

import os
import re
import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.settings.pmcd import choose, running_address, without_root
from core.settings.setting import SettingsError
from core.settings.settings import Settings
from sampling.agents.configuration import keep_configuration
from sampling.events.choice import EventSelection, SelectedEvent
from sampling.events.conf import configuration
from sampling.events.event import PmuEvent
from sampling.events.host import HostPmus
from supertwin.stack import children
from tests.servers import Pmcd, Server, wait_until
from tests.supertwin.conftest import Servers

CONFIG = """# comment
root\t1\tpipe\tbinary\t\t/var/lib/pcp/pmdas/root/pmdaroot
pmcd\t2\tdso\tpmcd_init\t/var/lib/pcp/pmdas/pmcd/pmda_pmcd.so
proc\t3\tpipe\tbinary\t\t/var/lib/pcp/pmdas/proc/pmdaproc -d 3
linux\t60\tpipe\tbinary\t\t/var/lib/pcp/pmdas/linux/pmdalinux

[access]
allow "local:*" : all;
"""


def test_agents_without_root_get_their_user_by_environment() -> None:
    lines = without_root(CONFIG, "ada").splitlines()
    assert not [line for line in lines if line.startswith("root")]
    assert [line for line in lines if line.endswith("pmdaproc -d 3 -U ada")]
    assert [line for line in lines if line.endswith("pmdalinux -U ada")]
    assert lines[1] == CONFIG.splitlines()[2]
    assert lines[-1] == 'allow "local:*" : all;'


def test_given_address_is_used_without_starting_a_pmcd() -> None:
    settings = Settings(pmcd="unix:///elsewhere/pmcd.socket")
    assert choose(settings) == ("unix:///elsewhere/pmcd.socket", False)


def test_socket_of_the_own_pmcd_is_in_the_state_folder(tmp_path: Path) -> None:
    settings = Settings(pmcd="own", home=tmp_path)
    assert choose(settings) == (f"unix://{tmp_path}/pmcd/run/pmcd.socket", True)


def test_running_pmcd_is_found_by_its_greeting(
    servers: Servers, tmp_path: Path
) -> None:
    wait_until(lambda: servers.child("pmcd")["state"] == "healthy", what="a PMCD")
    unix = servers.home / "pmcd" / "run" / "pmcd.socket"
    assert running_address(unix) == f"unix://{unix}"
    assert running_address(tmp_path / "none") is None


def test_dead_socket_is_not_a_pmcd(tmp_path: Path) -> None:
    unix = tmp_path / "dead.socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(unix))
    assert running_address(unix) is None


class Child(Server):
    """A PMCD as the supervisor starts it, without the supervisor."""

    def __init__(self, folder: Path, spec: children.ChildSpec) -> None:
        super().__init__(folder)
        self._spec = spec

    def start(self) -> None:
        self.launch(self._spec.command, self._spec.cwd, **self._spec.env)
        (unix,) = self._spec.stale
        self.ready(lambda: running_address(unix))


def agents_below(pid: int) -> set[int]:
    """Return PCP's agents among the descendants of a process."""
    command = ["ps", "-e", "-o", "pid=,ppid=,comm="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    below, before = {pid}, 0
    while before < len(below):
        before = len(below)
        below |= {int(number) for number, parent, _ in rows if int(parent) in below}
    agents = {int(number) for number, _, name in rows if name.startswith("pmda")}
    return agents & below


def counting(settings: Settings) -> children.ChildSpec | None:
    """Return the PMCD for PMU events, with one event to count."""
    choice = EventSelection(
        "node9", (SelectedEvent(PmuEvent("software", "page-faults"), "device"),)
    )
    text = configuration(HostPmus("node9", {}), choice)
    keep_configuration(children.counting_home(settings), "perfevent", text)
    return children.counting(settings)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's PMCD has a root agent")
@pytest.mark.parametrize("make", [children.pmcd, counting])
def test_agents_are_started_by_their_own_pmcd(
    tmp_path: Path, make: Callable[[Settings], children.ChildSpec | None]
) -> None:
    """A PMCD has its agents started by the root agent that it finds, even another's."""
    with Pmcd(tmp_path / "system", sample=True) as system:
        before = agents_below(system.pid)
        assert len(before) == 4
        spec = make(Settings(pmcd="own", home=tmp_path / "home"))
        assert spec
        # Not in this process: libpcp would no longer find its derived metrics.
        env = {"PCP_VAR_DIR": str(system.folder / "var"), **spec.env}
        spec = replace(spec, env=env)
        with Child(tmp_path / "child", spec) as own:
            wait_until(lambda: agents_below(own.pid), what="an agent of its own")
            assert agents_below(system.pid) == before


def test_agent_that_starts_slowly_is_waited_for(tmp_path: Path) -> None:
    """On a busy machine an agent may need longer than PMCD's own 3 s."""
    slow = tmp_path / "slow"
    slow.write_text('#!/bin/sh\nsleep 4\nexec "$@"\n')
    slow.chmod(0o755)
    spec = children.pmcd(Settings(pmcd="own", home=tmp_path / "home"))
    config = Path(spec.command[spec.command.index("-c") + 1])
    lines = config.read_text().splitlines(keepends=True)
    lines = [re.sub(r"\S*/pmdaproc", rf"{slow} \g<0>", line) for line in lines]
    config.write_text("".join(lines))
    with Child(tmp_path / "child", spec):
        address = f"unix://{spec.stale[0]}"
        found = _pcp("pminfo", "-h", address, "-f", "proc.nprocs")
    assert "value " in found.stdout, found


def test_home_with_too_long_a_name_is_refused_with_the_fix(tmp_path: Path) -> None:
    home = tmp_path / ("x" * 100)
    with pytest.raises(SettingsError, match="SUPERTWIN_HOME"):
        choose(Settings(pmcd="own", home=home))


def test_only_the_owner_sets_metrics(servers: Servers) -> None:
    """TCP does not tell PMCD which local user connects."""
    pmcd = servers.child("pmcd")["pid"]
    words = Path(f"/proc/{pmcd}/cmdline").read_text().split("\0")
    tcp = f"127.0.0.1:{words[words.index('-p') + 1]}"
    unix = f"unix://{servers.home}/pmcd/run/pmcd.socket"
    refused = _pcp("pmstore", "-h", tcp, "pmcd.control.timeout", "7")
    assert refused.returncode == 1
    assert "No permission" in refused.stdout + refused.stderr
    read = _pcp("pminfo", "-h", tcp, "-f", "pmcd.control.timeout")
    assert "value 5" in read.stdout
    stored = _pcp("pmstore", "-h", unix, "pmcd.control.timeout", "6")
    assert stored.returncode == 0, stored.stdout + stored.stderr
    back = _pcp("pmstore", "-h", unix, "pmcd.control.timeout", "5")
    assert back.returncode == 0


def _pcp(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, check=False)
