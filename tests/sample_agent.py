"""The configuration of a test's PMCD: some system agents and PCP's sample agent."""

from pathlib import Path

PMDAS = Path("/var/lib/pcp/pmdas")
AGENTS = f"""\
root 1 pipe binary {PMDAS}/root/pmdaroot
pmcd 2 dso pmcd_init {PMDAS}/pmcd/pmda_pmcd.so
proc 3 pipe binary {PMDAS}/proc/pmdaproc -d 3
linux 60 pipe binary {PMDAS}/linux/pmdalinux
sample 29 pipe binary {PMDAS}/sample/pmdasample -d 29
"""


def name_space() -> str:
    """Return PCP's own name space with that of its sample agent."""
    root = Path("/var/lib/pcp/pmns/root").read_text()
    sample = (PMDAS / "sample/pmns").read_text().replace("SAMPLE", "29")
    return root.replace("root {", "root {\n\tsample", 1) + sample
