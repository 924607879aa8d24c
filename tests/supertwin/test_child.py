"""One child: it hangs, dies at once, or writes without end."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from core.errors import StartError
from supertwin.stack.child import Child
from supertwin.stack.childlog import ChildLog
from supertwin.stack.children import ChildSpec
from supertwin.stack.health import answers_http, is_fresh
from tests.ports import free_ports


def web_server(folder: Path, **times: float) -> ChildSpec:
    (port,) = free_ports(1)
    words = ("-m", "http.server", "--bind", "127.0.0.1", str(port))
    check = answers_http(port, "/", (200,))
    return ChildSpec("web", (sys.executable, *words), check, folder, **times)  # type: ignore[arg-type]


def dying(folder: Path, text: str) -> ChildSpec:
    command = (sys.executable, "-c", text)
    return ChildSpec("dying", command, is_fresh(folder / "never", 1), folder)


async def until(child: Child, state: str, restarts: int) -> None:
    async with asyncio.timeout(120):
        while (child.state.state, child.state.restarts) != (state, restarts):
            await asyncio.sleep(0.05)


def test_hung_child_is_restarted(tmp_path: Path) -> None:
    async def scenario() -> None:
        spec = web_server(tmp_path, hang_after=0.5)
        reasons: list[str] = []
        log = ChildLog(tmp_path, "web")
        child = Child(spec, log, lambda: None, reasons.append)
        task = asyncio.create_task(child.run())
        await child.ready
        first = child.state.pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        await until(child, "healthy", 1)
        assert child.state.pid != first
        assert child.state.reason.startswith("hung for ")
        assert reasons == [child.state.reason]
        task.cancel()
        await child.stop()
        assert child.state.state == "stopped"

    asyncio.run(scenario())


def test_error_of_a_crashing_child_is_shown(tmp_path: Path) -> None:
    async def scenario() -> None:
        spec = dying(tmp_path, "raise SystemExit('no such luck')")
        child = Child(spec, ChildLog(tmp_path, "dying"), lambda: None)
        task = asyncio.create_task(child.run())
        with pytest.raises(StartError, match="dying ended with status 1: no such luck"):
            await child.ready
        task.cancel()
        await child.stop()

    asyncio.run(scenario())


def test_child_that_never_gets_ready_fails_the_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        check = is_fresh(tmp_path / "never", 1)
        command = (sys.executable, "-c", "import time; time.sleep(60)")
        spec = ChildSpec("late", command, check, tmp_path, ready_within=0.3)
        child = Child(spec, ChildLog(tmp_path, "late"), lambda: None)
        task = asyncio.create_task(child.run())
        with pytest.raises(StartError, match="late not ready after .* no never yet"):
            await child.ready
        task.cancel()
        await child.stop()

    asyncio.run(scenario())


def test_missing_program_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        spec = ChildSpec("none", ("/no/such",), is_fresh(tmp_path, 1), tmp_path)
        child = Child(spec, ChildLog(tmp_path, "none"), lambda: None)
        task = asyncio.create_task(child.run())
        with pytest.raises(StartError, match="/no/such"):
            await child.ready
        task.cancel()
        await child.stop()

    asyncio.run(scenario())


def test_log_size_stays_bounded(tmp_path: Path) -> None:
    log = ChildLog(tmp_path, "talker", max_bytes=100)
    with log.open() as out:
        out.write(b"x" * 200)
        out.flush()
        log.bound()
        out.write(b"last\n")
        out.flush()
    assert log.path.read_bytes() == b"last\n"
    assert (tmp_path / "talker.log.1").stat().st_size == 200
    assert log.error_line() == ": last"


def test_shown_error_omits_the_traceback(tmp_path: Path) -> None:
    log = ChildLog(tmp_path, "java")
    with log.open() as out:
        out.write(b"Exception: no memory\n\tat a.b.C(D.java:1)\n  ... 3 more\n")
    assert log.error_line() == ": Exception: no memory"
