"""Which PMCD is used, and with what configuration."""

from pathlib import Path

from supertwin.pmcd import choose, running_address, without_root
from supertwin.settings import Settings
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
    socket = servers.home / "pmcd" / "run" / "pmcd.socket"
    assert running_address(socket, 1) == f"unix://{socket}"
    assert running_address(tmp_path / "none", 1) is None
    # a web server answers nobody who is silent: it is no PMCD
    fuseki = int(servers.env["SUPERTWIN_FUSEKI_PORT"])
    assert running_address(tmp_path / "none", fuseki) is None
