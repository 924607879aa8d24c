"""The supervisor's children: command, folder and health check of each."""

import getpass
import json
import math
import secrets
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.linux.ports import free_port
from core.linux.private_folder import make_private
from core.settings import tools
from core.settings.accounts import (
    Account,
    fuseki_account,
    jetty_line,
    make_account,
    store_key,
    store_read_account,
    store_write_account,
    write_secret,
)
from core.settings.home import CHECKOUT
from core.settings.pmcd import own_socket, write_config
from core.settings.settings import LOOPBACK, Settings
from core.settings.state import COUNTING, agent_home, child_of_agent, counting_home
from sampling.agents import private_pmcd
from sampling.agents.configuration import keep_configuration, kept_configuration
from sampling.agents.perfevent import AGENT, check_can_count
from supertwin.stack.compaction import drop_old
from supertwin.stack.health import Check, answers_http, greets, is_fresh
from supertwin.stack.priority import raised

_TICK_FRESH = 15.0


# Functions of VictoriaMetrics that take a key. Debian's release requires no account for
# some of them.
_CLOSED = (
    *("delete", "snapshot", "forceMerge", "search_resetCache", "reload", "config"),
    *("flags", "pprof", "logNewSeries", "metricNamesStatsReset"),
)


@dataclass(frozen=True)
class ChildSpec:
    """One child; times in seconds.

    ``ready_within``: longest start. ``hang_after``: how long the check may fail before
    the child is killed and restarted. ``stop_within``: longest clean stop. ``stale``:
    files of a dead predecessor that would prevent or fake a start.
    """

    name: str
    command: tuple[str, ...]
    check: Check
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    stale: tuple[Path, ...] = ()
    ready_within: float = 90.0
    hang_after: float = 30.0
    stop_within: float = 15.0


def fuseki(settings: Settings, everywhere: bool = False) -> ChildSpec:
    """Fuseki on loopback, or everywhere; rewrites its configuration."""
    # It imports numpy: 60 ms that other commands need not spend.
    from supertwin.stack.tdb2 import check_dataset

    home = settings.home / "fuseki"
    for dataset in ("twin", "history"):
        make_private(home / dataset)
        drop_old(home / dataset)
        check_dataset(home / dataset)
    account = make_account(settings, "fuseki")
    write_secret(home / "passwd", jetty_line(account))
    config = home / "fuseki.ttl"
    config.write_text(fuseki_config(home, account[0]), encoding="utf-8")
    java = tools.java()
    command = (
        str(java),
        f"-Xmx{settings.fuseki_heap}",
        f"-Djava.io.tmpdir={_spill_folder(home)}",
        "-Djava.awt.headless=true",
        f"-Dlog4j.configurationFile={tools.FUSEKI / 'log4j2.properties'}",
        *fuseki_main(java, settings.fuseki_port, everywhere),
        *("--config", str(config)),
        *("--no-cors", "--ping", "--compact", "--modules=false"),
        f"--timeout={int(settings.query_timeout * 1000)}",
    )
    check = fuseki_check(settings)
    env = _series_store(settings)
    return ChildSpec("fuseki", command, check, home, env, stop_within=30.0)


def _spill_folder(home: Path) -> Path:
    """Return the folder for rows of large sorts; remove those of a dead Fuseki."""
    folder = home / "spill"
    make_private(folder)
    for rows in folder.iterdir():
        rows.unlink(missing_ok=True)
    return folder


def _series_store(settings: Settings) -> dict[str, str]:
    """Return the variables that tell Fuseki's extension where samples are.

    They hold the account: arguments would show it in process lists.
    """
    is_elsewhere = bool(settings.store_read_url)
    account = (
        store_read_account(settings)
        if is_elsewhere
        else make_account(settings, "store")
    )
    return {
        "FUSEKI_STORE_URL": settings.store_read,
        "FUSEKI_STORE_ACCOUNT": ":".join(account) if account else "",
        "FUSEKI_STORE_RETENTION": settings.retention,
        "FUSEKI_STORE_SECONDS": str(math.ceil(settings.query_timeout)),
    }


def fuseki_main(java: Path, port: int, everywhere: bool = False) -> tuple[str, ...]:
    """Java's arguments for Fuseki at a port of loopback, or everywhere."""
    classes = tools.fuseki_classes(java)
    return (
        *((f"-XX:SharedArchiveFile={classes}",) if classes.exists() else ()),
        # The last resort, if the extension aborts no query in time: after an exhausted
        # heap no thread can be trusted, so restart.
        "-XX:+ExitOnOutOfMemoryError",
        *(() if everywhere else ("-Dsupertwin.host=localhost",)),
        f"-Dsupertwin.port={port}",
        *("-cp", f"{tools.fuseki_jar()}:{tools.fuseki_extension()}"),
        "org.apache.jena.fuseki.main.cmds.FusekiMainCmd",
        *("--jetty", str(tools.FUSEKI / "jetty.xml")),
    )


def fuseki_check(settings: Settings) -> Check:
    """Check that the local Fuseki accepts our account and answers."""
    account = fuseki_account(settings)
    return answers_http(settings.fuseki_port, "/$/ping", (200,), account)


def fuseki_config(home: Path, user: str) -> str:
    """Fill in folders and user; JSON's escapes are valid in Turtle."""
    text = (tools.FUSEKI / "fuseki.ttl").read_text(encoding="utf-8")
    places = {name: str(home / name) for name in ("twin", "history", "passwd")}
    for name, value in {**places, "user": user}.items():
        written = json.dumps(value, ensure_ascii=False)
        text = text.replace(f'"@{name.upper()}@"', written)
    return text


def store(settings: Settings, everywhere: bool = False) -> ChildSpec:
    """VictoriaMetrics on loopback, or everywhere."""
    address = "" if everywhere else LOOPBACK
    command = (
        str(tools.store()),
        f"-storageDataPath={settings.home / 'store'}",
        f"-retentionPeriod={settings.retention}",
        f"-httpListenAddr={address}:{settings.store_port}",
        # Otherwise a point stays invisible for 30 s.
        "-search.latencyOffset=0s",
        "-dedup.minScrapeInterval=1ms",
        f"-memory.allowedPercent={settings.store_memory_percent:g}",
        f"-search.maxQueryDuration={settings.query_timeout:.3f}s",
        "-search.maxUniqueTimeseries=300000",
        "-storage.minFreeDiskSpaceBytes=100MB",
        "-loggerLevel=WARN",
        *("-envflag.enable", "-envflag.prefix=VM_"),
    )
    check = store_check(settings)
    # A browser that knows the account also sends it from pages of other web sites, so
    # the address of an image could delete series. These functions need a random key.
    # Only the keys for snapshots and deletions are stored, for `supertwin backup` and
    # for the deletion of spans.
    env = {f"VM_{name}AuthKey": secrets.token_urlsafe(24) for name in _CLOSED}
    env["VM_snapshotAuthKey"] = store_key(settings, "snapshot")
    env["VM_deleteAuthKey"] = store_key(settings, "delete")
    user, password = make_account(settings, "store")
    env |= {"VM_httpAuth_username": user, "VM_httpAuth_password": password}
    # Otherwise pages of all web sites may read the series. It is not on the command
    # line because old releases, such as Debian's, do not know the flag and would not
    # start.
    env["VM_http_disableCORS"] = "true"
    return ChildSpec("victoria-metrics", command, check, settings.home, env)


def store_check(settings: Settings) -> Check:
    """Check that the local VictoriaMetrics answers."""
    return answers_http(settings.store_port, "/health", (200,))


def pmcd(settings: Settings) -> ChildSpec:
    """A private PMCD, on loopback and a Unix socket."""
    home = settings.home / "pmcd"
    private_pmcd.make_folders(home)
    socket = own_socket(settings)
    port = free_port(LOOPBACK, settings.pmcd_port)
    env = private_pmcd.environment(home)
    command = (
        *(str(tools.pmcd()), "-f", "-A", *private_pmcd.AGENT_PATIENCE),
        *("-i", LOOPBACK, "-p", str(port)),
        *("-s", str(socket), "-l", str(home / "log" / "pmcd.log")),
        *("-c", str(write_config(home)), "-U", getpass.getuser()),
    )
    words = raised(command, settings.sampling_priority)
    # The agents write their logs to PMCD's working directory.
    return ChildSpec("pmcd", words, greets(socket), home / "log", env, (socket,))


def counting(settings: Settings) -> ChildSpec | None:
    """A separate PMCD for PMU events, so that restarts of its agent delay no others.

    None if PCP's agent is not installed, or the folder's name is too long.
    """
    home = counting_home(settings)
    try:
        socket = private_pmcd.socket_of(home)
        check_can_count()
    except private_pmcd.AgentError:
        return None
    keep_configuration(home, AGENT, kept_configuration(home, AGENT))
    words = private_pmcd.command(home, str(tools.pmcd()), free_port(LOOPBACK))
    words = raised(words, settings.sampling_priority)
    env = private_pmcd.environment(home)
    return ChildSpec(COUNTING, words, greets(socket), home / "log", env, (socket,))


def agent(settings: Settings, name: str) -> ChildSpec:
    """The PMCD of an agent that has a configuration; raises AgentError."""
    home = agent_home(settings, name)
    socket = private_pmcd.socket_of(home)
    # Old agents must find the paths of this version.
    keep_configuration(home, name, kept_configuration(home, name))
    words = private_pmcd.command(home, str(tools.pmcd()), free_port(LOOPBACK))
    words = raised(words, settings.sampling_priority)
    env = private_pmcd.environment(home)
    place = home / "log"
    return ChildSpec(child_of_agent(name), words, greets(socket), place, env, (socket,))


def api(settings: Settings, pmcd_address: str) -> ChildSpec:
    """The HTTP API; a degraded answer (503) is still an answer."""
    env = settings.environment() | {"SUPERTWIN_PMCD": pmcd_address}
    command = (sys.executable, "-m", "api")
    return ChildSpec("api", command, api_check(settings), CHECKOUT, env)


def api_check(settings: Settings) -> Check:
    """Check that the API answers on loopback."""
    return answers_http(settings.api_port, "/health", (200, 503))


def bridge(settings: Settings, pmcd_address: str) -> ChildSpec:
    """The bridge from PCP, on this and other hosts, to the store."""
    state = settings.home / "bridge"
    make_private(state)
    config = settings.ssh_config
    reader = tools.PROCESS_READER if settings.process_source == "kernel" else None
    command = (
        *(sys.executable, "-m", "sampler_bridge", "--host", settings.host),
        *("--pcp", pmcd_address, "--fuseki", settings.fuseki),
        *("--base", settings.base, "--store", settings.store_write),
        *("--state", str(state), "--log-max-bytes", str(settings.log_max_bytes)),
        *("--prober", str(tools.PROBER)),
        f"--cgroup-roots={settings.cgroup_roots}",
        f"--cgroup-keep={settings.cgroup_keep}",
        f"--priority={settings.sampling_priority}",
        *(("--ssh-config", str(config)) if config else ()),
        *(("--process-reader", str(reader)) if reader else ()),
    )
    env = {
        **_account_variable("FUSEKI", fuseki_account(settings)),
        **_account_variable("STORE", store_write_account(settings)),
    }
    check, stale = bridge_check(settings), (state / "status.json",)
    return ChildSpec("bridge", command, check, CHECKOUT, env, stale)


def bridge_check(settings: Settings) -> Check:
    """Check that the bridge has written its status recently."""
    return is_fresh(settings.home / "bridge" / "status.json", _TICK_FRESH)


def _account_variable(service: str, account: Account | None) -> dict[str, str]:
    """Pass an account in the environment, where process lists do not show it."""
    return {f"SAMPLER_BRIDGE_{service}_ACCOUNT": ":".join(account)} if account else {}


Maker = Callable[[Settings], ChildSpec]


def servers(settings: Settings, own_pmcd: bool) -> list[ChildSpec]:
    """Return the children that must run first, without remote services."""
    makers: list[Maker] = []
    if not settings.fuseki_url:
        makers.append(fuseki)
    if not (settings.store_read_url and settings.store_write_url):
        makers.append(store)
    if own_pmcd:
        makers.append(pmcd)
    found = [make(settings) for make in makers]
    counts = counting(settings)
    return [*found, counts] if counts else found


def clients(settings: Settings, pmcd_address: str) -> list[ChildSpec]:
    """Return the children that use the servers."""
    return [api(settings, pmcd_address), bridge(settings, pmcd_address)]
