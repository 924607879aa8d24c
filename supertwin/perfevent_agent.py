"""PCP's perfevent agent in a PMCD of our own: its folder, its line, its name space.

Each configuration has a folder of its own, named by what it holds, so that another one
changes the agent's line in pmcd.conf: PMCD, told to read that again, then starts this
agent anew and leaves the others alone.
"""

import hashlib
import os
import re
import shutil
from pathlib import Path

from supertwin.errors import MendableError

AGENTS = Path("/var/lib/pcp/pmdas")
_NAME_SPACE = Path("/var/lib/pcp/pmns/root")
_PROGRAM = "perfevent/pmdaperfevent"
# PERFEVENT in PCP's stdpmid.
_DOMAIN = 127
_NAMES = f"""
perfevent {{
\tversion {_DOMAIN}:0:0
\tactive {_DOMAIN}:0:1
\thwcounters {_DOMAIN}:*:*
\tderived {_DOMAIN}:*:*
}}
"""
_BLANK = re.compile(r"\s")
# What follows the agents.
_ACCESS = re.compile(r"^\[access\]", re.MULTILINE)


def keep_configuration(pmcd_home: Path, text: str | None) -> None:
    """Make a configuration the agent's; None: there is to be no agent.

    Nothing runs differently before PMCD has read its own configuration again. Raises
    MendableError for a folder that PMCD cannot name.
    """
    home = pmcd_home / "perfevent"
    if _BLANK.search(str(home)):
        raise MendableError(
            f"PMCD splits {home} at its blank: set SUPERTWIN_HOME to a folder without"
        )
    home.mkdir(parents=True, exist_ok=True)
    if text is not None:
        folder = home / _digest(text) / "perfevent"
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "perfevent.conf", text)
    _write(home / "current", "" if text is None else _digest(text))


def kept_configuration(pmcd_home: Path) -> str | None:
    """The configuration that the agent has; None where there is no agent."""
    home = pmcd_home / "perfevent"
    try:
        name = (home / "current").read_text("ascii").strip()
        text = (home / name / "perfevent/perfevent.conf").read_text("utf-8")
        return text if name else None
    except OSError:
        return None


def log_of_agent(pmcd_home: Path) -> Path:
    """Where the agent writes what it cannot count."""
    return pmcd_home / "log" / "perfevent.log"


def forget_others(pmcd_home: Path) -> None:
    """Remove the folders of configurations that are no longer the agent's."""
    text = kept_configuration(pmcd_home)
    for folder in (pmcd_home / "perfevent").glob("*/"):
        if text is None or folder.name != _digest(text):
            shutil.rmtree(folder, ignore_errors=True)


def with_agent(config: str, pmcd_home: Path, user: str | None) -> str:
    """Add the agent to PMCD's configuration, run as ``user`` if that is not root."""
    text = kept_configuration(pmcd_home)
    if text is None:
        return config
    # Debian's agent finds its configuration in no other way. Where an agent stands is
    # not certain: PMCD starts it itself, or has its agent `root` do so.
    words = [
        *("perfevent", str(_DOMAIN), "pipe", "binary", "/usr/bin/env"),
        f"PCP_PMDAS_DIR={pmcd_home / 'perfevent' / _digest(text)}",
        *(str(AGENTS / _PROGRAM), "-d", str(_DOMAIN)),
        *("-l", str(log_of_agent(pmcd_home))),
        *(("-U", user) if user else ()),
    ]
    line = " ".join(words) + "\n"
    access = _ACCESS.search(config)
    at = access.start() if access else len(config)
    return config[:at] + line + config[at:]


def name_space(pmcd_home: Path) -> str:
    """The system's name space, with the agent's names where there is one."""
    text = _NAME_SPACE.read_text("utf-8")
    if kept_configuration(pmcd_home) is None or re.search(r"\bperfevent\b", text):
        return text
    return text.replace("root {", "root {\n\tperfevent", 1) + _NAMES


def check_installed() -> None:
    """Raise MendableError where PCP came without the agent."""
    if not os.access(AGENTS / _PROGRAM, os.X_OK):
        raise MendableError(
            f"PCP's perfevent agent is not installed ({AGENTS / _PROGRAM}): "
            "`apt-get install pcp`, elsewhere the package pcp-pmda-perfevent"
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _write(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
