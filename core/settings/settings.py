"""Every setting of SuperTwin: environment variables ``SUPERTWIN_*``."""

import socket
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal

from core.linux.cgroups.roots import DEFAULT_ROOTS
from core.settings.home import DEFAULT
from core.settings.setting import Secret, SettingsBase, setting
from core.settings.setting_types import (
    BYTES,
    OPTIONAL_USER,
    PORT,
    SECONDS,
    USER,
    absolute,
    address,
    cgroup_roots,
    has_reader,
    host_names,
    ipv4,
    length_of_time,
    listed,
    matching,
    network_list,
    non_empty,
    non_empty_address,
    number,
    one_of,
    origin_list,
    secret,
    whole,
    without_account,
)

LOOPBACK = "127.0.0.1"
_SERVICES = {"fuseki": ("fuseki_url",), "store": ("store_read_url", "store_write_url")}


class Settings(SettingsBase):
    """All settings with their defaults; the variable is ``SUPERTWIN_`` + the name."""

    home: Path = setting(
        absolute,
        default=lambda _: DEFAULT,
        description="Folder of all state; deleting it resets everything. "
        "The default is `.state` in the checkout.",
    )
    queries: Path = setting(
        absolute,
        default=lambda given: given["home"] / "queries",
        description="Folder of added saved queries, `GROUP/NAME.rq` "
        "(docs/queries.md#add-one). The default is `queries` under `home`.",
    )
    host: str = setting(
        non_empty,
        default=lambda _: socket.gethostname(),
        description="Name of this machine in the twin and in its series. "
        "The default is what `hostname` prints.",
    )
    bind: str = setting(
        ipv4,
        default=LOOPBACK,
        description="IPv4 address that the API listens on. The local Fuseki, "
        "VictoriaMetrics and PMCD always listen on 127.0.0.1.",
    )
    api_port: int = setting(PORT, default=8000, description="Port of the API.")
    base: str = setting(
        non_empty_address,
        default=lambda given: f"http://localhost:{given.get('api_port', 8000)}",
        description="Start of every instance IRI; after a change the twin is loaded "
        "again. The default is `http://localhost:` and the API's port.",
    )
    allowed_hosts: str = setting(
        host_names,
        default="",
        description="More host names under which the API answers, separated by "
        "commas; `*` is every name. It always answers under `localhost`, the host of "
        "`base` and loopback addresses, and under any address if `bind` is not "
        "loopback.",
    )
    trusted_proxies: str = setting(
        network_list,
        default="",
        description="Addresses or networks of the proxies in front of the API, "
        "separated by commas. The API takes the client's address from "
        "`X-Forwarded-For` only if one of these sent it.",
    )
    reader_user: str = setting(
        USER,
        default="reader",
        description="Account that may read the API. It is for containers and Grafana, "
        "which get a password before any token exists.",
    )
    reader_password: Secret = setting(
        secret, default="", description="Its password; if empty, the account is off."
    )
    reader_password_file: Path | None = setting(
        Path, default=None, description="A file that holds the password instead."
    )
    read_access: Literal["auto", "open", "token"] = setting(
        one_of("auto", "open", "token"),
        default="auto",
        description="Who may read the API. `open`: everyone who reaches it. `token`: "
        "everyone with a token (`supertwin token add`) or the reader's account. "
        "`auto`: `open` on loopback while `reader_password` is empty, else `token`.",
    )
    allowed_commands: Path | None = setting(
        Path,
        default=None,
        description="A file that lists the commands that may be launched over HTTP "
        "(docs/reference/observations.md).",
    )
    run_as: str = setting(
        OPTIONAL_USER,
        default="",
        description="User that runs the commands that tokens launch: another user, if "
        "SuperTwin runs as root, or its own. Without this and `allowed_commands` only "
        "the owner of the state folder launches commands "
        "(docs/reference/observations.md).",
    )
    cors_origins: str = setting(
        origin_list,
        default="",
        description="Origins whose pages may query `/sparql`, such as "
        "`http://localhost:3000`, separated by commas. `*` (every origin) requires "
        "`reader_password`, or `read_access=token`.",
    )
    ssh_config: Path | None = setting(
        Path,
        default=None,
        description="Configuration file that ssh reads instead of `~/.ssh/config` and "
        "the system's to probe or sample another machine.",
    )
    fuseki_port: int = setting(
        PORT, default=3030, description="Port of the local Fuseki."
    )
    store_port: int = setting(
        PORT, default=8428, description="Port of the local VictoriaMetrics."
    )
    fuseki_url: str = setting(
        address,
        default="",
        description="Address of a Fuseki elsewhere; if empty, a local one is started.",
    )
    fuseki_user: str = setting(
        USER,
        default="supertwin",
        description="User at Fuseki, local or external.",
    )
    fuseki_password: Secret = setting(
        secret,
        default="",
        description="Its password. For the local Fuseki, one is generated and kept in "
        "`fuseki/password` under `home`.",
    )
    fuseki_password_file: Path | None = setting(
        Path, default=None, description="A file that holds the password instead."
    )
    fuseki_heap: str = setting(
        matching(r"[1-9][0-9]*[mg]", "512m or 4g"),
        default="1g",
        description="Largest Java heap of the local Fuseki, such as `512m` or `4g`.",
    )
    store_read_url: str = setting(
        address,
        default="",
        description="Address to read series from; if empty, the local VictoriaMetrics.",
    )
    store_write_url: str = setting(
        address,
        default="",
        description="Address to write series to; if empty, the local VictoriaMetrics.",
    )
    store_user: str = setting(
        USER,
        default="supertwin",
        description="User at VictoriaMetrics, local or external.",
    )
    store_password: Secret = setting(
        secret,
        default="",
        description="Its password. For the local one, it is generated and kept in "
        "`store/password` under `home`.",
    )
    store_password_file: Path | None = setting(
        Path, default=None, description="A file that holds the password instead."
    )
    store_memory_percent: float = setting(
        number(most=100, above=0),
        default=10.0,
        description="Share of the memory that the local VictoriaMetrics may use for "
        "its caches.",
    )
    pmcd: str = setting(
        str,
        default="auto",
        description="PMCD to sample: `auto` (that of `/run/pcp/pmcd.socket`, else "
        "SuperTwin's own), `own`, or an address such as "
        "`unix:///run/pcp/pmcd.socket`.",
    )
    pmcd_port: int = setting(
        PORT,
        default=44321,
        description="Port of SuperTwin's own PMCD; if it is taken, another free one.",
    )
    retention: str = setting(
        length_of_time,
        default="90d",
        description="How long VictoriaMetrics keeps series: a number and `h`, `d`, "
        "`w` or `y`, at least `24h`.",
    )
    query_timeout: float = setting(
        number(1, 86400),
        default=30.0,
        description="Seconds after which a SPARQL query is stopped, 1 to 86400.",
    )
    query_max_bytes: int = setting(
        whole(1),
        default=64 * 1024 * 1024,
        description="Largest answer to a SPARQL query, in bytes.",
    )
    log_max_bytes: int = setting(
        whole(1),
        default=1024 * 1024 * 1024,
        description="Largest log of unsent points of a host, in bytes; beyond it the "
        "oldest points are dropped.",
    )
    sampling_priority: Literal["realtime", "nice", "normal"] = setting(
        one_of("realtime", "nice", "normal"),
        default="realtime",
        description="Scheduling priority of the bridge and of each PMCD that "
        "`supertwin up` starts: `realtime` (SCHED_FIFO), `nice` or `normal`. If the "
        "rights for one are missing, the next is used.",
    )
    process_source: Literal["kernel", "pcp"] = setting(
        one_of("kernel", "pcp"),
        default="kernel",
        description="What reads the processes of this machine (`proc.*`): `kernel`, by "
        "BPF, for the metrics that it gives and where it can; `pcp`, PCP's agent.",
    )
    exporter_hosts: str = setting(
        host_names,
        default="",
        description="Names of hosts, separated by commas, whose exporters may be read. "
        "Those on loopback always may.",
    )
    sample_max_cpu: float = setting(
        number(0),
        default=25.0,
        description="CPU in % of one core that a plan may add, by estimate, before "
        "`supertwin sample add` asks.",
    )
    sample_max_bytes: int = setting(
        BYTES,
        default=1024 * 1024 * 1024,
        description="Bytes a day on disk that a plan may add, by estimate, before "
        "`supertwin sample add` asks.",
    )
    calibrate: Literal["never", "when-idle"] = setting(
        one_of("never", "when-idle"),
        default="never",
        description="`when-idle`: if this machine has no calibration of the sampling "
        "cost, the supervisor waits until the machine is idle and calibrates at the "
        "lowest priority, as `supertwin sample calibrate --when-idle` does.",
    )
    idle_cpu: float = setting(
        number(above=0),
        default=25.0,
        description="CPU in % of one core below which the machine counts as idle. Such "
        "a calibration stops when other work takes more than twice as much.",
    )
    idle_seconds: float = setting(
        SECONDS,
        default=600.0,
        description="Seconds for which the machine must be idle before a calibration "
        "starts.",
    )
    cgroup_roots: str = setting(
        cgroup_roots,
        default=",".join(DEFAULT_ROOTS),
        description="Control groups that become twins, below any cgroup mount: folders "
        "(all below them) or patterns with `*` within a name and `/**` at the end, "
        "separated by commas; empty: none. The default finds the jobs and steps of "
        "Slurm, and the jobs of OAR.",
    )
    cgroup_keep: int = setting(
        whole(0, 100_000),
        default=1000,
        description="Number of ended control groups to keep in the twin; older ones "
        "are removed, their series stay.",
    )
    compact_every: float = setting(
        SECONDS,
        default=600.0,
        description="Seconds between two checks whether Fuseki's files have doubled.",
    )
    min_free_bytes: int = setting(
        BYTES,
        default=1024 * 1024 * 1024,
        description="Bytes that must be free under `home` for the stack to start.",
    )
    owner_pid: int | None = setting(
        whole(1),
        default=None,
        description="Process that owns the stack: when it ends, the stack stops. "
        "Without one the stack runs until `supertwin down`.",
    )

    def completed(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Move accounts out of URLs, because URLs are shown and logged."""
        return {**given} | {
            name: value
            for service, urls in _SERVICES.items()
            for url in urls
            for name, value in without_account(
                service, url, str(given.get(url) or "")
            ).items()
        }

    def check(self, name: str, values: Mapping[str, Any]) -> None:
        """Refuse read access that contradicts other settings."""
        reader = has_reader(values)
        if name == "read_access" and values[name] == "open" and reader:
            raise ValueError(
                "everybody could read without the reader's account: leave "
                "SUPERTWIN_READER_PASSWORD out, or this"
            )
        closed = reader or values.get("read_access") == "token"
        if name == "cors_origins" and "*" in listed(values[name]) and not closed:
            raise ValueError(
                "every web site could read the twin: set SUPERTWIN_READER_PASSWORD or "
                "SUPERTWIN_READ_ACCESS=token too"
            )

    @property
    def reads_are_open(self) -> bool:
        """Whether everybody who reaches the API may read it."""
        if self.read_access == "auto":
            return ip_address(self.bind).is_loopback and not has_reader(vars(self))
        return self.read_access == "open"

    @property
    def api(self) -> str:
        """Base URL of the API, as seen from this machine."""
        bind = LOOPBACK if self.bind == "0.0.0.0" else self.bind  # noqa: S104
        return f"http://{bind}:{self.api_port}"

    @property
    def fuseki(self) -> str:
        """Base URL of Fuseki."""
        return self.fuseki_url or f"http://{LOOPBACK}:{self.fuseki_port}"

    @property
    def store_read(self) -> str:
        """Base URL that series are read from."""
        return self.store_read_url or f"http://{LOOPBACK}:{self.store_port}"

    @property
    def store_write(self) -> str:
        """Base URL that series are written to."""
        return self.store_write_url or f"http://{LOOPBACK}:{self.store_port}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names that the API accepts in addition to those of this machine."""
        return listed(self.allowed_hosts)

    @property
    def exporters_from(self) -> tuple[str, ...]:
        """Hosts in addition to loopback whose exporters may be read."""
        return listed(self.exporter_hosts)

    @property
    def proxies(self) -> tuple[str, ...]:
        """Addresses and networks of trusted proxies."""
        return listed(self.trusted_proxies)

    @property
    def origins(self) -> tuple[str, ...]:
        """Origins of web pages that may query ``/sparql``."""
        return listed(self.cors_origins)
