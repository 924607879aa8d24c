"""Processes that this machine has no room for: a reason, and nothing left behind."""

import threading
import time
from pathlib import Path

import pytest

from remote_login.address import Address
from remote_login.errors import SshNotStartedError
from remote_login.ssh import Ssh


def test_a_process_whose_thread_cannot_start_is_ended(tmp_path: Path) -> None:
    mark = tmp_path / "went on"
    words = ("sh", "-c", f"sleep 0.5; touch '{mark}'")
    size = threading.stack_size(1 << 47)  # more than there are addresses
    try:
        with pytest.raises(SshNotStartedError, match="start new thread.*free memory"):
            Ssh(words, Address("n1"), b"")
    finally:
        threading.stack_size(size)
    time.sleep(0.8)
    assert not mark.exists()
