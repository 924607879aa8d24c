"""A command that is ended while the agent of this machine is made to count."""

import json
import signal
import subprocess
import sys
import time

import pytest

from sampler_bridge.perfevent.live import has_agent
from supertwin.counting.private_pmcd import kept_configuration, socket_of
from tests.servers import ROOT, wait_until
from tests.stack import Stack

pytestmark = pytest.mark.e2e
WORDS = ("sample", "add", "--event", "msr::tsc", "--period", "1s", "--plan", "ended")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_agent_counts_what_it_did(stack: Stack, number: int) -> None:
    home = stack.home / "pmu"
    before, command = kept_configuration(home), (sys.executable, "-m", "supertwin")
    with subprocess.Popen(
        [*command, *WORDS],
        cwd=ROOT,
        env=stack.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while kept_configuration(home) == before:
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert kept_configuration(home) == before
    wait_until(lambda: not has_agent(f"unix://{socket_of(home)}"), what="its end")
    plans = json.loads(stack.run("sample", "list", "--format", "json").stdout)
    assert "ended" not in {row["plan"] for row in plans}
