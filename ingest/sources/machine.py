"""The machine that a source reads: the running system, or a copy of another.

Both are read the same way: files are below ``root``, and a tool is run by its name in
``ingest.remote.collect.TOOLS``. A copy holds the tools' output from the remote machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ingest.errors import ProbeSourceError, SourceMissingError, SourceRefusedError
from ingest.remote.collect import CALLS, TOOLS, targets
from ingest.sources.files import read_file
from ingest.sources.tool import run_tool

# hwloc can read a copy of /sys and /proc.
_READS_COPIES = {"lstopo"}


class ToolOutcome(NamedTuple):
    """Why a tool gave nothing, empty if it did; and whether it is not installed."""

    reason: str = ""
    is_missing: bool = False


@dataclass(frozen=True)
class Machine:
    """The running system, or a copy of another's files and tool outputs.

    ``tools`` is the folder with the outputs of the tools, None without one;
    ``outcomes`` holds each tool's outcome.
    """

    root: Path = Path("/")
    tools: Path | None = None
    outcomes: Mapping[str, ToolOutcome] | None = None

    @property
    def is_here(self) -> bool:
        """Whether it is the running system, which can run tools."""
        return self.tools is None and self.root == Path("/")

    def tool(self, name: str) -> bytes:
        """The output of a tool; raises ProbeSourceError."""
        if self.is_here:
            return CALLS[name]() if name in CALLS else _run(name, TOOLS[name].argv)
        try:
            return self._printed(name)
        except ProbeSourceError:
            if name not in _READS_COPIES:
                raise
        return _run(name, (*TOOLS[name].argv, "--input", str(self.root)))

    def architecture(self) -> str | None:
        """The kernel's name of the processor's architecture; None if unknown."""
        try:
            return self.tool("architecture").decode(errors="replace") or None
        except ProbeSourceError:
            return None

    def tool_each(self, name: str) -> dict[str, bytes | ProbeSourceError]:
        """The output, or the error, of a per-device tool by device."""
        if self.is_here:
            pending = {d: partial(_run, name, argv) for d, argv in targets(TOOLS[name])}
        else:
            keys = sorted(
                key for key in self.outcomes or {} if key.startswith(f"{name}:")
            )
            pending = {k.partition(":")[2]: partial(self._printed, k) for k in keys}
        answers: dict[str, bytes | ProbeSourceError] = {}
        for device, ask in pending.items():
            try:
                answers[device] = ask()
            except ProbeSourceError as error:
                answers[device] = error
        return answers

    def _printed(self, key: str) -> bytes:
        outcome = (self.outcomes or {}).get(key)
        if self.tools is None or outcome is None:
            raise SourceMissingError(
                f"{key} was not run when the machine was collected: collect it again"
            )
        if outcome.is_missing:
            raise SourceMissingError(outcome.reason)
        if outcome.reason:
            # It quotes what the program printed on the other machine.
            raise SourceRefusedError(outcome.reason, printed=outcome.reason)
        return read_file(self.tools / key)


def _run(name: str, argv: tuple[str, ...]) -> bytes:
    tool = TOOLS[name]
    return run_tool(argv, tool.package, tool.timeout, tool.any_status)


HERE = Machine()
