"""Every setting of SuperTwin: environment variables ``SUPERTWIN_*``."""

import os
import socket
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from core.linux.cgroups.roots import DEFAULT_ROOTS
from core.settings.home import DEFAULT
from core.settings.setting_forms import (
    Bytes,
    CgroupRoots,
    Folder,
    Hosts,
    Ipv4,
    LengthOfTime,
    Networks,
    OptionalUser,
    Origins,
    Port,
    Seconds,
    Url,
    User,
    has_reader,
    listed,
    without_account,
)

LOOPBACK = "127.0.0.1"
_SERVICES = {"fuseki": ("fuseki_url",), "store": ("store_read_url", "store_write_url")}


# pydantic-settings does the same and makes every command start 70 ms later.
class Settings(BaseModel):
    """What can be set, with its default; each field is ``SUPERTWIN_`` + its name."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=True
    )

    home: Folder = Field(
        default_factory=lambda: DEFAULT,
        description="Folder of all state; deleting it resets everything. "
        "The default is `.state` in the checkout.",
    )
    host: str = Field(
        default_factory=socket.gethostname,
        min_length=1,
        description="Name of this machine in the twin and in its series. "
        "The default is what `hostname` prints.",
    )
    bind: Ipv4 = Field(
        default=LOOPBACK,
        description="IPv4 address that the API listens on. The local Fuseki, "
        "VictoriaMetrics and PMCD always listen on 127.0.0.1.",
    )
    api_port: Port = Field(default=8000, description="Port of the API.")
    base: Url = Field(
        default_factory=lambda given: f"http://localhost:{given.get('api_port', 8000)}",
        min_length=1,
        description="What every instance IRI begins with; the twin is loaded anew when "
        "it changes. The default is `http://localhost:` and the API's port.",
    )
    allowed_hosts: Hosts = Field(
        default="",
        description="More names that the API may be called by, separated by commas. "
        "`localhost`, the host of `base` and loopback addresses always are; any "
        "address is where `bind` is not loopback; `*` is every name.",
    )
    trusted_proxies: Networks = Field(
        default="",
        description="Addresses or networks of the proxies before the API, separated by "
        "commas. Only their `X-Forwarded-For` names the client, for limits per client "
        "and the audit trail; all other clients are known by their own address.",
    )
    reader_user: User = Field(
        default="reader",
        description="An account that may read the API, for containers, which are "
        "handed a password more easily than a token.",
    )
    reader_password: SecretStr = Field(
        default=SecretStr(""),
        description="Its password; empty: there is no such account.",
    )
    reader_password_file: Path | None = Field(
        default=None, description="A file that holds the password instead."
    )
    read_access: Literal["auto", "open", "token"] = Field(
        default="auto",
        description="Who may read the API: `open` everybody who reaches it, `token` "
        "whoever has a token (`supertwin token add`) or the reader's account; `auto` "
        "is `open` on loopback while `reader_password` is empty, else `token`.",
    )
    allowed_commands: Path | None = Field(
        default=None,
        description="A file that lists the commands that may be launched over HTTP "
        "(docs/observations.md).",
    )
    run_as: OptionalUser = Field(
        default="",
        description="User that runs the commands that tokens launch: another user, if "
        "SuperTwin runs as root, or its own. Without this and `allowed_commands` only "
        "the owner of the state folder launches commands (docs/observations.md).",
    )
    cors_origins: Origins = Field(
        default="",
        description="Origins whose pages may ask `/sparql`, such as "
        "`http://localhost:3000`, separated by commas. `*`, every origin, needs "
        "`reader_password`, or `read_access` to be `token`.",
    )
    ssh_config: Path | None = Field(
        default=None,
        description="What ssh reads instead of `~/.ssh/config` and the system's, when "
        "another machine is probed or sampled.",
    )
    fuseki_port: Port = Field(default=3030, description="Port of the local Fuseki.")
    store_port: Port = Field(
        default=8428, description="Port of the local VictoriaMetrics."
    )
    fuseki_url: Url = Field(
        default="", description="A Fuseki elsewhere; empty: the local one is started."
    )
    fuseki_user: User = Field(
        default="supertwin", description="Account at Fuseki, the local one included."
    )
    fuseki_password: SecretStr = Field(
        default=SecretStr(""),
        description="Its password. The local Fuseki gets one of its own, kept in "
        "`fuseki/password` under `home`.",
    )
    fuseki_password_file: Path | None = Field(
        default=None, description="A file that holds the password instead."
    )
    fuseki_heap: str = Field(
        default="1g",
        pattern=r"^[1-9][0-9]*[mg]$",
        description="Largest Java heap of the local Fuseki, such as `512m` or `4g`.",
    )
    store_read_url: Url = Field(
        default="",
        description="Where series are read; empty: the local VictoriaMetrics.",
    )
    store_write_url: Url = Field(
        default="",
        description="Where series are written; empty: the local VictoriaMetrics.",
    )
    store_user: User = Field(
        default="supertwin",
        description="Account at VictoriaMetrics, local or not.",
    )
    store_password: SecretStr = Field(
        default=SecretStr(""),
        description="Its password; the local one makes its own (`store/password`).",
    )
    store_password_file: Path | None = Field(
        default=None, description="A file that holds the password instead."
    )
    store_memory_percent: float = Field(
        default=10.0,
        gt=0,
        le=100,
        description="Share of the memory that the local VictoriaMetrics may use for "
        "its caches.",
    )
    pmcd: str = Field(
        default="auto",
        description="`auto` (the one behind `/run/pcp/pmcd.socket`, else one of our "
        "own), `own`, or an address such as `unix:///run/pcp/pmcd.socket`.",
    )
    pmcd_port: Port = Field(
        default=44321,
        description="Port of a PMCD of our own; when it is taken, another free one.",
    )
    retention: LengthOfTime = Field(
        default="90d",
        description="How long VictoriaMetrics keeps series: a number and `h`, `d`, "
        "`w` or `y`, at least `24h`.",
    )
    query_timeout: float = Field(
        default=30.0,
        ge=1,
        le=86400,
        description="Seconds after which a SPARQL query is stopped, 1 to 86400.",
    )
    query_max_bytes: int = Field(
        default=64 * 1024 * 1024,
        gt=0,
        description="Largest answer to a SPARQL query, in bytes.",
    )
    log_max_bytes: int = Field(
        default=1024 * 1024 * 1024,
        gt=0,
        description="Largest log of unsent points of a host, in bytes; the oldest go "
        "first.",
    )
    sampling_priority: Literal["realtime", "nice", "normal"] = Field(
        default="realtime",
        description="Scheduling priority of the bridge and of each PMCD that "
        "`supertwin up` starts: `realtime` (SCHED_FIFO), `nice` or `normal`. Without "
        "the right to one the next is taken.",
    )
    sample_max_cpu: float = Field(
        default=25.0,
        ge=0,
        description="CPU in % of one core that a plan may add, by estimate, before "
        "`supertwin sample add` asks.",
    )
    sample_max_bytes: Bytes = Field(
        default=1024 * 1024 * 1024,
        description="Bytes a day on disk that a plan may add, by estimate, before "
        "`supertwin sample add` asks.",
    )
    calibrate: Literal["never", "when-idle"] = Field(
        default="never",
        description="`when-idle`: while this machine has no calibration of the "
        "sampling cost, the supervisor waits until the machine is idle and makes one "
        "at the lowest priority, as `supertwin sample calibrate --when-idle` does.",
    )
    idle_cpu: float = Field(
        default=25.0,
        gt=0,
        description="CPU in % of one core below which the machine counts as idle. Such "
        "a calibration stops when other work takes more than twice as much.",
    )
    idle_seconds: Seconds = Field(
        default=600.0,
        description="Seconds for which the machine must be idle before a calibration "
        "starts.",
    )
    cgroup_roots: CgroupRoots = Field(
        default=",".join(DEFAULT_ROOTS),
        description="Control groups that become twins, below any cgroup mount: folders "
        "(all below them) or patterns with `*` within a name and `/**` at the end, "
        "separated by commas; empty: none. The default finds the jobs and steps of "
        "Slurm, and the jobs of OAR.",
    )
    cgroup_keep: int = Field(
        default=1000,
        ge=0,
        le=100_000,
        description="How many control groups that ended stay in the twin; older ones "
        "go, their series stay.",
    )
    compact_every: Seconds = Field(
        default=600.0,
        description="Seconds between two looks whether Fuseki's files have doubled.",
    )
    min_free_bytes: Bytes = Field(
        default=1024 * 1024 * 1024,
        description="Bytes that must be free under `home` for the stack to start.",
    )
    owner_pid: int | None = Field(
        default=None,
        gt=0,
        description="Process that owns the stack: when it ends, the stack stops. "
        "Without one the stack runs until `supertwin down`.",
    )

    @model_validator(mode="before")
    @classmethod
    def _account_of_its_own(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take an account out of an address: addresses are shown and logged."""
        given = cls._environment() | arguments
        return given | {
            name: value
            for service, urls in _SERVICES.items()
            for url in urls
            for name, value in without_account(
                service, url, str(given.get(url) or "")
            ).items()
        }

    @classmethod
    def _environment(cls) -> dict[str, str]:
        """What the environment sets; variables that are no setting are left alone."""
        given = {name.lower(): value for name, value in os.environ.items()}
        names = {name: _variable(name).lower() for name in cls.model_fields}
        return {name: given[of] for name, of in names.items() if of in given}

    @field_validator("read_access")
    @classmethod
    def _is_open_or_not(cls, access: str, info: ValidationInfo) -> str:
        if access == "open" and has_reader(info.data):
            raise ValueError(
                "everybody could read, the reader's account or not: leave "
                "SUPERTWIN_READER_PASSWORD out, or this"
            )
        return access

    @field_validator("cors_origins")
    @classmethod
    def _asks_for_an_account(cls, origins: str, info: ValidationInfo) -> str:
        closed = info.data.get("read_access") == "token"
        if "*" in listed(origins) and not (closed or has_reader(info.data)):
            raise ValueError(
                "every web site could read the twin: set SUPERTWIN_READER_PASSWORD or "
                "SUPERTWIN_READ_ACCESS=token too"
            )
        return origins

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
        """Names that the API may be called by, beside those it always may."""
        return listed(self.allowed_hosts)

    @property
    def proxies(self) -> tuple[str, ...]:
        """Addresses and networks of proxies that name the client of a request."""
        return listed(self.trusted_proxies)

    @property
    def origins(self) -> tuple[str, ...]:
        """Origins whose pages may ask ``/sparql``."""
        return listed(self.cors_origins)

    def environment(self) -> dict[str, str]:
        """Return the variables that give another process the same settings.

        Secrets are among them: not for files, logs or the eyes of others.
        """
        secrets = {
            _variable(name): value.get_secret_value()
            for name, value in self
            if isinstance(value, SecretStr)
        }
        return self.shown() | secrets

    def shown(self) -> dict[str, str]:
        """Return the same variables without what is secret."""
        values = self.model_dump(mode="json", exclude_none=True)
        return {
            _variable(name): str(value)
            for name, value in values.items()
            if not isinstance(getattr(self, name), SecretStr)
        }


def _variable(name: str) -> str:
    return f"SUPERTWIN_{name.upper()}"
