"""What a source reads: the system that runs here, or a copy of another's.

One way for both: files stand below ``root``, and a tool is asked for by the name that
it has in ``ingest.remote.collect.TOOLS``. A copy holds what the tools printed over
there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ingest.errors import SourceError, SourceMissingError, SourceRefusedError
from ingest.remote.collect import CALLS, TOOLS, targets
from ingest.sources.files import read_file
from ingest.sources.tool import run_tool

# hwloc reads a copy of /sys and /proc as well as it reads its own.
_READS_COPIES = {"lstopo"}


@dataclass(frozen=True)
class Machine:
    """This system, or a copy of another's files and tool outputs.

    ``tools`` is the folder of what the tools printed over there, None where there is
    no such folder; ``outcomes`` says of each tool how it fared.
    """

    root: Path = Path("/")
    tools: Path | None = None
    outcomes: Mapping[str, Mapping[str, Any]] | None = None

    @property
    def is_here(self) -> bool:
        """Whether it is the system that runs here, which can be asked for more."""
        return self.tools is None and self.root == Path("/")

    def tool(self, name: str) -> bytes:
        """What the tool of that name prints; raises SourceError."""
        if self.is_here:
            return CALLS[name]() if name in CALLS else _run(name, TOOLS[name].argv)
        try:
            return self._printed(name)
        except SourceError:
            if name not in _READS_COPIES:
                raise
        return _run(name, (*TOOLS[name].argv, "--input", str(self.root)))

    def architecture(self) -> str | None:
        """What the kernel calls the processor's architecture; None where not known."""
        try:
            return self.tool("architecture").decode(errors="replace") or None
        except SourceError:
            return None

    def tool_each(self, name: str) -> dict[str, bytes | SourceError]:
        """What a tool that is run for each device prints, or why not, by device."""
        if self.is_here:
            asked = {d: partial(_run, name, argv) for d, argv in targets(TOOLS[name])}
        else:
            keys = sorted(
                key for key in self.outcomes or {} if key.startswith(f"{name}:")
            )
            asked = {k.partition(":")[2]: partial(self._printed, k) for k in keys}
        answers: dict[str, bytes | SourceError] = {}
        for device, ask in asked.items():
            try:
                answers[device] = ask()
            except SourceError as error:
                answers[device] = error
        return answers

    def _printed(self, key: str) -> bytes:
        outcome = (self.outcomes or {}).get(key)
        if self.tools is None or outcome is None:
            raise SourceMissingError(f"{key} was not asked: collect the machine anew")
        if reason := outcome.get("reason"):
            missing = outcome.get("missing")
            raise (SourceMissingError if missing else SourceRefusedError)(str(reason))
        return read_file(self.tools / key)


def _run(name: str, argv: tuple[str, ...]) -> bytes:
    tool = TOOLS[name]
    return run_tool(argv, tool.package, tool.timeout, tool.any_status)


HERE = Machine()
