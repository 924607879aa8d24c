from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import httpx
import pytest
from playwright.sync_api import Browser, Page

from api.access.tokens import TokenRole, add_token
from tests.browser import Watched, chromium, watched_page
from tests.e2e.launched_runs import begun, followed, recorded
from tests.e2e.observation_pages import SECONDS, Open, log_in
from tests.observed import forget
from tests.servers import wait_until
from tests.slurm import Slurm
from tests.sshd import Sshd
from tests.stack import Stack, running_stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Start one stack for all tests that leave it unchanged."""
    with running_stack(tmp_path_factory.mktemp("stack")) as stack:
        yield stack


@pytest.fixture(scope="module")
def there(stack: Stack) -> Iterator[Sshd]:
    """Serve a host over ssh whose PMCD is the stack's."""
    run = stack.home / "pmcd/run"
    # Any user may connect, as to a system's PMCD.
    run.chmod(0o755)
    over = {"/run/pcp": str(run)}
    with Sshd("SetEnv PATH=/usr/bin:/bin", over=over) as server:
        yield server


@pytest.fixture
def near(stack: Stack, there: Sshd) -> Iterator[Stack]:
    """Give the stack ssh access to the host; remove the host afterwards."""
    config = stack.home / "ssh_config"
    config.write_text(there.config.read_text())
    yield stack
    stack.run("remove", "node9", "--history", "--yes", check=False)
    config.unlink()


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """Start one Slurm for all tests: its two daemons take a second to connect."""
    with Slurm(tmp_path_factory.mktemp("slurm")) as slurm:
        yield slurm


@pytest.fixture(scope="session")
def operator_token(stack: Stack) -> str:
    return add_token(stack.home, "operator", TokenRole.OPERATOR, None)


@pytest.fixture(scope="session")
def operator(stack: Stack, operator_token: str) -> Iterator[httpx.Client]:
    """Return a client that may run commands on the stack."""
    headers = {"Authorization": f"Bearer {operator_token}"}
    with httpx.Client(
        base_url=stack.api, headers=headers, timeout=120, trust_env=False
    ) as client:
        yield client


@pytest.fixture(scope="session")
def pair(stack: Stack, operator: httpx.Client) -> dict[str, str]:
    """Run two groups of three runs, one much longer than the other; return their ids.

    If the machine delays a run by half a second, or the bridge its first ticks, the
    group runs again.
    """
    found = {}

    def sampled(run: str) -> bool:
        wanted = {"metric": "kernel.all.pswitch"}
        times = operator.get(f"/observations/{run}/series", params=wanted).json()[
            "times"
        ]
        return bool(times) and times[0] < 0.2

    def is_steady(name: str, seconds: str) -> bool:
        one = begun(
            operator,
            *("sleep", seconds),
            repeat=3,
            every="50ms",
            metrics=["kernel.all.pswitch", "kernel.percpu.cpu.user"],
            pin="compact",
            threads="1",
            tags=["pair", name],
        )
        runs = followed(operator, one["id"])[-1]["runs"]
        for run in runs:
            assert recorded(operator, run["node"]) == "completed"
        found[name] = one["id"]
        if max(run["seconds"] for run in runs) < float(seconds) + 0.5 and all(
            sampled(run["node"].rpartition("/")[2]) for run in runs
        ):
            return True
        forget(stack, one["id"])
        return False

    for name, seconds in SECONDS.items():
        wait_until(partial(is_steady, name, seconds), what=f"runs of {seconds} s")
    return found


# Per module, as in tests/web/conftest.py.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def visit(browser: Browser, stack: Stack) -> Iterator[Open]:
    """Open a path, logged in if a token is given; fail on any error in the page."""
    with ExitStack() as held:
        opened: list[Watched] = []

        def go(path: str, token: str = "", scheme: str = "light") -> Page:
            watched = held.enter_context(watched_page(browser, stack.api, scheme))
            opened.append(watched)
            if token:
                log_in(watched.page, stack, token)
            watched.page.goto(stack.api + path)
            return watched.page

        yield go
        for watched in opened:
            watched.check()
            assert watched.page.evaluate("window.hacked") is None
