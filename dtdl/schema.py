"""Check whether a file is a lossless export, with a one-line error."""

import json
from typing import Any

from rdflib import URIRef

from dtdl.errors import FIX, DtdlDocumentError
from dtdl.export import PAGE
from dtdl.names import MAX_ID, checked_iri, from_dtmi, to_dtmi
from dtdl.terms import class_name, expand
from dtdl.versions import VERSIONS, Element
from ontology.terms import ST

_DTDL = frozenset(
    {"Interface", "Property", "Telemetry", "Relationship", "Component", "Command"}
)
_HOST = class_name(ST.ComputeNode)
# An export describes the host and the shared catalogues.
_SHARED = ("metric", "indom", "pmu")


def interfaces_of(text: bytes) -> list[Element]:
    """The Interfaces in a file; raises DtdlDocumentError for the first invalid one."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DtdlDocumentError(f"not valid JSON ({error}): {FIX}") from None
    found = [found] if isinstance(found, dict) else found
    if not isinstance(found, list) or not found:
        raise DtdlDocumentError(f"not a list of Interfaces: {FIX}")
    seen: set[str] = set()
    for interface in found:
        _check_interface(interface, seen)
    return found


def co_type(element: Element) -> str:
    """The co-type that we gave an element; empty without one."""
    kinds = element["@type"]
    return str(kinds[-1]) if isinstance(kinds, list) and len(kinds) > 1 else ""


def owner(interface: Element) -> str:
    """The DTMI of this Interface, or of the one that it continues."""
    return str(interface.get("continues", interface["@id"]))


def host_of(interfaces: list[Element], base: str) -> URIRef:
    """The only host in a document, to which every described node must belong."""
    hosts = [i["@id"] for i in interfaces if co_type(i) == _HOST]
    if len(hosts) != 1:
        raise DtdlDocumentError(
            f"the file describes {len(hosts)} hosts ({_HOST}), expected one: {FIX}"
        )
    host = from_dtmi(hosts[0], base)
    if host is None or not host.startswith(f"{base}/twin/"):
        raise DtdlDocumentError(f"{hosts[0]} is not a host: {FIX}")
    for interface in interfaces:
        for element in (interface, *interface.get("contents", [])):
            if "@id" in element and co_type(element) != PAGE:
                _check_of_host(element, host, base)
    return host


def own_dtmi(element: Element, base: str) -> URIRef:
    """The IRI that an element states itself, if its DTMI is a hash."""
    iri = element.get("iri")
    if not isinstance(iri, str):
        raise DtdlDocumentError(f"{element['@id']} is a hash, but has no iri: {FIX}")
    found = expand(iri, base)
    if element["@id"] not in (to_dtmi(found, base), to_dtmi(found, base, MAX_ID)):
        raise DtdlDocumentError(
            f"{element['@id']} is not the hash of {iri[:100]!r}: {FIX}"
        )
    return checked_iri(found)


def _check_of_host(element: Element, host: URIRef, base: str) -> None:
    iri = from_dtmi(element["@id"], base) or own_dtmi(element, base)
    roots = (f"{host}/", *(f"{base}/{kind}/" for kind in _SHARED))
    if not f"{iri}/".startswith(roots):
        raise DtdlDocumentError(f"{element['@id']} is not a part of {host}: {FIX}")


def _check_interface(interface: Any, seen: set[str]) -> None:
    if not isinstance(interface, dict):
        raise DtdlDocumentError(f"{str(interface)[:60]!r} is not an Interface: {FIX}")
    _check_version(interface.get("@context"))
    _check_element(interface, "an Interface", seen)
    if "Interface" not in interface["@type"] or "@id" not in interface:
        raise DtdlDocumentError(f"an element is not an Interface with an @id: {FIX}")
    if not co_type(interface):
        raise DtdlDocumentError(
            f"{interface['@id']} has only a type of DTDL, so SuperTwin did not export "
            f"it: {FIX}"
        )
    contents = interface.get("contents", [])
    if not isinstance(contents, list):
        raise DtdlDocumentError(f"{interface['@id']}: contents is not a list: {FIX}")
    names: set[str] = set()
    for content in contents:
        _check_content(content, interface["@id"], names, seen)


def _check_version(context: Any) -> None:
    if context == VERSIONS[2].context:
        return
    for number, version in VERSIONS.items():
        if context == version.context:
            raise DtdlDocumentError(
                f"DTDL version {number} cannot contain a whole graph: {FIX}"
            )
    raise DtdlDocumentError(
        f"@context is {str(context)[:80]!r}, which is unknown: {FIX}"
    )


def _check_content(content: Any, where: str, names: set[str], seen: set[str]) -> None:
    if not isinstance(content, dict):
        raise DtdlDocumentError(
            f"{where}: content {str(content)[:60]!r} is not an object: {FIX}"
        )
    _check_element(content, f"a content of {where}", seen)
    name = content.get("name")
    if not isinstance(name, str) or name in names:
        raise DtdlDocumentError(
            f"{where}: a name of a content is missing or not unique, "
            f"{str(name)[:64]!r}: {FIX}"
        )
    names.add(name)


def _check_element(element: Element, what: str, seen: set[str]) -> None:
    kinds = element.get("@type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not all(isinstance(kind, str) for kind in kinds) or _DTDL.isdisjoint(kinds):
        raise DtdlDocumentError(f"{what} has the @type {str(kinds)[:80]}: {FIX}")
    if not all(str(kind).isalnum() for kind in kinds):
        raise DtdlDocumentError(f"{what} has the @type {str(kinds)[:80]}: {FIX}")
    if "@id" in element:
        id_ = element["@id"]
        if not isinstance(id_, str):
            raise DtdlDocumentError(f"{what} has an @id that is not text: {FIX}")
        if id_ in seen:
            raise DtdlDocumentError(f"{id_[:150]} is described twice: {FIX}")
        seen.add(id_)
