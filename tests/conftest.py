"""The order of the tests, and a graph store that tests share and empty first."""

import gc
import os
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from tests.servers import Fuseki, VictoriaMetrics

# One worker takes a whole folder if its tests share servers; other tests go file by
# file. The longest folders come first; single files then fill the gaps.
_WHOLE = ("e2e", "api", "web", "dashboards", "queries")
# Files of these folders that start servers of their own.
_OWN_SERVERS = ("tests/e2e/test_backup.py", "tests/e2e/test_recovery.py")
_ORDER = ("e2e", "api", "web", "sampler_bridge", "supertwin", "dashboards", "queries")

# This halves the CPU time of a JVM's start by leaving out optimisation for long runs.
# Benchmarks use the JVM that users have.
os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# Every client would load all certificate authorities: 20 ms, thousands of times, while
# almost no test uses TLS. Load them once.
_transport = httpx._transports.default
_transport.create_ssl_context = cache(_transport.create_ssl_context)  # type: ignore[attr-defined]

# By default a client gives up after 5 s; on a busy machine Fuseki may need longer.
_patience = httpx._config.DEFAULT_TIMEOUT_CONFIG  # type: ignore[attr-defined]
_patience.connect = _patience.read = _patience.write = _patience.pool = 120.0

# On a busy machine the duration of an example means nothing.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")


def _folder(nodeid: str) -> str:
    return nodeid.removeprefix("tests/").partition("/")[0]


class Folders(LoadScopeScheduling):
    """Assigns whole folders, then files, in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        folder, file = _folder(nodeid), nodeid.partition("::")[0]
        return folder if folder in _WHOLE and file not in _OWN_SERVERS else file


def pytest_configure() -> None:
    """On SIGTERM, tear everything down, as on Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # `nohup make test &` ignores both, and processes of the tests would inherit that.
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture
def handlers() -> Iterator[None]:
    """Restore the handlers of the signals that end a process."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [(number, signal.getsignal(number)) for number in numbers]
    yield
    for number, handler in before:
        signal.signal(number, handler)


def pytest_collection() -> None:
    """Collection creates thousands of tests that all stay: there is no garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Let Python free objects at its end as usual."""
    gc.unfreeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Folders:
    """Replace `--dist loadfile`, which starts with the files that have most tests."""
    config.option.loadscopereorder = False
    return Folders(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort long folders first, so that no worker waits for another at the end."""
    order = {folder: place for place, folder in enumerate(_ORDER)}
    items.sort(key=lambda item: order.get(_folder(item.nodeid), len(order)))


@pytest.fixture(scope="session")
def stopped_store(tmp_path_factory: pytest.TempPathFactory) -> VictoriaMetrics:
    """Return the series store that the shared Fuseki reads; most tests need none."""
    return VictoriaMetrics(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="session")
def shared_store(stopped_store: VictoriaMetrics) -> Iterator[VictoriaMetrics]:
    """Start the series store that the shared Fuseki reads."""
    with stopped_store:
        yield stopped_store


@pytest.fixture(scope="session")
def shared_fuseki(
    tmp_path_factory: pytest.TempPathFactory, stopped_store: VictoriaMetrics
) -> Iterator[Fuseki]:
    """Start one Fuseki for all tests: each start takes seconds of CPU."""
    with Fuseki(tmp_path_factory.mktemp("fuseki"), stopped_store.url) as server:
        yield server


@pytest.fixture(scope="session")
def fuseki(shared_fuseki: Fuseki) -> Fuseki:
    """Return a running Fuseki, with the data that earlier tests left."""
    return shared_fuseki


@pytest.fixture(scope="module")
def emptied_fuseki(shared_fuseki: Fuseki) -> Fuseki:
    """Return empty datasets that a module may fill for all of its tests."""
    shared_fuseki.empty()
    return shared_fuseki


@pytest.fixture
def before_fuseki(
    fuseki: Fuseki, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Fuseki:
    """Return empty datasets, and point the settings of `supertwin` to them only."""
    fuseki.empty()
    for name in [name for name in os.environ if name.startswith("SUPERTWIN_")]:
        monkeypatch.delenv(name)
    for name, value in fuseki.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return fuseki
