"""Command line of the bridge: ``python -m sampler_bridge --host … --pcp …``.

Accounts are read as ``user:password`` from ``SAMPLER_BRIDGE_FUSEKI_ACCOUNT`` and
``SAMPLER_BRIDGE_STORE_ACCOUNT``: every user can read the arguments of a process.
"""

import argparse
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from core.linux import pmapi, priority
from core.linux.cgroups.errors import CgroupError
from core.linux.cgroups.roots import CgroupRoot, parse_roots
from core.linux.signals import StopSignal
from core.linux.ssh.client import avoid_vfork
from sampler_bridge.bridge import Bridge, Options
from sampler_bridge.errors import StateError
from sampler_bridge.fleet import SamplingSite
from sampler_bridge.sources.probes.probe_set import ProbeSet
from sampler_bridge.sources.processes.access import find_access
from sampling.errors import BridgeError
from sampling.probes.definition import PROBES_FILE

_SWITCH_SECONDS = 0.0005  # Python's default, 5 ms, is half of a 10 ms period


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bridge; 0: it was stopped, 1: failure, 2: the user can fix it."""
    given = vars(_parser().parse_args(arguments))
    wanted, reader = given.pop("priority"), given.pop("process_reader")
    prober = given.pop("prober")
    probes = ProbeSet(prober, given["state"] / PROBES_FILE) if prober else None
    of_all = ("fuseki", "store", "cgroup_roots", "cgroup_keep")
    shared = {name: given.pop(name) for name in of_all}
    _configure_logging()
    options = Options(
        SamplingSite(
            **given, processes=find_access(reader, given["pcp"]), probes=probes
        ),
        **shared,
        fuseki_account=_account("FUSEKI"),
        store_account=_account("STORE"),
    )
    pmapi.read_settings()
    _raise_priority(wanted)
    # Handlers, not a blocked signal mask: numpy may have started its threads before the
    # mask is set, and they would receive the signal.
    stop = StopSignal()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        Bridge(options).run(stop)
    except BridgeError as error:
        print(f"sampler_bridge: {error}", file=sys.stderr)
        return 2 if isinstance(error, StateError) else 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("sampler_bridge", description=__doc__)
    add = parser.add_argument
    add("--host", required=True, type=_name, help="name of this machine in the twin")
    add("--pcp", required=True, help="its PMCD, e.g. unix:///run/pcp/pmcd.socket")
    add("--fuseki", required=True, help="graph store, e.g. http://127.0.0.1:3030")
    add("--base", required=True, help="what every instance IRI begins with")
    add("--store", required=True, help="VictoriaMetrics, e.g. http://127.0.0.1:8428")
    add("--state", required=True, type=Path, help="folder of logs, cursors and status")
    add("--log-max-bytes", required=True, type=_bytes, help="largest log of a host")
    add("--ssh-config", type=Path, help="what ssh reads instead of ~/.ssh/config")
    add("--process-reader", type=Path, help="reads processes from the kernel, by BPF")
    add("--prober", type=Path, help="attaches probes in the kernel, by BPF")
    add("--cgroup-roots", default=(), type=_roots, help="cgroups to watch, by pattern")
    add("--cgroup-keep", default=1000, type=int, help="ended cgroups that are kept")
    raised = "scheduling priority of its threads, where rights allow"
    add("--priority", default=priority.NORMAL, choices=priority.CHOICES, help=raised)
    return parser


def _account(service: str) -> tuple[str, str] | None:
    user, _, password = os.environ.get(
        f"SAMPLER_BRIDGE_{service}_ACCOUNT", ""
    ).partition(":")
    return (user, password) if user else None


def _name(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("a host needs a name")
    return text


def _roots(text: str) -> tuple[CgroupRoot, ...]:
    try:
        return parse_roots(text)
    except CgroupError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _bytes(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a log needs at least one byte")
    return number


def _raise_priority(wanted: str) -> None:
    """Raise the priority of the threads, and shorten the wait for the GIL."""
    got = priority.take(wanted)
    sys.setswitchinterval(_SWITCH_SECONDS)
    avoid_vfork()
    # Objects that exist now stay. Garbage collection over them would delay all threads.
    gc.freeze()
    if got != wanted:
        logging.getLogger(__name__).info(
            "sampling priority: %s (no right to %s: run as root, or with CAP_SYS_NICE)",
            got,
            wanted,
        )


def _configure_logging() -> None:
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        stream=sys.stderr,
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())
