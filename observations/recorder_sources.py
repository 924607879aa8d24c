"""The C files of the recorders, as a request has them."""

from pathlib import Path

_SHARED = Path(__file__).with_name("slices.h")


def recorder_sources(folder: Path) -> dict[str, str]:
    """Return the C files of a folder by name, each with what it includes from here."""
    shared = _SHARED.read_text("utf-8")
    return {
        path.stem: path.read_text("utf-8").replace(
            f'#include "{_SHARED.name}"\n', shared
        )
        for path in sorted(folder.glob("*.c"))
    }
