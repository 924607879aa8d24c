"""The configuration of a private PMCD and its agent, as files in the PMCD's folder.

It needs only Python 3.8 or newer, because it is sent to other hosts together with
`daemon`. Each configuration has a folder that is named by a digest of its content. A
new one therefore changes the agent's line in pmcd.conf, and PMCD restarts the agent
when it reads that file again.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from sampling.agents.kinds import KINDS
from sampling.agents.private_pmcd import (
    ACCESS,
    AGENTS,
    NAME_SPACE,
    PMCD_AGENT,
    AgentKind,
    make_folders,
    remove,
    write_whole,
)


def keep_configuration(home: Path, agent: str, text: str | None) -> None:
    """Set the configuration of the agent; None removes the agent.

    This has no effect until PMCD reads its own configuration again.
    """
    kind = KINDS[agent]
    for folder in (home.parent, home):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if kind.has_own_numbers:
        # PCP's own numbers of instances belong to its own agents.
        (home / "var/config/pmda").mkdir(parents=True, exist_ok=True)
    make_folders(home)
    (home / "agent").mkdir(exist_ok=True)
    name = _folder(kind, text)
    if text is not None:
        (home / "agent" / name).mkdir(exist_ok=True)
        kind.write(home / "agent" / name, text)
    write_whole(home / "agent/current", name)
    for folder in (home / "agent").iterdir():
        if folder.is_dir() and folder.name != name:
            shutil.rmtree(str(folder), ignore_errors=True)
    if not kind.reads_again:
        # Messages of an earlier agent about an event do not hold for this one.
        remove(log_of_agent(home, agent))
    write_whole(home / "pmcd.conf", _pmcd_conf(home, kind, text))
    write_whole(home / "pmns", _name_space(kind, text))


def kept_configuration(home: Path, agent: str) -> str | None:
    """The configuration of the agent; None if there is no agent."""
    try:
        folder = current_folder(home)
        return (folder / KINDS[agent].file).read_text("utf-8") if folder else None
    except OSError:
        return None


def current_folder(home: Path) -> Path | None:
    """The folder of the agent's configuration; None if there is no agent."""
    try:
        name = (home / "agent/current").read_text("ascii").strip()
    except OSError:
        return None
    return home / "agent" / name if name else None


def log_of_agent(home: Path, agent: str) -> Path:
    """The file in which the agent reports what it cannot do."""
    return home / f"log/{agent}.log"


def _pmcd_conf(home: Path, kind: AgentKind, text: str | None) -> str:
    lines = [f"pmcd 2 dso pmcd_init {AGENTS / PMCD_AGENT}"]
    if text is not None:
        folder = home / "agent" / _folder(kind, text)
        command = kind.words(folder, log_of_agent(home, kind.name))
        line = [kind.name, str(kind.domain), "pipe", kind.protocol, *command]
        lines.append(" ".join(line))
    return "\n".join(lines) + "\n" + ACCESS


def _name_space(kind: AgentKind, text: str | None) -> str:
    """The system's name space, with the agent's names if there is an agent."""
    names = NAME_SPACE.read_text("utf-8")
    if text is None or re.search(rf"\b{kind.name}\b", names):
        return names
    line, subtree = kind.name_space()
    return names.replace("root {", f"root {{\n\t{line}", 1) + subtree


def _folder(kind: AgentKind, text: str | None) -> str:
    if text is None:
        return ""
    if kind.reads_again:
        return "live"
    return hashlib.sha256(text.encode()).hexdigest()[:12]
