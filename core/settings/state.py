"""The state that the supervisor publishes in ``{home}/stack.json``."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.settings.settings import Settings

AGENTS_FOLDER = "agents"
# The child that counts PMU events.
COUNTING = "pmu"


@dataclass
class ChildState:
    """One child: ``state`` is starting, healthy, unhealthy, waiting or stopped.

    ``since`` is the Unix time of the last change of state, ``seconds`` how long the
    child took to become healthy, ``reason`` why it was last restarted or is unhealthy.
    """

    pid: int | None = None
    state: str = "starting"
    restarts: int = 0
    since: float = 0.0
    seconds: float | None = None
    reason: str = ""


@dataclass
class StackState:
    """The stack: ``phase`` is starting, running, stopping, stopped or failed.

    ``pmcd`` is the address of the PMCD in use, ``settings`` the environment variables
    that the stack was started with, ``cpus`` the CPUs that it may use, ``reason`` why
    it failed, ``calibration`` the progress of the calibration of the sampling cost.
    """

    pid: int
    started: float
    phase: str = "starting"
    reason: str = ""
    calibration: str = ""
    pmcd: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    cpus: list[int] = field(default_factory=list)
    children: dict[str, ChildState] = field(default_factory=dict)

    @property
    def healthy(self) -> bool:
        """Whether all children run and are healthy."""
        children = self.children.values()
        return self.phase == "running" and all(c.state == "healthy" for c in children)


def state_path(home: Path) -> Path:
    """Return the file that holds the state."""
    return home / "stack.json"


def write_state(home: Path, state: StackState) -> None:
    """Replace the published state atomically."""
    write_json(state_path(home), asdict(state))


def read_state(home: Path) -> StackState | None:
    """Return the last published state; None without one."""
    content = read_json(state_path(home))
    if content is None:
        return None
    try:
        children = {k: ChildState(**v) for k, v in content.pop("children").items()}
        return StackState(**content, children=children)
    except (AttributeError, KeyError, TypeError):  # written by another version
        return None


def write_json(path: Path, content: object) -> None:
    """Replace a JSON file atomically."""
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        new.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the object in a JSON file; None if it is missing or truncated."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def counting_home(settings: "Settings") -> Path:
    """The folder of the PMCD that counts PMU events."""
    return settings.home / "pmu"


def agents_home(settings: "Settings") -> Path:
    """The folder of the folders of all agents that run on demand."""
    return settings.home / AGENTS_FOLDER


def agent_home(settings: "Settings", agent: str) -> Path:
    """The folder of the PMCD of an agent that runs on demand."""
    return agents_home(settings) / agent


def child_of_agent(agent: str) -> str:
    """The name of the child that runs an agent's PMCD."""
    return f"agent-{agent}"
