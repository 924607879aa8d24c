"""Checks which agents can run on this machine, and why the others cannot.

This module must run on Python 3.8, because it is sent to other hosts with `daemon`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterable  # noqa: UP035

from sampling.agents.bpftrace_script import (
    attached_probes,
    for_a_moment,
    lacking,
    refusal,
    skipped,
)
from sampling.agents.kinds import KINDS, Bpftrace
from sampling.agents.known import KNOWN, KPROBE, AgentModule, KnownAgent
from sampling.agents.private_pmcd import (
    AGENTS,
    AgentError,
    environment,
    make_folders,
)

_TRY_SECONDS = 30.0
# The kernel shows this device if it was built with kprobes.
_KPROBES = Path("/sys/bus/event_source/devices/kprobe")
NO_KPROBES = "this kernel has no kprobes (CONFIG_KPROBE_EVENTS)"
_BEGUN = re.compile(r"Info: initialising (\w+)\.so")
_DONE = re.compile(r"Info: module \((\w+)\.so\) initialised")
_NO_TRACEPOINT = re.compile(r"failed to determine tracepoint '([^']+)'")
_NO_KPROBE = re.compile(r"failed to create kprobe '([^'+]+)")
_REFUSED = re.compile(r"prog '([^']+)': BPF program load failed: (.*)")
_ENDED = re.compile(
    r"script: (?:stopped|failed to start) script \w+ \(name=(\w+),.*? due to error: "
    r"(.*(?:\n(?!\[).*)*)"
)
_LACKS_KPROBES = "kprobe_events): No such file"
_SILENT = "it does not say why"
_NO_TARGET = "failed to set attach target"


def check_all(tries: bool = False) -> dict[str, dict[str, Any]]:
    """The ``reason`` why each agent cannot run, and that of each of its ``modules``.

    The reason is empty for what can run. With ``tries``, agents load their modules for
    a moment, because only the kernel knows what it refuses.
    """
    return {name: _checked(agent, tries) for name, agent in KNOWN.items()}


def _checked(agent: KnownAgent, tries: bool) -> dict[str, Any]:
    reason = why_not(agent)
    modules = {one.name: reason or _kernel_lacks(one) for one in agent.modules}
    if tries and not reason and agent.name == "bpf":
        modules.update(tried_modules(agent))
    return {"reason": reason, "modules": modules}


def why_not(agent: KnownAgent) -> str:
    """Why an agent cannot run; empty if it can."""
    if not (AGENTS / agent.program).exists():
        return (
            f"PCP's agent is not installed: `apt-get install pcp`, elsewhere the "
            f"package pcp-pmda-{agent.name}"
        )
    for need in agent.needs:
        found = shutil.which(need.program) if need.program else _any_path(need.path)
        if not found:
            return need.reason
    try:
        if agent.name in KINDS:
            KINDS[agent.name].check()
    except AgentError as error:
        return str(error)
    return ""


def _any_path(patterns: str) -> bool:
    return any(
        any(Path("/").glob(pattern.lstrip("/"))) for pattern in patterns.split("|")
    )


def _kernel_lacks(module: AgentModule) -> str:
    return NO_KPROBES if module.hook == KPROBE and not _KPROBES.exists() else ""


def tried_modules(agent: KnownAgent) -> dict[str, str]:
    """Load all modules of the BPF agent, and return why each fails; empty if not."""
    with tempfile.TemporaryDirectory(prefix="supertwin-agent-") as place:
        home = Path(place)
        (home / "var/config/pmda").mkdir(parents=True)
        make_folders(home)
        kind = KINDS[agent.name]
        kind.write(home, bpf_text(one.name for one in agent.modules))
        log = home / "log/try.log"
        # Without PMCD on its standard input, the agent loads its modules and ends. If
        # one hangs, the log says what happened to those before it.
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603
                kind.words(home, log),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **environment(home)},
                timeout=_TRY_SECONDS,
                check=False,
            )
        found = refusals(log.read_text("utf-8", "replace")) if log.exists() else {}
    return {one.name: found.get(one.name, "it was not loaded") for one in agent.modules}


def tried_script(text: str) -> str:
    """Attach a bpftrace script for a moment: what bpftrace refuses, or empty.

    Raises AgentError if this user or machine cannot run scripts.
    """
    kind = Bpftrace()
    kind.check()
    with tempfile.TemporaryDirectory(prefix="supertwin-script-") as place:
        home = Path(place)
        kind.write(home, "{}")
        words = [*kind.within(home), str(home / "bpftrace/run"), "-f", "json", "-"]
        try:
            done = subprocess.run(  # noqa: S603
                words,
                input=for_a_moment(text).encode(),
                capture_output=True,
                timeout=_TRY_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"it is not attached after {_TRY_SECONDS:.0f} s"
    told = explained(done.stderr.decode(errors="replace"))
    if done.returncode:
        return told or _SILENT
    attached = attached_probes(done.stdout.decode(errors="replace"))
    return skipped(done.stderr.decode(errors="replace")) or lacking(text, attached)


def bpf_text(modules: Iterable[str]) -> str:
    """The configuration of the BPF agent with these modules switched on."""
    return "".join(f"[{name}.so]\nenabled = true\n" for name in modules)


def refusals(log: str) -> dict[str, str]:
    """Why each module failed, from the log of the BPF agent; empty if it did not."""
    found: dict[str, str] = {}
    module, lines = "", []  # type: str, list[str]
    for line in log.splitlines():
        begun, done = _BEGUN.search(line), _DONE.search(line)
        if begun:
            module, lines = begun[1], []
        elif done:
            found[done[1]] = ""
        elif "module initialisation failed" in line and module:
            found[module] = _explained(lines)
        lines.append(line)
    return found


def refused_scripts(log: str) -> dict[str, str]:
    """Why each script ended, by the log of the bpftrace agent."""
    return {found[1]: explained(found[2]) or _SILENT for found in _ENDED.finditer(log)}


def explained(stderr: str) -> str:
    """bpftrace's words, with the reason if it leaves that out."""
    told = refusal(stderr)
    return f"{told} ({NO_KPROBES})" if told and _LACKS_KPROBES in stderr else told


def _explained(lines: list[str]) -> str:
    text = "\n".join(lines)
    if missing := _NO_KPROBE.search(text):
        if not _KPROBES.exists():
            return NO_KPROBES
        return f"this kernel has no function {missing[1]} for a kprobe"
    if missing := _NO_TRACEPOINT.search(text):
        return f"tracepoint {missing[1]} cannot be read: mount tracefs, or run as root"
    if refused := _REFUSED.search(text):
        return f"the kernel refuses its program {refused[1]}: {refused[2].strip()}"
    if _NO_TARGET in text:
        return "this kernel cannot call BPF programs at functions (fentry)"
    errors = [line.partition("Error: ")[2] for line in lines if "Error: " in line]
    return errors[-1][:200] if errors else _SILENT
