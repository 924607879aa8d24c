"""The series store of the bridge's tests."""

from tests.sampler_bridge.conftest import store

__all__ = ["store"]
