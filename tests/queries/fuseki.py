"""Starts a real Fuseki for the tests: free port, folder of its own, stopped by pid."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

JAR = Path(__file__).parents[2] / ".tools/fuseki/jena-fuseki-server-5.6.0.jar"
START_SECONDS = 60.0

CONFIG = """\
PREFIX fuseki: <http://jena.apache.org/fuseki#>
PREFIX tdb2:   <http://jena.apache.org/2016/tdb#>
<#service> a fuseki:Service ; fuseki:name "twin" ; fuseki:dataset <#dataset> ;
  fuseki:endpoint [ fuseki:operation fuseki:query ; fuseki:name "sparql" ] ;
  fuseki:endpoint [ fuseki:operation fuseki:update ; fuseki:name "update" ] ;
  fuseki:endpoint [ fuseki:operation fuseki:gsp-rw ; fuseki:name "data" ] .
<#frozen> a fuseki:Service ; fuseki:name "frozen" ; fuseki:dataset <#dataset> ;
  fuseki:endpoint [ fuseki:operation fuseki:query ; fuseki:name "sparql" ] ;
  fuseki:endpoint [ fuseki:operation fuseki:gsp-r ; fuseki:name "data" ] .
<#dataset> a tdb2:DatasetTDB2 ; tdb2:location "%s" ; tdb2:unionDefaultGraph true .
"""


@contextmanager
def running_fuseki(folder: Path) -> Iterator[str]:
    """The base URL of a Fuseki with the dataset ``twin``, and ``frozen``, the same
    to read only."""
    if not JAR.exists():
        raise RuntimeError(f"{JAR} is missing: run `make up` or `make test` once")
    port = _free_port()
    config = folder / "config.ttl"
    config.write_text(CONFIG % (folder / "twin").as_posix())
    with (folder / "fuseki.log").open("wb") as log:
        server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "java", "-Xmx768m", "-jar", JAR]
            + ["--localhost", "--port", str(port)]
            + ["--config", config],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "FUSEKI_BASE": str(folder / "base")},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(server, url, folder / "fuseki.log")
            yield url
        finally:
            server.kill()
            server.wait()


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(f"{url}/$/ping", trust_env=False).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise RuntimeError(f"Fuseki did not start:\n{log.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
