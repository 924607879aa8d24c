"""The time-series store of the bridge tests."""

from tests.sampler_bridge.conftest import store

__all__ = ["store"]
