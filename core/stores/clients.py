"""The clients and settings needed to answer questions about a host."""

from pathlib import Path
from typing import Protocol

from core.settings.settings import Settings
from core.stores.fuseki import GraphStore
from core.stores.series_store import SeriesStore
from ontology.iris import Iris


class Clients(Protocol):
    """Graph and series of one installation; ``bridge_state`` is the bridge's folder."""

    @property
    def settings(self) -> Settings:
        """The settings of the installation."""

    @property
    def iris(self) -> Iris:
        """The IRIs of the installation's twin."""

    @property
    def graph(self) -> GraphStore:
        """The dataset ``twin``."""

    @property
    def store(self) -> SeriesStore:
        """The series store."""

    @property
    def bridge_state(self) -> Path:
        """The folder where the bridge writes its state."""
