"""Which instance of PCP a process is, as the PMCD of this machine tells it."""

import re

from anyio import to_thread

from api.services import Services
from core.settings import pmcd
from ingest.sources.pcp_instance import instance_name

# PCP's name of a process begins with its number: "000001 init".
_NUMBER = re.compile(r"0*([0-9]{1,10})(?: |$)", re.ASCII)


async def find_instance(services: Services, domain: str, pid: int) -> str | None:
    """What PCP calls a process in its domain, such as ``3.9``; None if it does not."""
    address = _pmcd_address(services)
    if address is None:
        return None
    return await to_thread.run_sync(instance_name, address, domain, pid)


async def runs_as(services: Services, host: str, domain: str, instance: str) -> bool:
    """Whether an instance of PCP's processes is there now, on this machine."""
    number = _NUMBER.match(instance)
    if host != services.settings.host or number is None:
        return False
    return await find_instance(services, domain, int(number[1])) == instance


def _pmcd_address(services: Services) -> str | None:
    """The supervisor hands an address on; else the one that runs here."""
    set_ = services.settings.pmcd
    return pmcd.running_address() if set_ in ("auto", "own") else set_
