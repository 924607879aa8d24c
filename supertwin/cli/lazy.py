"""Groups that import their commands on use."""

import gc
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click


class LazyGroup(click.Group):
    """A group of commands by name, each as ``module:attribute``.

    A command then does not wait for the imports of other commands.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None without one of that name."""
        if cmd_name not in self._lazy:
            return None
        module, _, name = self._lazy[cmd_name].partition(":")
        with all_alive():
            found: click.Command = getattr(importlib.import_module(module), name)
        return found


@contextmanager
def all_alive() -> Iterator[None]:
    """Pause garbage collection during an import: it takes a sixth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
