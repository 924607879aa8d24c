"""The audit trail: written by several processes, rotated, and printed."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.settings import audit
from tests.command_line import supertwin
from tests.servers import ENDS_WITH_US, ROOT, wait_until

_WRITER = """
import sys
from pathlib import Path
from core.settings import audit
home, who = Path(sys.argv[1]), sys.argv[2]
audit._MAX_BYTES = 20_000
for number in range(250):
    audit.record(home, who, "host.added", str(number))
"""
_FULL = """
import resource, sys
from pathlib import Path
from core.settings import audit
home = Path(sys.argv[1])
size = (home / "log" / "audit.jsonl").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, size + 20))
audit.record(home, "root", "host.added", "lost")
"""


def start(text: str, *words: str) -> subprocess.Popen[str]:
    command = [*ENDS_WITH_US, sys.executable, "-c", text, *words]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def end(writer: subprocess.Popen[str]) -> str:
    """Wait for a writer to end; return its stderr."""
    with writer:
        _, output = writer.communicate(timeout=120)
    assert writer.returncode == 0, output
    return output


def log(home: Path, *words: str) -> list[dict[str, object]]:
    done = supertwin({"HOME": str(home)}, "log", "--format", "json", *words)
    assert done.exit_code == 0, done.output
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def test_concurrent_writers_lose_no_line(tmp_path: Path) -> None:
    """Rotation at the same time loses none either."""
    names = ("a", "b")
    writers = [start(_WRITER, str(tmp_path), name) for name in names]
    assert [end(writer) for writer in writers] == ["", ""]
    found = [*audit.events(tmp_path)]
    for name in names:
        numbers = [event["thing"] for event in found if event["who"] == name]
        assert numbers == [str(number) for number in range(250)]
    assert (tmp_path / "log" / "audit.jsonl.1").exists()


def test_old_events_are_removed_and_new_ones_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_MAX_BYTES", 1000)
    for number in range(200):
        audit.record(tmp_path, "root", "host.added", str(number))
    files = sorted((tmp_path / "log").glob("audit.jsonl*"))
    assert len(files) == 5
    for path in files:
        assert path.stat().st_size <= 1000
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    numbers = [int(event["thing"]) for event in audit.events(tmp_path)]
    assert 20 < len(numbers) < 50
    assert numbers == [*range(200 - len(numbers), 200)]


def test_full_disk_leaves_no_part_of_a_line(tmp_path: Path) -> None:
    audit.record(tmp_path, "root", "host.added", "n1")
    output = end(start(_FULL, str(tmp_path)))
    assert "not in the audit trail: root host.added lost: 20 of" in output
    audit.record(tmp_path, "root", "host.added", "n2")
    assert [event["thing"] for event in audit.events(tmp_path)] == ["n1", "n2"]
    assert (tmp_path / "log" / "audit.jsonl").read_bytes().count(b"\n") == 2


def test_commands_on_tokens_are_in_the_trail_without_secrets(tmp_path: Path) -> None:
    settings = {"HOME": str(tmp_path)}
    token = supertwin(settings, "token", "add", "ci", "--role", "reader").stdout.strip()
    supertwin(settings, "token", "revoke", "ci")
    added, revoked = log(tmp_path)
    assert (added["what"], added["thing"]) == ("token.added", "ci (reader)")
    assert (revoked["what"], revoked["thing"]) == ("token.revoked", "ci")
    assert added["who"] == revoked["who"] == audit.local_user()
    trail = (tmp_path / "log" / "audit.jsonl").read_text()
    assert token.rpartition("_")[2] not in trail


@pytest.mark.parametrize(
    ("words", "things"),
    [
        ((), ["n1", "n2", "ci"]),
        (("--what", "host.*"), ["n1", "n2"]),
        (("--who", "alice"), ["n1", "ci"]),
        (("--who", "alice", "--what", "host.added"), ["n1"]),
        (("--since", "2h"), ["n2", "ci"]),
    ],
)
def test_log_shows_what_was_asked_for(
    tmp_path: Path, old: Callable[[Path], None], words: tuple[str, ...], things: object
) -> None:
    old(tmp_path)
    audit.record(tmp_path, "user bob", "host.removed", "n2")
    audit.record(tmp_path, "token alice", "token.added", "ci")
    assert [event["thing"] for event in log(tmp_path, *words)] == things


@pytest.fixture
def old() -> Callable[[Path], None]:
    """Write an event of last year, and a damaged line."""

    def write(home: Path) -> None:
        event = {"time": "2025-01-01T00:00:00.000000Z", "who": "user alice"}
        event |= {"what": "host.added", "thing": "n1", "outcome": "done"}
        (home / "log").mkdir(mode=0o700)
        path = home / "log" / "audit.jsonl"
        path.write_text(json.dumps(event) + "\n{dama\n")

    return write


def test_log_without_events_is_empty(tmp_path: Path) -> None:
    assert log(tmp_path) == []


def test_log_refuses_an_invalid_age(tmp_path: Path) -> None:
    done = supertwin({"HOME": str(tmp_path)}, "log", "--since", "yesterday")
    assert done.exit_code == 2
    assert "--since 'yesterday': expected 2h, 7d, 4w or 1y" in done.output


@contextmanager
def following(home: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`supertwin log --follow`, after it has read the existing events."""
    command = [*ENDS_WITH_US, sys.executable, "-m", "supertwin", "log", "--follow"]
    env = os.environ | {"SUPERTWIN_HOME": str(home)}
    out = subprocess.PIPE
    with subprocess.Popen(
        [*command, *words], cwd=ROOT, env=env, stdout=out, stderr=out, text=True
    ) as process:
        try:
            reads = Path(f"/proc/{process.pid}/fd")
            file = str(home / "log" / "audit.jsonl")
            wait_until(lambda: file in map(os.path.realpath, reads.iterdir()))
            yield process
        finally:
            process.kill()


def test_follow_prints_new_events_over_rotations_until_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_MAX_BYTES", 1000)
    audit.record(tmp_path, "root", "host.added", "earlier")
    with following(tmp_path, "--what", "host.*", "--format", "json") as process:
        assert process.stdout and process.stderr
        for number in range(60):
            audit.record(tmp_path, "root", "token.added", str(number))
            audit.record(tmp_path, "root", "host.added", str(number))
            assert json.loads(process.stdout.readline())["thing"] == str(number)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
        assert (process.stdout.read(), process.stderr.read()) == ("", "")
    assert (tmp_path / "log" / "audit.jsonl.4").exists()


@pytest.mark.parametrize(
    ("output", "printed"),
    [("table", "  root  host.added  n 1  done  1"), ("csv", ",root,host.added,n 1,")],
)
def test_follow_starts_with_the_requested_events(
    tmp_path: Path, output: str, printed: str
) -> None:
    audit.record(tmp_path, "root", "host.added", "n 1")
    with following(tmp_path, "--since", "1h", "--format", output) as process:
        assert process.stdout
        assert printed in process.stdout.readline()


def test_readers_miss_no_event_of_rotated_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_MAX_BYTES", 1000)
    trail = audit.AuditTrail(tmp_path)
    assert [*trail.news()] == []
    read, written = [], 0
    for more in (1, 2, 12, 0, 25):
        for _ in range(more):
            audit.record(tmp_path, "root", "host.added", str(written))
            written += 1
        for event in trail.news():
            read.append(int(event["thing"]))
            if len(read) == 4:  # of several files, the last not read yet
                audit.record(tmp_path, "root", "host.added", str(written))
                written += 1
    read += [int(event["thing"]) for event in trail.news()]
    assert read == [*range(written)]
    trail.close()
