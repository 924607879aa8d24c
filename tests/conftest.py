"""The order of the tests; a graph store for all tests that empty it first."""

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

from tests.servers import Fuseki

# One worker takes a folder whole where its tests share servers; all else goes file by
# file. The longest come first: what goes by file then fills the gaps.
_WHOLE = ("e2e", "api", "web", "dashboards", "queries")
_ORDER = ("e2e", "api", "web", "sampler_bridge", "supertwin", "dashboards", "queries")

# Half of the CPU of a start: what a JVM does for its later hours is left out.
# Benchmarks have the JVM that users have.
os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# Every client reads the authorities of the whole world: 20 ms, thousands of times here,
# where almost nobody speaks TLS. Read once, they are the same.
_transport = httpx._transports.default
_transport.create_ssl_context = cache(_transport.create_ssl_context)  # type: ignore[attr-defined]

# What an example takes says nothing beside other tests on a busy machine.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")


def _folder(nodeid: str) -> str:
    return nodeid.removeprefix("tests/").partition("/")[0]


class Folders(LoadScopeScheduling):
    """Hands out whole folders, then files, in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        folder = _folder(nodeid)
        return folder if folder in _WHOLE else nodeid.partition("::")[0]


def pytest_configure() -> None:
    """Tear everything down on SIGTERM too, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # `nohup make test &` ignores both, and what tests start would inherit that.
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_collection() -> None:
    """Thousands of tests are made, and all stay: nothing there is garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """What Python frees at its end is freed as ever."""
    gc.unfreeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Folders:
    """In the place of `--dist loadfile`, which begins with what has most tests."""
    config.option.loadscopereorder = False
    return Folders(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long folders first: at the end no worker waits for the other."""
    order = {folder: place for place, folder in enumerate(_ORDER)}
    items.sort(key=lambda item: order.get(_folder(item.nodeid), len(order)))


@pytest.fixture(scope="session")
def shared_fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuseki]:
    """One Fuseki for all: starting another takes seconds of CPU."""
    with Fuseki(tmp_path_factory.mktemp("fuseki")) as server:
        yield server


@pytest.fixture(scope="session")
def fuseki(shared_fuseki: Fuseki) -> Fuseki:
    """A running Fuseki, with what the tests before left there."""
    return shared_fuseki


@pytest.fixture(scope="module")
def emptied_fuseki(shared_fuseki: Fuseki) -> Fuseki:
    """Empty datasets, which a module may fill for all of its tests."""
    shared_fuseki.empty()
    return shared_fuseki


@pytest.fixture
def before_fuseki(
    fuseki: Fuseki, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Fuseki:
    """Empty datasets, and an environment in which `supertwin` finds nothing else."""
    fuseki.empty()
    for name in [name for name in os.environ if name.startswith("SUPERTWIN_")]:
        monkeypatch.delenv(name)
    for name, value in fuseki.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return fuseki
