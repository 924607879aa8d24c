"""Becomes PCP's bpftrace agent, without the faults of that in PCP 6.0.

The distribution's Python runs it, as root, from the folder of the agent's
configuration. With Python 3.11 the agent of PCP 6.0.3 cannot end a script
(``asyncio.wait`` takes no coroutines any more), and then waits forever itself. It
guesses the maps from the text, keeps all that a script complains about, gives old
values of a script that ended, and leaves bpftrace attached if it is killed.
"""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

from sampling.agents.bpftrace_script import HISTOGRAMS, lacking, script_maps, skipped

_PR_SET_PDEATHSIG = 1
_AGAIN_AFTER_S = 5
_MOST_OF_ERROR = 4096
_wait = asyncio.wait


def main() -> None:
    """Run the agent whose program is the first argument, with all others."""
    program = Path(sys.argv.pop(1))
    sys.path.insert(0, str(program.parent))
    manager, service, cluster, models = (
        importlib.import_module(f"bpftrace.{name}")
        for name in ("process_manager", "service", "cluster", "models")
    )
    asyncio.wait = _wait_for_all  # type: ignore[assignment]
    # PCP 6.3 says when it is ready; PMCD would not hear that from a restarted agent.
    importlib.import_module("pcp.pmda").PMDA.pmda_ready = lambda _: None
    os.register_at_fork(after_in_child=_end_with_parent)
    _declare_maps(manager, models)
    _read_all(manager, models)
    _run_again(manager, models)
    _skip_late_answers(service)
    _give_no_old_values(cluster, models)
    runpy.run_path(str(program), run_name="__main__")


async def _wait_for_all(awaited: Any, **how: Any) -> Any:
    return await _wait([asyncio.ensure_future(one) for one in awaited], **how)


def _end_with_parent() -> None:
    """The process that starts bpftrace ends with the agent, however that ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _declare_maps(manager: Any, models: Any) -> None:
    """Take the maps as SuperTwin read them, with the semantics that they have."""
    types = importlib.import_module("cpmapi")

    def parse_code(script: Any) -> Any:
        script.persistent = script.metadata.custom_output_block = True
        for one in script_maps(_own(script.code)):
            is_histogram = one.function in HISTOGRAMS
            is_count = is_histogram or one.function == "count"
            script.variables[f"@{one.name}"] = models.VariableDefinition(
                single=not (one.keyed or is_histogram),
                semantics=types.PM_SEM_COUNTER if is_count else types.PM_SEM_INSTANT,
                datatype=types.PM_TYPE_U64 if is_count else types.PM_TYPE_64,
                metrictype=models.MetricType.Histogram if is_histogram else None,
            )
        return script

    manager.parse_code = parse_code


def _own(code: str) -> str:
    """What the user wrote of a script."""
    return code.rpartition("\ninterval:ms:")[0]


def _read_all(manager: Any, models: Any) -> None:
    """Read what bpftrace prints whatever bytes are in it, and keep little of it."""

    async def read_output(self: Any, script: Any, tasks: Any) -> None:
        async for line in tasks.process.stdout:
            script.state.data_bytes += len(line)
            text = line.decode(errors="backslashreplace")
            try:
                if '"type": "stats"' in text:  # avg() has a type of its own
                    text = text.replace('"type": "stats"', '"type": "map"', 1)
                manager.process_bpftrace_output(self.runtime_info, script, text)
            except ValueError as error:
                self.logger.error(f"{script}: {error}")
            attached = script.state.probes
            if attached and (why := lacking(_own(script.code), attached)):
                script.state.probes = 0
                raise models.BPFtraceError(why)

    async def read_errors(_self: Any, script: Any, tasks: Any) -> None:
        async for line in tasks.process.stderr:
            text = script.state.error + line.decode(errors="backslashreplace")
            script.state.error = text[-_MOST_OF_ERROR:]
            if why := skipped(script.state.error):
                script.state.probes = 0
                raise models.BPFtraceError(why)

    manager.ProcessManager.read_bpftrace_stdout = read_output
    manager.ProcessManager.read_bpftrace_stderr = read_errors


def _run_again(manager: Any, models: Any) -> None:
    """Start a script again that ended by itself after it was attached."""
    run_once = manager.ProcessManager.run_bpftrace

    async def run(self: Any, script: Any, tasks: Any) -> None:
        await run_once(self, script, tasks)
        if script.state.status == models.Status.Error and script.state.probes:
            await asyncio.sleep(_AGAIN_AFTER_S)
            if self.running and script.script_id in self.scripts:
                await self.start_bpftrace(script, tasks)

    manager.ProcessManager.run_bpftrace = run


def _skip_late_answers(service: Any) -> None:
    """An answer that came too late must not be taken for the next one."""
    send = service.BPFtraceService.send_request

    def send_request(self: Any, request: Any, wait: Any = None) -> Any:
        while self.pipe.poll():
            self.pipe.recv()
        return send(self, request, wait)

    service.BPFtraceService.send_request = send_request


def _give_no_old_values(cluster: Any, models: Any) -> None:
    refresh = cluster.BPFtraceCluster.refresh_callback

    def refresh_callback(self: Any) -> None:
        refresh(self)
        if self.script.state.status != models.Status.Started:
            self.script.state.data.clear()
            self.script.state.probes = 0

    cluster.BPFtraceCluster.refresh_callback = refresh_callback
