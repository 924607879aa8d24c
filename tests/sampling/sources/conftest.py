"""The bridge and the time-series store of the bridge tests."""

from tests.sampler_bridge.conftest import new_bridge, store

__all__ = ["new_bridge", "store"]
