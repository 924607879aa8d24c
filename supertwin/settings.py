"""Every setting of SuperTwin: environment variables ``SUPERTWIN_*``."""

import re
import socket
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

Port = Annotated[int, Field(ge=1, le=65535)]

LOOPBACK = "127.0.0.1"
_CHECKOUT = Path(__file__).resolve().parents[1]
_LENGTH_OF_TIME = re.compile(r"(\d+)([hdwy])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "y": 365 * 24}


# with a host, without a query or a fragment: paths are put behind it
_URL = re.compile(r"https?://[^\s<>\"{}|\\^`?#/][^\s<>\"{}|\\^`?#]*")


class Settings(BaseSettings):
    """What can be set, with its default; each field is ``SUPERTWIN_`` + its name."""

    model_config = SettingsConfigDict(env_prefix="SUPERTWIN_", frozen=True)

    home: Path = Field(
        default_factory=lambda: _CHECKOUT / ".state",
        description="Folder of all state; deleting it resets everything. "
        "The default is `.state` in the checkout.",
    )
    host: str = Field(
        default_factory=socket.gethostname,
        min_length=1,
        description="Name of this machine in the twin and in its series. "
        "The default is what `hostname` prints.",
    )
    bind: str = Field(
        default=LOOPBACK,
        description="IPv4 address that the API listens on. Fuseki, VictoriaMetrics "
        "and PMCD have no login and always listen on 127.0.0.1.",
    )
    api_port: Port = Field(default=8000, description="Port of the API.")
    base: str = Field(
        default_factory=lambda given: f"http://localhost:{given.get('api_port', 8000)}",
        min_length=1,
        description="What every instance IRI begins with; the twin is loaded anew when "
        "it changes. The default is `http://localhost:` and the API's port.",
    )
    fuseki_port: Port = Field(default=3030, description="Port of the local Fuseki.")
    store_port: Port = Field(
        default=8428, description="Port of the local VictoriaMetrics."
    )
    fuseki_url: str = Field(
        default="", description="A Fuseki elsewhere; empty: the local one is started."
    )
    fuseki_heap: str = Field(
        default="1g",
        pattern=r"^[1-9]\d*[mg]$",
        description="Largest Java heap of the local Fuseki, such as `512m` or `4g`.",
    )
    store_read_url: str = Field(
        default="",
        description="Where series are read; empty: the local VictoriaMetrics.",
    )
    store_write_url: str = Field(
        default="",
        description="Where series are written; empty: the local VictoriaMetrics.",
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
    retention: str = Field(
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
        description="Largest log of unsent points, in bytes; the oldest go first.",
    )
    min_free_bytes: int = Field(
        default=1024 * 1024 * 1024,
        ge=0,
        description="Bytes that must be free under `home` for the stack to start.",
    )

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        """Keep the same folder when a child runs elsewhere."""
        return home.expanduser().absolute()

    @field_validator("bind")
    @classmethod
    def _is_ipv4(cls, bind: str) -> str:
        try:
            socket.inet_pton(socket.AF_INET, bind)
        except OSError:
            raise ValueError(
                "not an IPv4 address such as 127.0.0.1 or 0.0.0.0"
            ) from None
        return bind

    @field_validator("base", "fuseki_url", "store_read_url", "store_write_url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        """Refuse what is no http address; a slash at the end would double later."""
        if url and not _URL.fullmatch(url):
            raise ValueError("not an address such as http://localhost:8000")
        return url.rstrip("/")

    @field_validator("retention")
    @classmethod
    def _is_length_of_time(cls, retention: str) -> str:
        match = _LENGTH_OF_TIME.fullmatch(retention)
        if not match or int(match[1]) * _HOURS[match[2]] < 24:
            raise ValueError(
                "not a length of time such as 90d, 12w or 1y (24h or more)"
            )
        return retention

    @property
    def api(self) -> str:
        """Base URL of the API, as seen from this machine."""
        return f"http://{_reachable(self.bind)}:{self.api_port}"

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

    def environment(self) -> dict[str, str]:
        """Return the variables that give another process the same settings."""
        values = self.model_dump(mode="json")
        return {f"SUPERTWIN_{name.upper()}": str(v) for name, v in values.items()}


def _reachable(bind: str) -> str:
    """Return the address to connect to for something that listens on ``bind``."""
    return LOOPBACK if bind == "0.0.0.0" else bind  # noqa: S104
