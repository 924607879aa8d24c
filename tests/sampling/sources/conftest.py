"""The bridge and the series store of the bridge's tests."""

from tests.sampler_bridge.conftest import new_bridge, store

__all__ = ["new_bridge", "store"]
