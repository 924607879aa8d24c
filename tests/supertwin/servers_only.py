"""A supervisor of the servers alone: what a test of restarts needs and no more."""

import asyncio
import sys

from supertwin.settings import Settings
from supertwin.stack import children, lock, pmcd
from supertwin.stack.supervisor import Supervisor

settings = Settings()
settings.home.mkdir(parents=True, exist_ok=True)
with lock.acquire(settings.home) or sys.exit("held"):
    address, own = pmcd.choose(settings)
    groups = [children.servers(settings, own)]
    asyncio.run(Supervisor(settings, address).run(groups))
