"""The limits and spellings of each version of DTDL."""

from dataclasses import dataclass
from typing import Any

_QUANTITIES = "dtmi:dtdl:extension:quantitativeTypes"


@dataclass(frozen=True)
class Version:
    """One version of DTDL.

    ``lossless``: our own co-types and members are allowed, so that a document can be
    read back. ``contents``, ``name`` and ``display_name`` are its limits.
    """

    number: int
    context: str | list[str]
    lossless: bool
    contents: int
    name: int
    display_name: int

    def unit(self, name: str) -> str:
        """The name of a unit: in version 4, ``byte`` is also a schema."""
        if self.number == 4 and name == "byte":
            return f"{_QUANTITIES}:v2:unit:byte"
        return name


VERSIONS = {
    2: Version(2, "dtmi:dtdl:context;2", True, 300, 64, 64),
    3: Version(
        3, ["dtmi:dtdl:context;3", f"{_QUANTITIES};1"], False, 100_000, 512, 512
    ),
    4: Version(
        4, ["dtmi:dtdl:context;4", f"{_QUANTITIES};2"], False, 100_000, 512, 512
    ),
}
TEXT = 512  # characters of a description or a comment, in every version

Element = dict[str, Any]
