"""Finds the PCP instance of a process by asking the PMCD of this machine."""

import re

from anyio import to_thread

from api.services import Services
from core.settings import pmcd
from ingest.sources.pcp_instance import instance_name

# PCP's name of a process begins with its pid: "000001 init".
_NUMBER = re.compile(r"0*([0-9]{1,10})(?: |$)", re.ASCII)


async def find_instance(services: Services, domain: str, pid: int) -> str | None:
    """Return PCP's instance name of a process in a domain such as ``3.9``, or None."""
    address = _pmcd_address(services)
    if address is None:
        return None
    return await to_thread.run_sync(instance_name, address, domain, pid)


async def runs_as(services: Services, host: str, domain: str, instance: str) -> bool:
    """Whether an instance of PCP's processes exists now on this machine."""
    number = _NUMBER.match(instance)
    if host != services.settings.host or number is None:
        return False
    return await find_instance(services, domain, int(number[1])) == instance


def _pmcd_address(services: Services) -> str | None:
    """Return the address that the supervisor set, else that of the running PMCD."""
    set_ = services.settings.pmcd
    return pmcd.running_address() if set_ in ("auto", "own") else set_
