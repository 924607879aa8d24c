"""Asks a host which agents can run there, and writes the answer into the graph."""

import json
from collections.abc import Mapping

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
    """Ask a host which agents can run, describe them in the graph, and return them.

    With ``tries``, agents load their modules for a moment; otherwise the results of the
    last try are kept. Raises RemoteError.
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
    """Add the reasons that the last try gave for modules without a reason."""
    rows = saved_rows(twin, "telemetry/agents", {"host": host})
    before: dict[str, dict[str, str]] = {}
    for row in rows:
        reasons = before.setdefault(str(row["agent"]), {})
        reasons[str(row["module"])] = str(row["reason"] or "")
    tried = {agent: _tried(reasons) for agent, reasons in before.items()}
    return {
        agent: {
            **of,
            "modules": {
                module: why or tried.get(agent, {}).get(module, "")
                for module, why in of["modules"].items()
            },
        }
        for agent, of in found.items()
    }


def _tried(reasons: Mapping[str, str]) -> Mapping[str, str]:
    """The reasons of an agent's modules that only a try can find.

    A reason that all modules share is the agent's own, for example that it is not
    installed. It and missing kprobes are found without a try, so they may be outdated.
    """
    if len({*reasons.values()}) == 1:
        return {}
    return {name: why for name, why in reasons.items() if why != checks.NO_KPROBES}


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
    """The reasons of known agents; all texts come from another host."""
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
