"""Files that are either as they were or whole."""

from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace a file at once: readers see the old text or the new; raises OSError.

    Nothing is forced to the disk: it outlives this process, not the machine.
    """
    draft = path.with_name(path.name + ".new")
    draft.write_text(text)
    draft.replace(path)
