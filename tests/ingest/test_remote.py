"""Probing over ssh: a real sshd in a network of its own; all ways to fail."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ingest.errors import ConnectionLostError, IngestError
from ingest.probe import probe
from ingest.remote import collect
from ingest.remote import probe as remote
from ingest.remote.probe import probe_copy, probe_remote
from ingest.schema.check import check_document
from supertwin.cli.main import main
from tests.ingest.test_collect import script
from tests.servers import wait_until
from tests.sshd import USER, Sshd, without_python

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="a network namespace and accounts of its own need root"
)

SYSTEM_PATH = "SetEnv PATH=/usr/bin:/bin"
_TESTS_OWN = re.compile(r"st\d+[ab]")  # a network of tests.sshd


@pytest.fixture(scope="module")
def pcp_run(pmcd: str) -> Path:
    """The folder of a running PMCD's socket."""
    return Path(pmcd.removeprefix("unix://")).parent


@pytest.fixture(scope="module")
def sshd(pcp_run: Path) -> Iterator[Sshd]:
    """A host with a PMCD, whose user may use sudo for nothing."""
    with Sshd(SYSTEM_PATH, over={"/run/pcp": str(pcp_run)}) as server:
        yield server


@pytest.fixture(scope="module")
def document(sshd: Sshd) -> dict[str, Any]:
    """This machine, probed over ssh as root."""
    return probe_remote(sshd.url(), config=sshd.config)


def refusal(server: Sshd, address: str | None = None) -> str:
    """The one-line error of a failed probe."""
    with pytest.raises(IngestError) as caught:
        probe_remote(address or server.url(), config=server.config)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_remote_facts_equal_local_ones(document: dict[str, Any], pmcd: str) -> None:
    local = probe("vm", pmcd)["facts"]
    found = json.loads(json.dumps(document))["facts"]
    check_document(document)
    # The network differs, and libpfm4 knows only the machine it runs on.
    for facts in (local, found):
        facts.pop("pfm", None)
        facts["pcp"] = sorted(metric["name"] for metric in facts["pcp"]["metrics"])
        # The tests' own networks come and go.
        nics = [nic for nic in facts["nics"] if not _TESTS_OWN.fullmatch(nic["name"])]
        facts["nics"] = nics
        for nic in nics:
            for key in ("ipv4", "ipv6", "firmware", "permanent_mac"):
                nic.pop(key, None)
        facts["lshw"].pop("nics")
        for key in ("xml", "info"):
            facts["hwloc"].pop(key, None)
        facts.pop("cgroups", None)
    assert found.keys() == local.keys()
    for name, facts in local.items():
        assert found[name] == json.loads(json.dumps(facts)), name


def test_document_names_its_origin(document: dict[str, Any], sshd: Sshd) -> None:
    own = Path("/proc/sys/kernel/hostname").read_text().strip()
    assert (document["host"], document["address"]) == (own, sshd.url())
    assert document["facts"]["pcp"]["address"] == sshd.url()
    assert document["collected"] == {"root": True, "unread": [], "cut": ""}
    assert "machine that it runs on" in document["sources"]["pfm"]["reason"]


def test_unusable_pmcd_has_a_reason(tmp_path: Path) -> None:
    """The reason names the host, not the local socket."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "pmcd.socket"))
        with Sshd(SYSTEM_PATH, over={"/run/pcp": str(tmp_path)}) as server:
            found = probe_remote(server.url(), config=server.config)
    reason = found["sources"]["pcp"]["reason"]
    assert reason.startswith(f"no PMCD answers at {server.url()} (")
    assert found["facts"].keys() >= {"hwloc", "lshw", "os"}


def test_missing_rights_of_the_user_are_listed(sshd: Sshd) -> None:
    home = sshd.folder / "home"
    lines: list[str] = []
    found = probe_remote("ssh://twin-node", "n7", lines.append, config=sshd.config)
    assert (found["host"], found["collected"]["root"]) == ("n7", False)
    assert found["sources"]["hwloc"]["ok"]
    assert "dmidecode needs root: probe as root, or allow sudo" in json.dumps(found)
    assert lines[0] == "ssh://twin-node: connected"
    # No file, process or login is left.
    assert not list(home.iterdir())
    wait_until(lambda: not sshd.processes())


def test_sudo_without_a_password_is_used_unless_it_is_declined(tmp_path: Path) -> None:
    sudoers = tmp_path / "sudoers"
    sudoers.write_text(f"{USER} ALL=(ALL) NOPASSWD: ALL\n")
    sudoers.chmod(0o440)
    secret = tmp_path / "os-release"
    secret.write_text("NAME=Secret\n")
    secret.chmod(0o600)
    over = {"/etc/sudoers": str(sudoers), "/usr/lib/os-release": str(secret)}
    with Sshd(SYSTEM_PATH, over=over) as server:
        url, config = server.url(USER), server.config
        as_root = probe_remote(url, config=config)
        lines: list[str] = []
        as_user = probe_remote(url, None, lines.append, config=config, sudo=False)
    assert as_root["collected"]["root"]
    assert as_root["facts"]["os"]["os_name"] == "Secret"
    assert not as_user["collected"]["root"]
    assert as_user["facts"]["os"]["os_name"] is None
    assert as_user["collected"]["unread"] == ["/usr/lib/os-release"]
    assert (
        f"{url}: without root, /usr/lib/os-release could not be read: log in as root, "
        "or allow sudo there without a password"
    ) in lines


@pytest.mark.parametrize(
    "rule",
    [
        f"{USER} ALL=(ALL) ALL",
        f"{USER} ALL=(ALL) NOPASSWD: /usr/bin/true",
        f"Defaults requiretty\n{USER} ALL=(ALL) NOPASSWD: ALL",
        "no rule at all",
        None,
    ],
)
def test_refused_sudo_falls_back_to_the_user(tmp_path: Path, rule: str | None) -> None:
    sudoers = tmp_path / "sudoers"
    sudoers.write_text(f"{rule}\n")
    sudoers.chmod(0o440)
    over = {"/etc/sudoers": str(sudoers)} if rule else {"/usr/bin/sudo": "/bin/false"}
    with Sshd(SYSTEM_PATH, over=over) as server:
        found = probe_remote(server.url(USER), config=server.config)
    assert not found["collected"]["root"]
    assert "dmidecode needs root" in json.dumps(found["sources"])


def test_ipv6_addresses_and_ports_are_reached(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_AS_USER", "echo no copy here; exit 0")
    for place in (
        f"[{sshd.address6}]",
        f"[{sshd.address6}]:22",
        f"{sshd.address}:2222",
    ):
        line = refusal(sshd, f"ssh://root@{place}")
        assert "sent no copy of its files: this is not a copy of a machine" in line


def test_command_line_probes_a_remote_host(sshd: Sshd, tmp_path: Path) -> None:
    out = tmp_path / "n1.json"
    env = {"SUPERTWIN_SSH_CONFIG": str(sshd.config)}
    words = ["probe", sshd.url(USER), "--host", "n1", "--out", str(out)]
    done = CliRunner(env=env).invoke(main, words)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.endswith(f"facts of n1 written to {out}\n")
    assert json.loads(out.read_text())["host"] == "n1"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-oProxyCommand=id"], "No such option"),
        (["--", "-oProxyCommand=id"], "is not an address of a host"),
        (["ssh://-oProxyCommand=id"], "is not an address of a host"),
        (["ssh://n1", "--collected", "x"], "give an address or --collected"),
        (["--host", "n1"], "--host is for another machine"),
        (["ssh://n1", "--host", "a b"], "'a b' is not a valid host name"),
        (["--collected", "/nonexistent"], "No such file"),
        (["--collected", "/etc/hostname"], "is not a copy of a machine"),
    ],
)
def test_command_line_refuses_invalid_options(words: list[str], why: str) -> None:
    done = CliRunner().invoke(main, ["probe", *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert why in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_missing_remote_python_is_reported() -> None:
    with Sshd(SYSTEM_PATH, over=without_python()) as server:
        line = refusal(server)
    assert line.endswith(
        "has no complete Python 3.8 or newer: apt-get install python3 there"
    )


def test_incomplete_remote_python_is_reported(tmp_path: Path) -> None:
    """As in a container with the interpreter and little of its library."""
    path = script(
        tmp_path,
        "python3",
        'case "$3" in *ctypes*) exit 1;; esac; exec /usr/bin/python3 "$@"',
    )
    over = without_python() | {"/usr/bin/python3": str(path)}
    with Sshd(SYSTEM_PATH, over=over) as server:
        assert "has no complete Python" in refusal(server)


def test_full_remote_disk_is_reported(tmp_path: Path) -> None:
    """The probe writes nothing there, so it needs no free space."""
    for folder in ("/var/tmp", "/dev/shm"):
        assert Path(folder).is_dir()
    with Sshd(SYSTEM_PATH, full=("/var/tmp", "/dev/shm")) as server:
        found = probe_remote(server.url(USER), config=server.config)
    assert found["sources"]["hwloc"]["ok"]


def test_output_around_the_copy_is_skipped(tmp_path: Path) -> None:
    """A banner, a profile that prints text, and one that only prints text."""
    banner = tmp_path / "banner"
    banner.write_text("Authorised use only!\n" * 50)
    with Sshd(SYSTEM_PATH, f"Banner {banner}") as server:
        server.set_shell('echo "Hello \033[1m$USER"; echo noise >&2; exec sh "$@"')
        assert probe_remote(server.url(USER), config=server.config)["facts"]["os"]
        server.set_shell("echo This account is closed.; exit 1")
        line = refusal(server, server.url(USER))
    assert "it begins with 'This account is closed.'" in line


def test_slow_host_is_reported(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(remote, "_SECONDS", 0.5)
    monkeypatch.setattr(remote, "_AS_USER", "exec sleep 60")
    with pytest.raises(ConnectionLostError, match="did not finish in time"):
        probe_remote(sshd.url(), config=sshd.config)
    monkeypatch.setattr(remote, "_SECONDS", 20.0)
    monkeypatch.setattr(remote, "_AS_USER", "exec cat /dev/zero")
    assert "this is not a copy of a machine" in refusal(sshd)


def test_manually_made_copy_is_read(sshd: Sshd, tmp_path: Path) -> None:
    path = tmp_path / "machine.tar"
    with path.open("wb") as file:
        script = Path(collect.__file__)
        subprocess.run([sys.executable, script], stdout=file, check=True)
    found = probe_copy(path, "n9")
    check_document(found)
    assert found["host"] == "n9"
    assert found["sources"]["lshw"]["ok"]
    assert "no PMCD of that machine was reached" in found["sources"]["pcp"]["reason"]
    shutil.copy(path, tmp_path / "cut.tar")
    os.truncate(tmp_path / "cut.tar", path.stat().st_size // 2)
    done = CliRunner().invoke(main, ["probe", "--collected", str(tmp_path / "cut.tar")])
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].endswith(
        "cut.tar: the copy is truncated: collect the machine again [bad-bundle]"
    )
