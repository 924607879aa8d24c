"""Which agents can run on this machine, tried with the real agents and kernel."""

import os
import subprocess
from pathlib import Path

import pytest

from sampling.agents import checks, kinds
from sampling.agents.checks import check_all, refusals
from sampling.agents.configuration import keep_configuration, log_of_agent
from sampling.agents.known import KNOWN, agent_of
from sampling.agents.private_pmcd import command, environment, socket_of
from tests.ports import free_ports
from tests.servers import ENDS_WITH_US, wait_until

AS_ROOT = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may load BPF programs"
)

_BEGUN, _DONE = "[x] pmdabpf(1) Info: initialising", "[x] pmdabpf(1) Info: module"
_WARNING = "[x] pmdabpf(1) Warning: libbpf:"
_FAILED = "[x] pmdabpf(1) Error: module initialisation failed:"
LOG = f"""\
{_BEGUN} opensnoop.so
{_WARNING} failed to determine tracepoint 'syscalls/sys_enter_open' perf event ID: No
[x] pmdabpf(1) Error: failed to attach BPF programs
{_FAILED} opensnoop.so, 1, Operation not permitted
{_BEGUN} runqlat.so
{_DONE} (runqlat.so) initialised with cluster_id = 12
{_BEGUN} tcpconnlat.so
{_WARNING} prog 'fentry_tcp_v4_connect': BPF program load failed: Not permitted
{_FAILED} tcpconnlat.so, 1, Operation not permitted
{_BEGUN} odd.so
[x] pmdabpf(1) Error: no such day
{_FAILED} odd.so, 1, Operation not permitted
"""


def test_log_of_the_agent_says_why_modules_fail() -> None:
    assert refusals(LOG) == {
        "opensnoop": "tracepoint syscalls/sys_enter_open cannot be read: mount "
        "tracefs, or run as root",
        "runqlat": "",
        "tcpconnlat": "the kernel refuses its program fentry_tcp_v4_connect: Not "
        "permitted",
        "odd": "no such day",
    }


@AS_ROOT
def test_modules_are_tried_with_this_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    found = check_all(tries=True)
    assert found.keys() == KNOWN.keys()
    modules = found["bpf"]["modules"]
    assert modules["runqlat"] == modules["biolatency"] == ""
    has_kprobes = Path("/sys/bus/event_source/devices/kprobe").exists()
    assert (modules["oomkill"] == "") == has_kprobes
    if not has_kprobes:
        assert modules["oomkill"] == checks.NO_KPROBES
        assert check_all()["bpf"]["modules"]["oomkill"] == checks.NO_KPROBES
    # Nothing stays attached.
    links = subprocess.run(
        ["pgrep", "-x", "pmdabpf", "-g", str(os.getpgrp())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not links.stdout


def test_missing_agent_and_missing_hardware_have_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {name: of["reason"] for name, of in check_all().items()}
    for agent, path in {
        "nvidia": "/dev/nvidiactl",
        "lustre": "/sys/fs/lustre",
        "gpfs": "/usr/lpp/mmfs/bin/mmpmon",
    }.items():
        assert bool(found[agent]) == (not Path(path).exists())
    monkeypatch.setattr(checks, "AGENTS", tmp_path)
    found = {name: of["reason"] for name, of in check_all(tries=True).items()}
    assert all("is not installed" in reason for reason in found.values())
    assert "apt-get install pcp" in found["denki"]


def test_metrics_belong_to_agents_by_name() -> None:
    assert agent_of("bpf.runq.latency") is KNOWN["bpf"]
    assert agent_of("bpf") is agent_of("kernel.all.load") is None
    module = KNOWN["bpf"].module_of("bpf.oomkill.pages")
    assert module and module.name == "oomkill"
    assert KNOWN["bpf"].module_of("bpf.oomkill") is None


@AS_ROOT
def test_catalogue_has_the_names_of_the_real_agent(tmp_path: Path) -> None:
    """The catalogue names metrics before an agent runs, so it must be right."""
    agent = KNOWN["bpf"]
    usable = [
        n for n, why in check_all(tries=True)["bpf"]["modules"].items() if not why
    ]
    keep_configuration(tmp_path, "bpf", checks.bpf_text(usable))
    (port,) = free_ports(1)
    words = command(tmp_path, "/usr/lib/pcp/bin/pmcd", port)
    with subprocess.Popen(
        [*ENDS_WITH_US, *words],
        cwd=tmp_path / "log",
        env={**os.environ, **environment(tmp_path)},
    ) as pmcd:
        try:
            log = log_of_agent(tmp_path, "bpf")
            wait_until(lambda: log.exists() and "init complete" in log.read_text())
            listed = subprocess.run(
                ["pminfo", "-h", f"unix://{socket_of(tmp_path)}", "bpf"],
                capture_output=True,
                text=True,
                check=True,
            )
        finally:
            pmcd.terminate()
    modules = [one for one in agent.modules if one.name in usable]
    expected = {name for one in modules for name in agent.metrics_of(one)}
    assert set(listed.stdout.split()) == expected
    assert kinds.KINDS["bpf"].domain == 157
