"""Options for host names, which are validated."""

from typing import Any

import click

from ingest.host_name import check_host


class HostName(click.ParamType[str]):
    """A host name; an empty one, from an unset variable, is an error.

    Raises HostNameError.
    """

    name = "text"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the name itself."""
        return check_host(str(value))


HOST = HostName()
HOST_OPTION = click.option(
    "--host", type=HOST, default=None, help="Name of the host; else this one."
)
CONFIRM_OPTION = click.option(
    "--confirm", is_flag=True, help="Replace another machine of that name."
)
