"""PCP's own exporter, pcp2influxdb, as the thesis used it."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from core.settings.tools import TOOLS
from tests.servers import Pmcd, Server, VictoriaMetrics

# It needs the distribution's Python, for which PCP's module is compiled.
_PYTHON = "/usr/bin/python3"
_FOLDER = TOOLS / "pcp2influxdb"
_PACKAGES = (
    "pcp-export-pcp2influxdb",
    *("python3-requests", "python3-urllib3", "python3-idna", "python3-certifi"),
    *("python3-charset-normalizer", "python3-chardet", "python3-six"),
)
DATABASE = "peer"


class Peer(Server):
    """pcp2influxdb, which writes some metrics, counters raw, to a store.

    Its series have the label ``db`` with the value DATABASE, and the instance in their
    name.
    """

    def __init__(
        self,
        folder: Path,
        pmcd: Pmcd,
        store: VictoriaMetrics,
        metrics: Sequence[str],
        period_ms: int,
    ) -> None:
        super().__init__(folder)
        self._command = [
            *(_PYTHON, program(), "--raw", "-t", f"{period_ms}msec"),
            *("-h", pmcd.address, "-g", store.url, "-x", DATABASE, *metrics),
        ]

    def start(self) -> None:
        self.launch(self._command, PYTHONPATH=str(_modules(_FOLDER)))


def program() -> Path:
    """The path of pcp2influxdb; downloads it into .tools if it is not installed."""
    if (installed := shutil.which("pcp2influxdb")) is not None:
        return Path(installed)
    if not _FOLDER.is_dir():
        _fetch()
    return _FOLDER / "usr/bin/pcp2influxdb"


def _fetch() -> None:
    """Unpack the packages of the distribution without installing them."""
    draft = _FOLDER.with_suffix(".new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    _run(["apt-get", "-q", "download", *_PACKAGES], draft)
    for package in draft.glob("*.deb"):
        _run(["dpkg-deb", "-x", str(package), "."], draft)
        package.unlink()
    draft.rename(_FOLDER)


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise SystemExit(
            f"pcp2influxdb cannot be fetched ({last}): install the package "
            "pcp-export-pcp2influxdb of your distribution"
        )


def _modules(folder: Path) -> Path:
    return folder / "usr/lib/python3/dist-packages"
