"""Obstacles to a start cause one line and exit 2, and leave nothing behind."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.linux.ports import try_bind
from core.settings import tools
from core.settings.settings import Settings
from core.settings.tools import NotInstalledError
from supertwin.stack.preflight import preflight
from tests.command_line import run
from tests.ports import free_port


def refused(env: dict[str, str], *words: str) -> str:
    """Check that `supertwin up` exits 2 with one line and leaves no state folder."""
    done = run(env, "up")
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    for word in words:
        assert word in line
    assert not Path(env["SUPERTWIN_HOME"]).exists()
    return line


@pytest.mark.parametrize("name", ["API", "FUSEKI", "STORE"])
def test_taken_port_is_refused(env: dict[str, str], name: str) -> None:
    port = env[f"SUPERTWIN_{name}_PORT"]
    with socket.create_server(("127.0.0.1", int(port))):
        refused(env, port, f"(pid {os.getpid()})", f"SUPERTWIN_{name}_PORT")


def test_concurrent_readers_do_not_block() -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", free_port()))
        port = other.getsockname()[1]
        assert try_bind("127.0.0.1", port) is None
        other.listen()
        assert try_bind("127.0.0.1", port)


def test_foreign_address_is_refused(env: dict[str, str]) -> None:
    refused(env | {"SUPERTWIN_BIND": "192.0.2.1"}, "192.0.2.1", "SUPERTWIN_BIND")


def test_full_disk_is_refused(env: dict[str, str]) -> None:
    wanted = {"SUPERTWIN_MIN_FREE_BYTES": str(2**60)}
    refused(env | wanted, "disk is full", "SUPERTWIN_HOME")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RETENTION", "soon"),
        ("RETENTION", "1h"),
        ("API_PORT", "http"),
        ("API_PORT", "70000"),
        ("BIND", "localhost"),
        ("BASE", "no address"),
        ("FUSEKI_HEAP", "plenty"),
        ("FUSEKI_HEAP", "1٣m"),
        ("RETENTION", "9٠d"),
        ("QUERY_TIMEOUT", "-1"),
        ("QUERY_TIMEOUT", "inf"),
        ("BASE", ""),
        ("BASE", "http://x?q"),
        ("FUSEKI_URL", "http:///"),
        ("HOST", ""),
    ],
)
def test_invalid_setting_is_refused(env: dict[str, str], name: str, value: str) -> None:
    refused(env | {f"SUPERTWIN_{name}": value}, f"SUPERTWIN_{name}={value}:")


def test_home_that_is_a_file_is_refused(tmp_path: Path, env: dict[str, str]) -> None:
    home = tmp_path / "file"
    home.touch()
    done = run(env | {"SUPERTWIN_HOME": str(home)}, "up")
    assert done.returncode == 2
    assert f"{home} " in done.stderr and "[bad-state-folder]" in done.stderr


def test_home_with_a_too_long_socket_path_is_refused(env: dict[str, str]) -> None:
    home = f"{env['SUPERTWIN_HOME']}/{'long' * 30}"
    refused(env | {"SUPERTWIN_HOME": home}, "107 bytes", "SUPERTWIN_HOME")


@pytest.fixture
def path_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Path]]:
    """Set PATH to an empty folder, and JAVA_HOME to another."""
    places = {"path": tmp_path / "bin", "java": tmp_path / "java"}
    places["path"].mkdir()
    (places["java"] / "bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(places["path"]))
    monkeypatch.setenv("JAVA_HOME", str(places["java"]))
    return places


def fake_java(folder: Path, version: str) -> Path:
    """Write a program that answers `-version` as a Java of that version does."""
    java = folder / "bin" / "java"
    java.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"sys.stderr.write('openjdk version \"{version}\"')\n"
    )
    java.chmod(0o755)
    return java


def test_recent_java_is_accepted(path_with: dict[str, Path]) -> None:
    java = fake_java(path_with["java"], "21.0.4")
    assert tools.java() == java


def test_java_is_also_searched_outside_the_path(
    path_with: dict[str, Path], tmp_path: Path
) -> None:
    old = fake_java(path_with["java"], "1.8.0_392")
    (tmp_path / "jvm" / "bin").mkdir(parents=True)
    new = fake_java(tmp_path / "jvm", "17.0.1")
    found = tools.find_java([old, tmp_path / "none", new])
    assert found == new


def test_missing_java_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotInstalledError, match="17 or newer"):
        tools.find_java([tmp_path / "java"])


def test_old_java_is_refused(path_with: dict[str, Path]) -> None:
    old = fake_java(path_with["java"], "11.0.2")
    with pytest.raises(NotInstalledError, match="JAVA_HOME"):
        tools.find_java([old])


def test_external_services_need_no_local_port(env: dict[str, str]) -> None:
    taken = int(env["SUPERTWIN_FUSEKI_PORT"])
    settings = Settings(
        home=Path(env["SUPERTWIN_HOME"]),
        fuseki_url="http://127.0.0.1:1",
        fuseki_port=taken,
        api_port=int(env["SUPERTWIN_API_PORT"]),
        store_port=int(env["SUPERTWIN_STORE_PORT"]),
    )
    with socket.create_server(("127.0.0.1", taken)):
        preflight(settings)
