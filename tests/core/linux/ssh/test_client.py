"""The environment of an ssh process, and one that cannot start for lack of memory."""

import threading
import time
from pathlib import Path

import pytest

from core.linux.ssh.address import Address
from core.linux.ssh.client import Ssh
from core.linux.ssh.errors import SshNotStartedError


def test_process_ends_if_its_thread_cannot_start(tmp_path: Path) -> None:
    mark = tmp_path / "went on"
    words = ("sh", "-c", f"sleep 0.5; touch '{mark}'")
    size = threading.stack_size(1 << 47)  # more than the address space
    try:
        with pytest.raises(SshNotStartedError, match="start new thread.*free memory"):
            Ssh(words, Address("n1"), b"")
    finally:
        threading.stack_size(size)
    time.sleep(0.8)
    assert not mark.exists()


def test_environment_of_ssh_has_no_settings_or_passwords(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SUPERTWIN_STORE_PASSWORD", "secret")
    monkeypatch.setenv("SAMPLER_BRIDGE_STORE_ACCOUNT", "me:secret")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    ssh = Ssh(("env",), Address("n1"), b"")
    assert ssh.process.stdout
    output = ssh.process.stdout.read().decode()
    ssh.end()
    assert "SSH_AUTH_SOCK=/agent" in output
    assert "secret" not in output
