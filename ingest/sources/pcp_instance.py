"""What PCP calls one process among its instances."""

from core.linux.pmapi import BindingMissingError, Context, PmError


def instance_name(address: str, domain: str, pid: int) -> str | None:
    """What PCP calls a process in its domain; None where PMCD does not tell."""
    pmda, _, serial = domain.partition(".")
    try:
        with Context(address) as context:
            return context.instance_name(int(pmda) << 22 | int(serial), pid)
    except (BindingMissingError, PmError, ValueError):
        return None
