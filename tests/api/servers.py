"""Real servers for the tests: Fuseki, VictoriaMetrics and the API, on free ports."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
JAR = next((ROOT / ".tools" / "fuseki").glob("jena-fuseki-server-*.jar"))
_LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server((_LOOPBACK, 0)) as held:
        return int(held.getsockname()[1])


@contextmanager
def process(command: list[str], folder: Path, url: str, **env: str) -> Iterator[str]:
    """A server that answers at ``url`` while the block runs, and is ended after it."""
    log = folder / "server.log"
    with log.open("wb") as output:
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | env,
        )
        try:
            _wait(url, child, log)
            yield url
        finally:
            child.terminate()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _wait(url: str, child: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(600):
        assert child.poll() is None, log.read_text(errors="replace")[-3000:]
        try:
            httpx.get(url, timeout=2, trust_env=False)
            return
        except httpx.HTTPError:
            time.sleep(0.05)
    raise AssertionError(f"nothing at {url}: {log.read_text(errors='replace')}")


@contextmanager
def fuseki(folder: Path) -> Iterator[str]:
    """A Fuseki with the project's own configuration; its base URL."""
    text = (ROOT / "supertwin" / "fuseki.ttl").read_text()
    for name in ("twin", "history"):
        (folder / name).mkdir(parents=True)
        text = text.replace(f"@{name.upper()}@", str(folder / name))
    (folder / "fuseki.ttl").write_text(text)
    port = free_port()
    command = ["java", "-Xmx512m", "-jar", str(JAR), f"--config={folder}/fuseki.ttl"]
    base = f"http://{_LOOPBACK}:{port}"
    arguments = [*command, f"--port={port}", "--localhost", "--ping"]
    env = {"FUSEKI_BASE": str(folder)}
    with process(arguments, folder, f"{base}/$/ping", **env):
        yield base


@contextmanager
def victoria_metrics(folder: Path) -> Iterator[str]:
    """An empty series store; its base URL."""
    port = free_port()
    base = f"http://{_LOOPBACK}:{port}"
    command = [
        str(ROOT / ".tools" / "victoria-metrics"),
        f"-storageDataPath={folder / 'data'}",
        f"-httpListenAddr={_LOOPBACK}:{port}",
        "-search.latencyOffset=0s",
        "-dedup.minScrapeInterval=1ms",
        "-retentionPeriod=90d",
        "-memory.allowedPercent=5",
    ]
    with process(command, folder, f"{base}/health"):
        yield base


@contextmanager
def api(folder: Path, **settings: str) -> Iterator[str]:
    """``python -m api`` with these settings (lower case); its base URL."""
    port = free_port()
    base = f"http://{_LOOPBACK}:{port}"
    env = {f"SUPERTWIN_{name.upper()}": value for name, value in settings.items()}
    env["SUPERTWIN_API_PORT"] = str(port)
    command = [sys.executable, "-W", "error", "-m", "api"]
    with process(command, folder, f"{base}/context.jsonld", **env):
        yield base
