"""Texts that every format of the twin can represent."""

import re

# Characters that XML 1.0 cannot represent, in addition to surrogates: they would break
# SPARQL-XML and RDF/XML.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def writable(text: str) -> str:
    """Replace each control character except tab and line ends by U+FFFD.

    Bytes that were not UTF-8, which Python keeps as surrogates, become ``\\udcXX``.
    """
    sound = text.encode("utf-8", "backslashreplace").decode()
    return _UNWRITABLE.sub("\ufffd", sound)
