"""A folder that stands in for the root of a machine."""

from pathlib import Path


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write texts to files, by their paths below a root; returns the root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
