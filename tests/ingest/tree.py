"""A folder that imitates the root of a machine."""

from pathlib import Path

from ingest.sources.machine import Machine, ToolOutcome


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write texts to files, by paths relative to a root; return the root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def copied(root: Path, printed: dict[str, str] | None = None) -> Machine:
    """The machine whose files are below a root, with the output of its tools."""
    if printed is None:
        return Machine(root)
    plant(root / "printed", printed)
    return Machine(root, root / "printed", dict.fromkeys(printed, ToolOutcome()))
