"""The rows of a SELECT as JSON-LD: each row a node, its columns its properties."""

from typing import Any

import orjson
from rdflib.namespace import XSD

Bindings = dict[str, str]

# Longer integers are not exact where numbers are doubles.
_DIGITS = 15


def rows_json_ld(results: bytes, name: str, base: str) -> bytes:
    """Convert SPARQL JSON results of a saved query to JSON-LD.

    Columns are ``{base}/queries/{name}#column``, rows are blank nodes of the class
    ``…#Row``, in order; unbound values are left out.
    """
    document = orjson.loads(results)
    rows = document.get("results", {}).get("bindings", [])
    nodes = [
        {"@type": "Row", **{column: _value(term) for column, term in row.items()}}
        for row in rows
    ]
    context = {"@vocab": f"{base.rstrip('/')}/queries/{name}#"}
    return orjson.dumps({"@context": context, "@graph": nodes})


def _value(term: dict[str, str]) -> Any:
    text = term["value"]
    match term["type"]:
        case "uri":
            return {"@id": text}
        case "bnode":
            return {"@id": f"_:{text}"}
    if "xml:lang" in term:
        return {"@value": text, "@language": term["xml:lang"]}
    datatype = term.get("datatype", str(XSD.string))
    if datatype == str(XSD.string):
        return text
    if datatype == str(XSD.boolean) and text in ("true", "false"):
        return text == "true"
    if datatype == str(XSD.integer) and _is_plain(text):
        return int(text)
    return {"@value": text, "@type": datatype}


def _is_plain(text: str) -> bool:
    """Whether JSON-LD reads the number back as the same term."""
    digits = text.removeprefix("-")
    return (
        digits.isascii()
        and digits.isdecimal()
        and (len(digits) <= _DIGITS and str(int(text)) == text)
    )


def bindings(results: bytes) -> list[Bindings]:
    """Return the rows of SPARQL JSON results as texts by column."""
    rows = orjson.loads(results)["results"]["bindings"]
    return [{name: term["value"] for name, term in row.items()} for row in rows]
