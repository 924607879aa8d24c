"""`supertwin up`, `down`, `status` and `docs`: the stack on this machine."""

import contextlib
import json
import signal
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from core.linux.private_folder import keep_files_private
from core.settings.home import CHECKOUT
from core.settings.running import status
from core.settings.settings import Settings
from core.settings.state import StackState, read_json, write_json
from core.stores.datasets import dataset
from core.stores.errors import EndpointError
from ontology.iris import Iris
from sampling.account.status_lines import (
    SamplingStatus,
    read_sampled,
    sampled_lines,
    status_path,
)
from sampling.cost.saved_model import calibrated_line, is_calibrated
from supertwin.cli import summary
from supertwin.stack import stack
from supertwin.stack.priority import priorities

if TYPE_CHECKING:
    from ingest.loading import Twin

_SAMPLES_WITHIN = 15.0
_LOOK = 0.1


@click.command("up")
def up_command() -> None:
    """Start the stack, load this machine's twin, and sample it."""
    settings = Settings()
    keep_files_private()
    # A closed terminal or a killed `make` counts as an interruption, too.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with stack.turn(settings, _progress):
        _up(settings)


def _up(settings: Settings) -> None:
    began = time.time()
    with stack.started(settings, _progress) as state:
        _publish_ontology(settings)
        twin = _load(settings, state)
        _describe_agents(settings)
        if twin.monitored:
            _wait_for_samples(settings)
            _open_once(settings)
    verb = "was up already, seen" if state.started < began else "up"
    _progress(f"{verb} after {time.time() - began:.1f} s")
    for line in summary.up_lines(settings, twin):
        click.echo(line)


@click.command("down")
def down_command() -> None:
    """Stop what `up` started, and nothing else."""
    ran = stack.stop(Settings(), _progress)
    click.echo("stopped" if ran else "nothing is running")


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print the state as JSON.")
@click.pass_context
def status_command(ctx: click.Context, as_json: bool) -> None:
    """Show the services and the account of all points.

    The exit status is 0 if everything runs and no point was lost in the last 10 s,
    else 1.
    """
    settings = Settings()
    state = status(settings)
    sampled = read_sampled(settings.home / "bridge", settings.host)
    if as_json:
        found = _document(state, sampled) if state else None
        click.echo(json.dumps(found, indent=1))
    else:
        lines = ["nothing is running"]
        if state:
            waits = "" if is_calibrated(settings) else state.calibration
            cost = summary.cost_line(calibrated_line(settings), waits)
            lines = [*summary.status_lines(state), cost, *sampled_lines(sampled)]
        click.echo("\n".join(lines))
    ctx.exit(0 if state and state.healthy and not sampled.losing else 1)


def _document(state: StackState, sampled: SamplingStatus) -> dict[str, Any]:
    return {**asdict(state), "priority": priorities(state), **asdict(sampled)}


@click.command("docs")
@click.pass_context
def docs_command(ctx: click.Context) -> None:
    """Write the pages under docs/ that are generated from the code."""
    from supertwin.pages import write_pages

    root = ctx.find_root().command
    assert isinstance(root, click.Group)  # noqa: S101
    for path in write_pages(CHECKOUT / "docs", root):
        click.echo(path)


def _publish_ontology(settings: Settings) -> None:
    """Replace the ontology in the graph store, if this version has another one."""
    from ingest.load.ontology import publish_ontology

    with dataset(settings, "twin") as twin:
        publish_ontology(twin, Iris(settings.base))


def _describe_agents(settings: Settings) -> None:
    """Describe the agents that this machine may run on demand; starts none."""
    from sampling.agents.checking import check_agents

    with dataset(settings, "twin") as twin:
        check_agents(settings, settings.host, twin, tries=False)


def _load(settings: Settings, state: StackState) -> "Twin":
    """Load this machine's twin, unless it was loaded for this stack already."""
    from ingest.loading import load_host, read_twin
    from sampling.monitoring import monitoring

    done = settings.home / "loaded.json"
    twin = read_twin(settings, settings.host)
    if twin is None or (read_json(done) or {}).get("stack") != state.started:
        load_host(settings, monitoring(settings), state.pmcd, _progress)
        write_json(done, {"stack": state.started})
        twin = read_twin(settings, settings.host)
    if twin is None:
        raise EndpointError(
            f"{settings.host} was loaded, but the graph lacks it: see `make status`"
        )
    return twin


def _wait_for_samples(settings: Settings) -> None:
    """Wait for the bridge's first samples, so that `up` ends with series."""
    status = status_path(settings.home / "bridge", settings.host)
    deadline = time.monotonic() + _SAMPLES_WITHIN
    while time.monotonic() < deadline:
        if (read_json(status) or {}).get("written"):
            return
        time.sleep(_LOOK)
    _progress(f"no sample after {_SAMPLES_WITHIN:.0f} s: {status} says why")


def _open_once(settings: Settings) -> None:
    """Request the first page, since the first request takes a second."""
    import httpx

    address = f"{settings.api}/dashboards/monitor"
    with contextlib.suppress(httpx.HTTPError):
        httpx.get(address, params={"host": settings.host}, timeout=10, trust_env=False)


def _progress(line: str) -> None:
    click.echo(line, err=True)
