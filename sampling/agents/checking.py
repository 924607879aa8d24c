"""Asks a host which agents can run there, and writes the answer into the graph."""

import json

from core.linux.ssh.address import parse_address
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.errors import RemoteError
from ontology.iris import Iris
from queries.run import saved_rows
from sampling.agents import checks
from sampling.agents.graph import Checks, publish_checks
from sampling.agents.known import KNOWN


def check_agents(
    settings: Settings, host: str, twin: Endpoint, *, tries: bool
) -> Checks:
    """Ask a host which agents can run, and describe them; returns the answer.

    With ``tries``, agents load their modules for a moment; else what earlier tries
    found out is kept. Raises RemoteError.
    """
    if host == settings.host:
        found: Checks = checks.check_all(tries)
    else:
        found = _ask(settings, host, twin, tries)
    if not tries:
        found = _with_tried(found, host, twin)
    publish_checks(host, found, twin, Iris(settings.base))
    return found


def _with_tried(found: Checks, host: str, twin: Endpoint) -> Checks:
    """What earlier tries found out about modules, where nothing new is known."""
    rows = saved_rows(twin, "telemetry/agents", {"host": host})
    tried = {(row["agent"], row["module"]): str(row["reason"] or "") for row in rows}
    return {
        agent: {
            **of,
            "modules": {
                module: why or tried.get((agent, module), "")
                for module, why in of["modules"].items()
            },
        }
        for agent, of in found.items()
    }


def _ask(settings: Settings, host: str, twin: Endpoint, tries: bool) -> Checks:
    # Imported late: this machine's agents need no ssh.
    from ingest.remote.ssh import connected
    from ingest.remote_hosts import address_of
    from sampling.agents.remote import RemoteProgram, folder_there

    where = parse_address(address_of(twin, host))
    with connected(where, settings.ssh_config) as connection:
        program = RemoteProgram(connection, folder_there(settings, host, "check"), "")
        answer = program.answer({"checks": True, "tries": tries})
    try:
        return _parsed(json.loads(answer))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise RemoteError(
            f"{where} gave an unexpected answer: see what `ssh {where} true` prints"
        ) from None


def _parsed(answer: object) -> Checks:
    """The reasons of the agents that we know; all texts come from another host."""
    found = {}
    for name in KNOWN:
        one = answer["agents"][name]  # type: ignore[index]
        modules = {str(k): _line(v) for k, v in one["modules"].items()}
        found[name] = {"reason": _line(one["reason"]), "modules": modules}
    return found


def _line(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(text)
    return "".join(one for one in text if one.isprintable())[:500]
