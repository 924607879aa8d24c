"""Fixtures of other folders that these tests use."""

from tests.isolation import env, no_settings_from_outside

__all__ = ["env", "no_settings_from_outside"]
