"""`supertwin run`, `check` and `compact`: one service without the supervisor.

For containers and service managers, which start, watch and restart services themselves.
The services get the same options as from the supervisor.
"""

import asyncio
import os
from collections.abc import Callable, Mapping

import click

from core.errors import ExternalStoreError
from core.linux.private_folder import close_home, keep_files_private
from core.settings import pmcd
from core.settings.settings import Settings
from sampling.errors import NoPmcdError
from supertwin.cli.parameters import FiniteNumber
from supertwin.errors import CompactionError, UnhealthyError
from supertwin.stack import children, compaction
from supertwin.stack.children import ChildSpec
from supertwin.stack.fuseki_service import serve
from supertwin.stack.health import Check

_CHECKS: Mapping[str, Callable[[Settings], Check]] = {
    "fuseki": children.fuseki_check,
    "victoria-metrics": children.store_check,
    "api": children.api_check,
    "bridge": children.bridge_check,
}
_SERVICE = click.Choice(list(_CHECKS))


@click.command("run")
@click.argument("service", type=_SERVICE)
@click.option(
    "--everywhere",
    is_flag=True,
    help="Fuseki and VictoriaMetrics: listen on every address, not only on loopback.",
)
def run_command(service: str, everywhere: bool) -> None:
    """Run one service in the foreground until it is stopped."""
    settings = Settings()
    keep_files_private()
    spec = _spec(settings, service, everywhere)
    for path in spec.stale:
        path.unlink(missing_ok=True)
    os.chdir(spec.cwd)
    if service == "fuseki":
        raise SystemExit(asyncio.run(serve(settings, spec)))
    # The service replaces this process: signals and exit status are its own.
    os.execve(spec.command[0], spec.command, {**os.environ, **spec.env})  # noqa: S606


@click.command("check")
@click.argument("service", type=_SERVICE)
def check_command(service: str) -> None:
    """Check that one service of this machine works; exit 1 if it does not."""
    check = _CHECKS[service](Settings())

    async def ask() -> str | None:
        return await check()

    if wrong := asyncio.run(ask()):
        raise UnhealthyError(f"{service}: {wrong}")
    click.echo(f"{service} is healthy")


@click.command("compact")
@click.option(
    "--patience",
    type=FiniteNumber(min=0),
    help="Seconds to wait for readers of the old files.  [default: the query timeout]",
)
def compact_command(patience: float | None) -> None:
    """Free the space of replaced graphs; a running stack does so by itself.

    Only writers wait while the data is copied. If readers do not release the old files
    in time, Fuseki is restarted.
    """
    settings = Settings()
    if settings.fuseki_url:
        raise ExternalStoreError(
            "Fuseki is external (SUPERTWIN_FUSEKI_URL): compact it on its own machine"
        )
    for dataset in compaction.DATASETS:
        try:
            asyncio.run(compaction.compact(settings, dataset, patience))
        except (OSError, ValueError) as error:
            raise CompactionError(
                f"{dataset} not compacted ({error}): see log/fuseki.log"
            ) from error
        click.echo(f"{dataset} compacted")


def _spec(settings: Settings, service: str, everywhere: bool) -> ChildSpec:
    close_home(settings.home)
    if service == "fuseki":
        return children.fuseki(settings, everywhere)
    if service == "victoria-metrics":
        return children.store(settings, everywhere)
    if service == "api":
        return children.api(settings, settings.pmcd)
    return children.bridge(settings, _pmcd(settings))


def _pmcd(settings: Settings) -> str:
    """The PMCD of this machine: only the supervisor can start a private one."""
    address, own = pmcd.choose(settings)
    if own:
        raise NoPmcdError(
            f"no PMCD at {pmcd.SYSTEM_SOCKET}: start it, or set SUPERTWIN_PMCD to the "
            "address of a running one"
        )
    return address
