"""The clients and settings that questions about a host are answered with."""

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
        """Its settings."""

    @property
    def iris(self) -> Iris:
        """The IRIs of its twin."""

    @property
    def graph(self) -> GraphStore:
        """The dataset ``twin``."""

    @property
    def store(self) -> SeriesStore:
        """The series store."""

    @property
    def bridge_state(self) -> Path:
        """Where the bridge says how it does."""
