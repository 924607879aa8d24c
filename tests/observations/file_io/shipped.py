"""The logs that PyDarshan's package ships: real ones, of supercomputers."""

import sys
from importlib.metadata import files
from pathlib import Path
from platform import machine

import pytest

HDF5, MANY = "ior_hdf5_example.darshan", "example_logs/sample-badost.darshan"
SIMPLE = "sample-dxt-simple.darshan"
NEEDS_DARSHAN = pytest.mark.skipif(
    sys.version_info >= (3, 13) or machine() != "x86_64",
    reason="PyDarshan has wheels for x86-64 and Python up to 3.12 only",
)


def shipped(name: str) -> Path:
    """Return the path of a log in PyDarshan's package."""
    found = [one for one in files("darshan") or () if str(one).endswith(name)]
    return Path(str(found[0].locate()))
