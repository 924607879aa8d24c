"""Texts that every format of the twin can hold."""

import re

# What XML 1.0 has no way to write, beside surrogates: SPARQL-XML and RDF/XML break.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def writable(text: str) -> str:
    """The text with U+FFFD for each control character, bar tab and ends of lines.

    Bytes that were no UTF-8, which Python keeps as surrogates, become ``\\udcXX``.
    """
    sound = text.encode("utf-8", "backslashreplace").decode()
    return _UNWRITABLE.sub("\ufffd", sound)
