"""The crates of a group of runs: a folder or zip with one crate for each run."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from observations.exchange.crate import RunMetadata, check_name, check_new, fill, put


def write_crates(
    folder: Path, crates: Mapping[str, tuple[RunMetadata, Mapping[str, bytes]]]
) -> None:
    """Write several crates into a new folder, or a zip if its name ends in .zip.

    Each crate is a subfolder of its own name. Raises CrateError as `write_crate` does.
    """
    check_new(folder)
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent) as partial:
        inside = Path(partial) / "crates"
        inside.mkdir()
        for name, (run, files) in crates.items():
            check_name(name)
            fill(inside / name, run, files)
        put(inside, folder)
