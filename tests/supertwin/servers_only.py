"""A supervisor of the servers alone: what a test of restarts needs and no more."""

import asyncio
import sys

from supertwin.private_folder import close_home, keep_files_private
from supertwin.settings import Settings
from supertwin.stack import children, lock, pmcd
from supertwin.stack.supervisor import Supervisor

settings = Settings()
keep_files_private()
close_home(settings.home)
with lock.acquire(settings.home) or sys.exit("held"):
    address, own = pmcd.choose(settings)
    groups = [children.servers(settings, own)]
    asyncio.run(Supervisor(settings, address).run(groups))
