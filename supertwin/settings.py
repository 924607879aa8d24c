"""Every setting of SuperTwin: environment variables ``SUPERTWIN_*``."""

import socket
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

Port = Annotated[int, Field(ge=1, le=65535)]


class Settings(BaseSettings):
    """What can be set, with its default; each field is ``SUPERTWIN_`` + its name."""

    model_config = SettingsConfigDict(env_prefix="SUPERTWIN_", frozen=True)

    home: Path = Field(
        Path(".state"), description="Folder of all state; deleting it resets everything."
    )
    host: str = Field(
        default_factory=socket.gethostname,
        description="Name of this machine in the twin and in its series.",
    )
    base: str = Field(
        "http://localhost:8000", description="What every instance IRI begins with."
    )
    bind: str = Field("127.0.0.1", description="Address that every service listens on.")
    api_port: Port = Field(8000, description="Port of the API.")
    fuseki_port: Port = Field(3030, description="Port of the local Fuseki.")
    store_port: Port = Field(8428, description="Port of the local VictoriaMetrics.")
    fuseki_url: str = Field(
        "", description="A Fuseki elsewhere; empty: the local one is started."
    )
    store_read_url: str = Field(
        "", description="Where series are read; empty: the local VictoriaMetrics."
    )
    store_write_url: str = Field(
        "", description="Where series are written; empty: the local VictoriaMetrics."
    )
    pmcd: str = Field(
        "auto",
        description="`auto` (the running PMCD, else one of our own), `own`, or an "
        "address such as `unix:///run/pcp/pmcd.socket`.",
    )
    retention: str = Field(
        "90d", description="How long VictoriaMetrics keeps series (its own syntax)."
    )
    query_timeout: float = Field(
        30.0, gt=0, description="Seconds after which a SPARQL query is stopped."
    )
    query_max_bytes: int = Field(
        64 * 1024 * 1024, gt=0, description="Largest answer to a SPARQL query, in bytes."
    )
    log_max_bytes: int = Field(
        1024 * 1024 * 1024,
        gt=0,
        description="Largest log of unsent points, in bytes; the oldest go first.",
    )

    @property
    def fuseki(self) -> str:
        """Base URL of Fuseki."""
        return self.fuseki_url or f"http://{self.bind}:{self.fuseki_port}"

    @property
    def store_read(self) -> str:
        """Base URL that series are read from."""
        return self.store_read_url or f"http://{self.bind}:{self.store_port}"

    @property
    def store_write(self) -> str:
        """Base URL that series are written to."""
        return self.store_write_url or f"http://{self.bind}:{self.store_port}"
