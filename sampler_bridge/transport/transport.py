"""Connections to the PMCD of a host, and a source that uses one."""

from collections.abc import Sequence
from typing import Protocol

from sampling.errors import SourceDownError
from sampling.sources.source import Sample, Source


class Transport(Protocol):
    """A connection to one PMCD, which all samplers of its host share."""

    @property
    def pcp(self) -> str:
        """The address for PCP, such as ``unix:///run/pcp/pmcd.socket``."""

    @property
    def alive(self) -> bool:
        """Whether the thread that keeps it open, if any, runs."""

    def reach(self) -> None:
        """Make sure that the PMCD answers; raises SourceDownError with the reason."""

    def translate(self, error: SourceDownError) -> SourceDownError:
        """Describe an error of the source in terms of this connection."""

    def start(self) -> None:
        """Start to open the connection."""

    def stop(self) -> None:
        """Close the connection."""


class DirectTransport:
    """A PMCD that listens on this machine, or that PCP itself can reach."""

    def __init__(self, pcp: str) -> None:
        self.pcp = pcp
        self.alive = True

    def reach(self) -> None:
        """Do nothing: connecting shows whether the PMCD answers."""

    def translate(self, error: SourceDownError) -> SourceDownError:
        """Return the error itself."""
        return error

    def start(self) -> None:
        """Do nothing: there is nothing to open."""

    def stop(self) -> None:
        """Do nothing: the PMCD is not ours."""


class TransportSource:
    """A source behind a connection, which describes the errors of the source."""

    def __init__(self, transport: Transport, source: Source) -> None:
        self._transport = transport
        self._source = source

    @property
    def connected(self) -> bool:
        """Whether the last call reached the source."""
        return self._source.connected

    def connect(self) -> None:
        """Connect to the source; raises SourceDownError."""
        self._transport.reach()
        try:
            self._source.connect()
        except SourceDownError as error:
            raise self._transport.translate(error) from error

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on."""
        self._source.select(metrics)

    def fetch(self) -> Sample:
        """The current values; raises SourceDownError."""
        try:
            return self._source.fetch()
        except SourceDownError as error:
            raise self._transport.translate(error) from error

    def close(self) -> None:
        """Close the connection to the source."""
        self._source.close()
