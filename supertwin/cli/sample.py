"""`supertwin sample`: what is sampled, and its cost."""

import click

from supertwin.cli.lazy import LazyGroup

_COMMANDS = {
    "add": "supertwin.cli.plans:add_command",
    "calibrate": "supertwin.cli.calibrate:calibrate_command",
    "estimate": "supertwin.cli.estimate:estimate_command",
    "list": "supertwin.cli.plans:list_command",
    "remove": "supertwin.cli.plans:remove_command",
}


@click.group("sample", cls=LazyGroup, lazy=_COMMANDS)
def sample_group() -> None:
    """Set what is sampled, and how often; show and measure the cost."""
