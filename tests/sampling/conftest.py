"""Fixtures of other folders that these tests use."""

from tests.ingest.conftest import store
from tests.isolation import env, no_settings_from_outside
from tests.pmcds import own_pmcd, pmcd, source

__all__ = ["env", "no_settings_from_outside", "own_pmcd", "pmcd", "source", "store"]
