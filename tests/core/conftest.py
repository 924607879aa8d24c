"""Fixtures of other folders that these tests use."""

from tests.isolation import env, no_settings_from_outside
from tests.pmcds import own_pmcd, pmcd, source
from tests.queries.conftest import endpoint

__all__ = ["endpoint", "env", "no_settings_from_outside", "own_pmcd", "pmcd", "source"]
