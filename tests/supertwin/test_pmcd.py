"""Which PMCD is used, and with what configuration."""

import socket
from pathlib import Path

from supertwin.settings import Settings
from supertwin.stack.pmcd import choose, running_address, without_root
from tests.servers import wait_until
from tests.supertwin.conftest import Servers

CONFIG = """# comment
root\t1\tpipe\tbinary\t\t/var/lib/pcp/pmdas/root/pmdaroot
pmcd\t2\tdso\tpmcd_init\t/var/lib/pcp/pmdas/pmcd/pmda_pmcd.so
proc\t3\tpipe\tbinary\t\t/var/lib/pcp/pmdas/proc/pmdaproc -d 3
linux\t60\tpipe\tbinary\t\t/var/lib/pcp/pmdas/linux/pmdalinux

[access]
allow "local:*" : all;
"""


def test_without_root_agents_are_told_who_they_are() -> None:
    lines = without_root(CONFIG, "ada").splitlines()
    assert not [line for line in lines if line.startswith("root")]
    assert [line for line in lines if line.endswith("pmdaproc -d 3 -U ada")]
    assert [line for line in lines if line.endswith("pmdalinux -U ada")]
    assert lines[1] == CONFIG.splitlines()[2]
    assert lines[-1] == 'allow "local:*" : all;'


def test_a_given_address_is_used_and_nothing_is_started() -> None:
    settings = Settings(pmcd="unix:///elsewhere/pmcd.socket")
    assert choose(settings) == ("unix:///elsewhere/pmcd.socket", False)


def test_our_own_has_its_socket_at_home(tmp_path: Path) -> None:
    settings = Settings(pmcd="own", home=tmp_path)
    assert choose(settings) == (f"unix://{tmp_path}/pmcd/run/pmcd.socket", True)


def test_a_running_one_is_found_by_its_greeting(
    servers: Servers, tmp_path: Path
) -> None:
    wait_until(lambda: servers.child("pmcd")["state"] == "healthy", what="a PMCD")
    unix = servers.home / "pmcd" / "run" / "pmcd.socket"
    assert running_address(unix) == f"unix://{unix}"
    assert running_address(tmp_path / "none") is None


def test_a_socket_that_nobody_serves_is_no_pmcd(tmp_path: Path) -> None:
    unix = tmp_path / "dead.socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(unix))
    assert running_address(unix) is None
