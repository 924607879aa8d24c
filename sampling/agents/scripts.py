"""bpftrace scripts of a host: checked, tried, and described."""

import json
import re
from collections.abc import Mapping

from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from queries.run import saved_rows
from sampling.agents.bpftrace_script import ScriptError, script_maps
from sampling.agents.checks import tried_script
from sampling.agents.graph import publish_script, remove_module
from sampling.agents.private_pmcd import AgentError
from sampling.errors import AgentRefusedError, ScriptRefusedError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
# The agent has bpftrace print the maps this often at most: each time costs 1 ms.
_SHORTEST_MS = 100
MOST_SCRIPTS = 8


def metrics_of(name: str, text: str) -> list[str]:
    """The metrics in PCP of a script; raises ScriptRefusedError for an unusable one."""
    check_name(name)
    try:
        return [f"{_start(name)}{one.name}" for one in script_maps(text)]
    except ScriptError as error:
        raise ScriptRefusedError(f"script {name} cannot be sampled: {error}") from None


def check_name(name: str) -> None:
    """Raise ScriptRefusedError for a name that no script can have."""
    if not _NAME.fullmatch(name) or name == "bpftrace":
        raise ScriptRefusedError(
            f"{name[:64]!r} cannot be the name of a script: use 1 to 63 letters, "
            "digits and _, first a letter, and not bpftrace"
        )


def try_once(name: str, text: str) -> None:
    """Attach a script on this machine for a moment.

    Raises ScriptRefusedError with bpftrace's own words, and AgentRefusedError if this
    user or machine cannot run scripts.
    """
    try:
        why = tried_script(text)
    except AgentError as error:
        raise AgentRefusedError(str(error)) from error
    if why:
        raise ScriptRefusedError(f"bpftrace refuses script {name}: {why}")


def add(host: str, name: str, text: str, twin: Endpoint, iris: Iris) -> list[str]:
    """Describe a script of a host; returns its metrics.

    Raises ScriptRefusedError, also while a plan samples a script of this name.
    """
    metrics = metrics_of(name, text)
    if scripts(host, twin).get(name, text) != text:
        _check_unused(host, name, twin)
    publish_script(host, name, text, metrics, twin, iris)
    return metrics


def remove(host: str, name: str, twin: Endpoint, iris: Iris) -> None:
    """Remove a script; raises ScriptRefusedError while a plan samples it."""
    if name not in scripts(host, twin):
        raise ScriptRefusedError(
            f"{host} has no script {name[:64]!r}: `supertwin agent describe bpftrace` "
            "lists them"
        )
    _check_unused(host, name, twin)
    remove_module(host, "bpftrace", name, twin, iris)


def _check_unused(host: str, name: str, twin: Endpoint) -> None:
    for row in saved_rows(twin, "telemetry/sampling", {"host": host}):
        if str(row["samplerName"]).startswith(_start(name)):
            raise ScriptRefusedError(
                f"plan {row['plan']} samples script {name}: remove the plan first"
            )


def scripts(host: str, twin: Endpoint) -> dict[str, str]:
    """The texts of a host's scripts, by name."""
    bound = {"host": host, "agent": "bpftrace"}
    rows = saved_rows(twin, "telemetry/agents", bound)
    return {str(row["module"]): str(row["script"]) for row in rows if row["script"]}


def configuration(host: str, wanted: Mapping[str, int], twin: Endpoint) -> str:
    """The agent's configuration for metrics, each with its shortest period in ms.

    Raises AgentRefusedError for a metric that no script of the host gives.
    """
    known, found = scripts(host, twin), dict[str, dict[str, str | int]]()
    for metric, period in sorted(wanted.items()):
        name = (metric.split(".") + ["", ""])[2]
        if name not in known:
            raise AgentRefusedError(
                f"{host} has no script {name[:64]!r} for {metric[:100]}: add it with "
                f"`supertwin agent script add {name[:64]} FILE`"
            )
        given = metrics_of(name, known[name])
        if metric not in given:
            raise AgentRefusedError(
                f"script {name} does not give {metric[:100]}: it gives "
                f"{', '.join(given)}"
            )
        before = int(found.get(name, {}).get("period_ms", period))
        shortest = max(_SHORTEST_MS, min(period, before))
        found[name] = {"text": known[name], "period_ms": shortest}
    if len(found) > MOST_SCRIPTS:
        raise AgentRefusedError(
            f"the plans of {host} would sample {len(found)} scripts: at most "
            f"{MOST_SCRIPTS} run at a time, as each takes 100 MB of memory"
        )
    return json.dumps(found, indent=1)


def _start(name: str) -> str:
    return f"bpftrace.scripts.{name}.data."
