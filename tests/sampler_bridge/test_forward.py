"""An ssh forward that cannot be opened now, or not as the graph describes it."""

from pathlib import Path

import pytest

from core.linux.ssh.address import Address
from sampler_bridge.transport.forward import SshForward
from sampling.errors import SourceDownError
from tests.limits import no_more_files
from tests.servers import wait_until


def reason(way: SshForward) -> str:
    with pytest.raises(SourceDownError) as caught:
        way.reach()
    return str(caught.value)


def test_failed_login_is_retried(tmp_path: Path) -> None:
    way = SshForward(Address("no-such-host.invalid"), tmp_path, "1", None)
    with no_more_files():
        way.start()
        wait_until(lambda: "Too many open files" in reason(way))
        assert "ssh://no-such-host.invalid" in reason(way)
        assert way.alive
    wait_until(lambda: "cannot be resolved" in reason(way))
    way.stop()
    wait_until(lambda: not way.alive)


def test_missing_folder_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("no folder")
    way = SshForward(Address("no-such-host.invalid"), tmp_path / "folder", "1", None)
    way.start()
    wait_until(lambda: "Not a directory" in reason(way))
    assert way.alive
    way.stop()
    wait_until(lambda: not way.alive)


def test_ambiguous_socket_name_is_refused(tmp_path: Path) -> None:
    """The graph names it, and ssh would send our environment variables in it."""
    way = SshForward(Address("n1"), tmp_path, "1", None, "/x/${HOME}/pmcd.socket")
    way.start()
    wait_until(lambda: "is not a socket that ssh can lead to" in reason(way))
    assert not list(tmp_path.iterdir())
    way.stop()
    wait_until(lambda: not way.alive)
