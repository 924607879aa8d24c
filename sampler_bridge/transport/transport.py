"""How the PMCD of a host is reached from here, and a source that goes that way."""

from collections.abc import Sequence
from typing import Protocol

from sampling.errors import SourceDownError
from sampling.sources.source import Sample, Source


class Way(Protocol):
    """A way to one PMCD, which all samplers of its host share."""

    @property
    def pcp(self) -> str:
        """The address that PCP is given, such as ``unix:///run/pcp/pmcd.socket``."""

    @property
    def alive(self) -> bool:
        """Whether what keeps it open runs."""

    def reach(self) -> None:
        """Make sure that the PMCD answers; raises SourceDownError with the reason."""

    def told(self, error: SourceDownError) -> SourceDownError:
        """An error of the source behind it, in words of this way."""

    def start(self) -> None:
        """Begin to open the way."""

    def stop(self) -> None:
        """Give it up."""


class Near:
    """A PMCD that listens on this machine, or that PCP itself knows how to reach."""

    def __init__(self, pcp: str) -> None:
        self.pcp = pcp
        self.alive = True

    def reach(self) -> None:
        """Nothing: who connects finds out."""

    def told(self, error: SourceDownError) -> SourceDownError:
        """The error itself."""
        return error

    def start(self) -> None:
        """Nothing: it is there or it is not."""

    def stop(self) -> None:
        """Nothing: it is not ours."""


class ReachedSource:
    """A source behind a way: what keeps it away is told in the way's own words."""

    def __init__(self, way: Way, source: Source) -> None:
        self._way = way
        self._source = source

    @property
    def connected(self) -> bool:
        """Whether the last call reached what is behind the source."""
        return self._source.connected

    def connect(self) -> None:
        """Reach what is behind the source; raises SourceDownError."""
        self._way.reach()
        try:
            self._source.connect()
        except SourceDownError as error:
            raise self._way.told(error) from error

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on."""
        self._source.select(metrics)

    def fetch(self) -> Sample:
        """The values of now; raises SourceDownError."""
        try:
            return self._source.fetch()
        except SourceDownError as error:
            raise self._way.told(error) from error

    def close(self) -> None:
        """Let go of what is behind the source."""
        self._source.close()
