"""An archive of Fuseki's classes, which saves a third of the CPU time of a start.

    python -m supertwin.stack.fuseki_classes

makes the archive next to the jar, unless one exists for this Java and this jar.
"""

import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from core.errors import UserError
from core.linux.ports import free_port
from core.settings import tools
from core.settings.accounts import Account, jetty_line, write_secret
from core.settings.settings import LOOPBACK
from core.stores.endpoint import Endpoint
from core.stores.errors import EndpointError
from supertwin.errors import BuildError
from supertwin.stack.children import fuseki_config, fuseki_main

_START, _STOP = 90.0, 60.0  # seconds


def make_archive() -> Path:
    """Return the archive; if needed, a Fuseki that runs a few requests makes it."""
    java = tools.java()
    archive = tools.fuseki_classes(java)
    if not archive.exists():
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            # Atomically: Java crashes on an incomplete archive.
            _dump(java, Path(folder)).replace(archive)
        for older in set(archive.parent.glob("*.jsa")) - {archive}:
            older.unlink()
    return archive


def _dump(java: Path, folder: Path) -> Path:
    archive, port = folder / "classes.jsa", free_port(LOOPBACK)
    account = ("supertwin", secrets.token_urlsafe(12))
    _configure(folder, account)
    command = _command(java, port, folder, archive)
    with (
        (folder / "output").open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output) as process,  # noqa: S603
    ):
        try:
            _exercise(process, f"http://{':'.join(account)}@{LOOPBACK}:{port}/twin")
            process.send_signal(signal.SIGTERM)
            process.wait(_STOP)
        finally:
            process.kill()
    if not archive.exists():
        raise BuildError(
            f"{java} made no archive of Fuseki's classes: run ./install.sh again"
        )
    return archive


def _configure(folder: Path, account: Account) -> None:
    for name in ("twin", "history"):
        (folder / name).mkdir()
    config = fuseki_config(folder, account[0])
    (folder / "fuseki.ttl").write_text(config, encoding="utf-8")
    write_secret(folder / "passwd", jetty_line(account))


def _command(java: Path, port: int, folder: Path, archive: Path) -> list[str]:
    return [
        *(str(java), f"-XX:ArchiveClassesAtExit={archive}"),
        *fuseki_main(java, port),
        *("--config", str(folder / "fuseki.ttl"), "--ping", "--modules=false"),
    ]


def _exercise(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + _START
    with Endpoint(url) as twin:
        while True:
            try:
                twin.update("INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 1 } }")
                twin.select("SELECT * { GRAPH ?g { ?s ?p ?o } } ORDER BY ?o")
                return
            except EndpointError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise BuildError(f"Fuseki did not start: {error}") from error
            time.sleep(0.1)


if __name__ == "__main__":
    try:
        make_archive()
    except UserError as error:
        sys.exit(str(error))
