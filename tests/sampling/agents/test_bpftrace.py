"""Scripts of bpftrace, read by us, and run by PCP's agent with the real bpftrace."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sampling.agents.bpftrace_script import (
    ScriptError,
    printing,
    probes_of,
    refusal,
    script_maps,
)
from sampling.agents.checks import NO_KPROBES, refused_scripts, tried_script
from sampling.agents.configuration import keep_configuration, log_of_agent
from sampling.agents.private_pmcd import command, environment, socket_of
from sampling.agents.setup import ScriptsSetup
from sampling.errors import AgentRefusedError
from tests.ports import free_ports
from tests.servers import ENDS_WITH_US, wait_until

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may run scripts")
SWITCH = "tracepoint:sched:sched_switch"
SCRIPT = f"""\
// @no = count() is a comment, and "@none = sum(1)" a text
{SWITCH} /args->next_pid == 0 || @begun[0] == 0/ {{
    @idle = count(); @by[args->next_comm] = count(); if (1) {{ @pids = hist(pid); }}
    @begun[tid] = nsecs; @mean = avg(pid);
}}
END {{ @last = sum(1) }}
"""


def test_maps_with_aggregates_are_metrics() -> None:
    found = [(one.name, one.function, one.keyed) for one in script_maps(SCRIPT)]
    assert found == [
        ("idle", "count", False),
        ("by", "count", True),
        ("pids", "hist", False),
        ("mean", "avg", False),
        ("last", "sum", False),
    ]
    assert probes_of(SCRIPT) == 2
    assert probes_of(f"{SWITCH}, uprobe:/bin/sh:main, BEGIN {{ @a = count() }}") == 3
    added = printing(f"{SWITCH} {{ @a = count(); }}", 500).splitlines()[1]
    assert added == "interval:ms:500 { print(@a); }"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("BEGIN { @a = nsecs; }", "fills no maps by count"),
        ("BEGIN { @ = count(); }", "map @ needs a name"),
        ("BEGIN { @1 = count(); }", "map @1 needs a name"),
        ("BEGIN { @a[pid] = hist(1); }", "a histogram for each key"),
        ("BEGIN { @a = stats(1); }", r"use avg\(\) and count\(\)"),
        ("BEGIN { @a = sum(1); @a = count(); }", "map @a in two ways"),
        ('BEGIN { @a = count(); printf("x"); }', r"it calls printf\(\)"),
        ("BEGIN { @a = count(); clear(@a); }", r"it calls clear\(\)"),
        ("BEGIN { @a = count(); }" + " " * 20_000, "at most 20,000 characters"),
        ("".join(f"BEGIN {{ @a{n} = count(); }}" for n in range(21)), "21 maps"),
    ],
)
def test_unusable_script_is_refused(text: str, why: str) -> None:
    with pytest.raises(ScriptError, match=why):
        script_maps(text)


def test_words_of_bpftrace_are_one_line() -> None:
    notice = "ERROR: Unknown error -1: couldn't set RLIMIT_MEMLOCK for bpftrace."
    assert refusal(notice) == ""
    assert refusal(f"{notice}\nstdin:1:4-5: ERROR: syntax error\nx {{\n  ~") == (
        "line 1, column 4-5: syntax error"
    )
    assert refusal("No probes to attach\n") == "No probes to attach"


@AS_ROOT
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tracepoint:sched:nope { @a = count(); }", "tracepoint not found: sched:nope"),
        (f"{SWITCH} {{ @a = count( }}", "line 1, column .*: syntax error"),
        ("uprobe:/bin/sh:nope { @a = count(); }", "attaches 0 of 1|resolve symbol"),
        (
            "uprobe:/bin/sh:nope, uprobe:/bin/sh:no { @a = count(); }",
            "attaches 0 of 2|resolve symbol: /bin/sh:no.*skipping",
        ),
        ("usdt:/bin/sh:no:pe { @a = count(); }", "attaches 0 of 1|find usdt probe"),
    ],
)
def test_kernel_and_bpftrace_refuse_in_words(text: str, why: str) -> None:
    assert re.search(why, tried_script(text))


@AS_ROOT
@pytest.mark.parametrize(
    "probe",
    [
        SWITCH,
        "profile:hz:99",
        "software:page-faults:100",
        "interval:ms:10",
        "uprobe:/lib/x86_64-linux-gnu/libc.so.6:malloc",
    ],
)
def test_kinds_of_probes_that_this_kernel_has(probe: str) -> None:
    assert tried_script(f"{probe} {{ @a = count(); }}") == ""


@AS_ROOT
@pytest.mark.skipif(
    Path("/sys/bus/event_source/devices/kprobe").exists(), reason="it has kprobes"
)
def test_kernel_without_kprobes_is_named() -> None:
    found = tried_script("kprobe:vfs_read { @a = count(); }")
    # Releases differ in the quotes.
    said = found.replace("'", "")
    assert said == f"Error attaching probe: kprobe:vfs_read ({NO_KPROBES})"


@contextmanager
def agent(home: Path, **texts: str) -> Iterator["subprocess.Popen[bytes]"]:
    scripts = {name: {"text": text, "period_ms": 200} for name, text in texts.items()}
    keep_configuration(home, "bpftrace", json.dumps(scripts))
    (port,) = free_ports(1)
    with subprocess.Popen(
        [*ENDS_WITH_US, *command(home, "/usr/lib/pcp/bin/pmcd", port)],
        cwd=home / "log",
        env={**os.environ, **environment(home)},
    ) as pmcd:
        try:
            yield pmcd
        finally:
            pmcd.terminate()


def values(home: Path, metric: str) -> dict[str, float]:
    words = ["pminfo", "-f", "-h", f"unix://{socket_of(home)}", metric]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        instance, parted, value = line.strip().partition("value ")
        if parted and value.replace(".", "").isdigit():
            found[instance.partition('or "')[2].rstrip('"] ')] = float(value)
    return found


def processes(home: Path) -> dict[int, str]:
    """Return what runs bpftrace or the agent for a folder, by pid."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().decode().split("\0")
            env = (place / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"PCP_PMDAS_DIR={home}" in env and any(words):
            found[int(place.name)] = words[0]
    return found


def setup(*metrics: str) -> ScriptsSetup:
    return ScriptsSetup("bpftrace", "", metrics)


@AS_ROOT
def test_agent_gives_the_maps_of_a_script(tmp_path: Path) -> None:
    start = "bpftrace.scripts.switches.data"
    address = f"unix://{socket_of(tmp_path)}"
    with agent(tmp_path, switches=SCRIPT) as pmcd:
        wait_until(lambda: values(tmp_path, f"{start}.idle").get("", 0) > 1)
        assert setup(f"{start}.idle", f"{start}.by").absent(address) == []
        assert len(values(tmp_path, f"{start}.by")) > 1
        buckets = values(tmp_path, f"{start}.pids")
        assert "0-0" in buckets or "1024-2047" in buckets, buckets
        assert values(tmp_path, f"{start}.mean")
        # Scratch maps and texts in comments are no metrics.
        assert not values(tmp_path, f"{start}.begun")
        assert not values(tmp_path, f"{start}.none")
        # The script is started again if it ends, and gives no old values meanwhile.
        (tracer,) = [
            pid for pid, word in processes(tmp_path).items() if "bpftrace" in word
        ]
        os.kill(tracer, signal.SIGKILL)
        wait_until(lambda: not values(tmp_path, f"{start}.idle"), what="no old values")
        wait_until(lambda: values(tmp_path, f"{start}.idle"), what="its second start")
        before = processes(tmp_path)
        assert len(before) == 3, before
        pmcd.terminate()
        wait_until(lambda: not processes(tmp_path), what="the end of bpftrace")


@AS_ROOT
@pytest.mark.parametrize("victim", ["pmcd", "agent"])
def test_nothing_stays_attached_after_a_kill(tmp_path: Path, victim: str) -> None:
    metric = "bpftrace.scripts.kill.data.a"
    with agent(tmp_path, kill=f"{SWITCH} {{ @a = count(); }}") as pmcd:
        wait_until(lambda: values(tmp_path, metric))
        children = Path(f"/proc/{pmcd.pid}/task/{pmcd.pid}/children").read_text()
        (main,) = (int(pid) for pid in children.split())
        os.kill(pmcd.pid if victim == "pmcd" else main, signal.SIGKILL)
        wait_until(lambda: not processes(tmp_path), what="the end of bpftrace")


@AS_ROOT
def test_names_that_are_not_utf8_end_no_script(tmp_path: Path) -> None:
    text = f'{SWITCH} /strncmp(args->next_comm, "odd", 3) == 0/'
    text += " { @a[args->next_comm] = count(); }"
    metric = "bpftrace.scripts.odd.data.a"
    rename = "import ctypes,time; ctypes.CDLL(None).prctl(15, b'odd\\xff\\xfe')\n"
    rename += "while True: time.sleep(0.01)"
    with (
        agent(tmp_path, odd=text),
        subprocess.Popen([*ENDS_WITH_US, "/usr/bin/python3", "-c", rename]) as odd,
    ):
        try:
            wait_until(lambda: values(tmp_path, metric))
            ((name, seen),) = values(tmp_path, metric).items()
            assert name.startswith("odd")
            wait_until(lambda: values(tmp_path, metric)[name] > seen)
        finally:
            odd.kill()


@AS_ROOT
def test_refusal_of_a_running_agent_is_its_reason(tmp_path: Path) -> None:
    good, bad = (f"bpftrace.scripts.{name}.data.a" for name in ("good", "bad"))
    address = f"unix://{socket_of(tmp_path)}"
    texts = {
        "good": f"{SWITCH} {{ @a = count(); }}",
        "bad": "tracepoint:sched:nope { @a = count(); }",
        "gone": "uprobe:/bin/sh:nope, uprobe:/bin/sh:no { @a = count(); }",
    }
    with agent(tmp_path, **texts):
        log = log_of_agent(tmp_path, "bpftrace")
        wait_until(log.exists)
        wait_until(lambda: {"bad", "gone"} == {*refused_scripts(log.read_text())})
        why = refused_scripts(log.read_text())["gone"]
        assert re.search("attaches 0 of 2|resolve symbol: /bin/sh:no.*skipping", why)
        wait_until(lambda: values(tmp_path, good))
        lacks = setup(good, bad).absent(address)
        assert lacks == [bad]
        with pytest.raises(AgentRefusedError, match="refuses script bad: .*sched:nope"):
            setup(good, bad).check(lacks, log.read_text())
