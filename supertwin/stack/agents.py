"""Runs a PMCD for each agent that has a configuration, and ends it with that."""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Protocol

from core.settings.settings import Settings
from core.settings.state import agents_home, child_of_agent
from sampling.agents.configuration import current_folder
from sampling.agents.kinds import KINDS
from sampling.agents.private_pmcd import AgentError
from supertwin.stack import children
from supertwin.stack.children import ChildSpec

_LOOK = 0.5

_log = logging.getLogger(__name__)


class Runner(Protocol):
    """Starts and ends children while the stack runs."""

    def start_child(self, spec: ChildSpec) -> None:
        """Start a child in addition."""

    async def end_child(self, name: str) -> None:
        """End a child for good."""


def configured_agents(settings: Settings) -> Collection[str]:
    """The agents that have a configuration."""
    place = agents_home(settings)
    return {name for name in KINDS if current_folder(place / name)}


async def follow_agents(settings: Settings, runner: Runner) -> None:
    """Start and end agents as their configurations come and go, until cancelled."""
    running: set[str] = set()
    while True:
        wanted = set(configured_agents(settings))
        for name in running - wanted:
            await runner.end_child(child_of_agent(name))
            running.discard(name)
        for name in wanted - running:
            if _start(settings, name, runner.start_child):
                running.add(name)
        await asyncio.sleep(_LOOK)


def _start(settings: Settings, name: str, start: Callable[[ChildSpec], None]) -> bool:
    """Start an agent; False if its folder cannot be used, to try it again."""
    try:
        start(children.agent(settings, name))
    except (AgentError, OSError) as error:
        _log.error("agent %s not started: %s", name, error)
        return False
    return True
