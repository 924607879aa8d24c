"""More open files than select() supports: nothing ends because of it."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.sampler_bridge.servers import NOWHERE, BridgeProcess
from tests.servers import ROOT, Pmcd

MANY = """
import os, resource, sys
from pathlib import Path
from core.linux import pmapi
from sampling.plan_file.notify import PlanName, NotificationPipe, notify

_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
state, address = Path(sys.argv[1]), sys.argv[2]
pipe = NotificationPipe(state)
notify(state, PlanName("n1", "fast"))
print(*pipe.wait(5.0))
try:
    pmapi.Context(address)
except pmapi.PmError as error:
    print(error)
for one in held[:100]:
    os.close(one)
with pmapi.Context(address) as context:
    print(len(context.names()) > 0)
"""


def test_bridge_may_open_as_many_files_as_its_hard_limit_allows(
    pmcd: Pmcd, new_bridge: Callable[..., BridgeProcess]
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    bridge = new_bridge(pmcd.address, NOWHERE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
    try:
        bridge.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert resource.prlimit(bridge.pid, resource.RLIMIT_NOFILE) == (hard, hard)
    assert bridge.end() == 0


def test_pcp_gets_only_file_descriptors_below_1024(tmp_path: Path, pmcd: Pmcd) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MANY, tmp_path, pmcd.address],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    named, refused, there = done.stdout.splitlines()
    assert named == "PlanName(host='n1', plan='fast')"
    assert refused == "Too many open files"
    assert there == "True"
