"""PCP's instance name of a process."""

from core.linux.pmapi import BindingMissingError, Context, PmError


def instance_name(address: str, domain: str, pid: int) -> str | None:
    """PCP's name of a process in its instance domain; None if PMCD does not say."""
    pmda, _, serial = domain.partition(".")
    try:
        with Context(address) as context:
            return context.instance_name(int(pmda) << 22 | int(serial), pid)
    except (BindingMissingError, PmError, ValueError):
        return None
