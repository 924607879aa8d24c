"""A supervisor that runs only the servers, for tests of restarts.

It calibrates with few runs if its settings ask for it.
"""

import asyncio
import sys
from functools import partial
from pathlib import Path

from core.linux import lock
from core.linux.private_folder import close_home, keep_files_private
from core.settings import pmcd
from core.settings.settings import Settings
from supertwin.stack import children
from supertwin.stack.background_calibration import keep_calibrated
from supertwin.stack.supervisor import Supervisor

SMALL = (sys.executable, str(Path(__file__).with_name("small_calibration.py")), "0")
settings = Settings()


async def supervised() -> None:
    supervisor = Supervisor(settings, address)
    say = supervisor.say_calibration
    calibration = partial(keep_calibrated, settings, say, SMALL)
    chores = [calibration] if settings.calibrate == "when-idle" else []
    await supervisor.run(groups, chores)


keep_files_private()
close_home(settings.home)
with lock.acquire(settings.home) or sys.exit("held"):
    address, own = pmcd.choose(settings)
    groups = [children.servers(settings, own)]
    asyncio.run(supervised())
