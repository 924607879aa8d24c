"""RDF terms as JSON values and back, without loss.

Plain texts, integers, decimals and booleans are native JSON values if JSON preserves
them exactly. All others are written as in JSON-LD: ``{"@id": …}``, ``{"@value": …}``.
"""

import logging
import math
import re
from collections.abc import Iterable
from typing import Any

from rdflib import XSD, Literal, URIRef

from dtdl.errors import FIX, DtdlDocumentError, NotExportableError
from dtdl.terms import compact, expand
from ontology.texts import writable

Object = URIRef | Literal

# Beyond this, other JSON parsers round.
_EXACT = 2**53
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
# In a member of ours, the official parser accepts these only inside an object.
_CONTROL = re.compile(r"[\x00-\x1f]")
_VALUE = {"@value", "@type", "@language"}


def to_json(term: Object, base: str) -> Any:
    """One term as JSON; raises NotExportableError for a blank node."""
    if isinstance(term, URIRef):
        return {"@id": compact(term, base)}
    if not isinstance(term, Literal):
        raise NotExportableError(f"{term!r} is a blank node: give it an IRI")
    text = str(term)
    if term.language:
        return {"@value": text, "@language": term.language}
    native = _native(text, term.datatype)
    if native is not None:
        return native
    if term.datatype in (None, XSD.string):
        return {"@value": text}
    return {"@value": text, "@type": compact(str(term.datatype), base)}


def all_to_json(terms: Iterable[Object], base: str) -> Any:
    """The terms of one property: a single one by itself, several as a list."""
    found = [to_json(term, base) for term in terms]
    return found[0] if len(found) == 1 else found


def from_json(value: Any, base: str, schema: str = "") -> Object:
    """The term that to_json wrote; raises DtdlDocumentError for anything else.

    ``schema`` identifies a decimal that another program has written as 1 instead of
    1.0.
    """
    match value:
        case bool():
            return Literal(value)
        case int() if schema == "double":
            return Literal(f"{value}.0", datatype=XSD.decimal, normalize=False)
        case int():
            return Literal(value)
        case float() if math.isfinite(value) and "e" not in repr(value):
            return Literal(repr(value), datatype=XSD.decimal, normalize=False)
        case str():
            return Literal(writable(value))
        case {"@id": str(text)} if len(value) == 1:
            return expand(text, base)
        case {"@value": str(text)} if value.keys() <= _VALUE:
            return _literal(text, value, base)
    raise DtdlDocumentError(f"{str(value)[:60]!r} is not a value of an export: {FIX}")


def all_from_json(value: Any, base: str, schema: str = "") -> list[Object]:
    """Every term of one property."""
    found = value if isinstance(value, list) else [value]
    return [from_json(one, base, schema) for one in found]


def _native(text: str, datatype: URIRef | None) -> Any:
    if datatype is None or datatype == XSD.string:
        return None if _CONTROL.search(text) else text
    if datatype == XSD.boolean and text in ("true", "false"):
        return text == "true"
    if datatype == XSD.integer and len(text) < 18 and text.lstrip("-").isdecimal():
        number = int(text)
        return number if abs(number) < _EXACT and str(number) == text else None
    if datatype == XSD.decimal and _DECIMAL.fullmatch(text):
        return float(text) if repr(float(text)) == text else None
    return None


def _literal(text: str, value: dict[str, Any], base: str) -> Literal:
    text = writable(text)
    language, datatype = value.get("@language"), value.get("@type")
    if isinstance(language, str) and datatype is None:
        try:
            return Literal(text, lang=language)
        except ValueError as error:
            raise DtdlDocumentError(f"{language[:40]!r}: {error}: {FIX}") from None
    if isinstance(datatype, str) and language is None:
        return _typed(text, expand(datatype, base))
    if language is None and datatype is None:
        return Literal(text)
    raise DtdlDocumentError(f"{text[:60]!r} has an invalid type or language: {FIX}")


def _typed(text: str, datatype: URIRef) -> Literal:
    """The literal, without the traceback on stderr that rdflib logs for a wrong one."""
    logger = logging.getLogger("rdflib.term")
    was_disabled, logger.disabled = logger.disabled, True
    try:
        made = Literal(text, datatype=datatype, normalize=False)
    finally:
        logger.disabled = was_disabled
    if made.ill_typed:
        raise DtdlDocumentError(
            f"{text[:60]!r} is not a valid {datatype.rpartition('#')[2]}: {FIX}"
        )
    return made
