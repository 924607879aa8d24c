"""`supertwin sample calibrate`: measure the cost of sampling on this machine."""

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from core.settings.settings import Settings

if TYPE_CHECKING:
    from sampling.cost.model import CostModel


@click.command("calibrate")
@click.option(
    "--when-idle",
    is_flag=True,
    help="Wait until the machine is idle, measure at low priority, and start over when "
    "it gets busy.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
def calibrate_command(when_idle: bool, as_json: bool) -> None:
    """Measure the cost of sampling on this machine; takes a minute and a half.

    It starts a PMCD, a bridge and stores of its own, and stops them at the end. The
    running stack is not touched, but stop it for a better measurement.
    """
    from sampling.calibration.calibration import calibrate
    from sampling.cost.saved_model import model_path
    from supertwin.stack.background_calibration import calibrated_when_idle
    from supertwin.stack.private_stack import private_stack

    # A signal ends it like Ctrl-C, so that its child processes end, too.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    settings = Settings()
    path = model_path(settings)
    if when_idle:
        model = calibrated_when_idle(settings, _progress)
    else:
        model = calibrate(settings, _progress, private_stack)
    if as_json:
        click.echo(path.read_text(encoding="utf-8").rstrip())
    else:
        click.echo("\n".join(_lines(model, str(path))))


def _lines(model: "CostModel", path: str) -> Iterator[str]:
    from sampling.cost.wording import basis_lines

    yield from basis_lines(model, model.host, model.cpu)
    yield f"kept in {path}"


def _progress(line: str) -> None:
    click.echo(line, err=True)
