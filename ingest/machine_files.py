"""Read files about other machines as probe documents."""

import json
from pathlib import Path
from typing import Any

from ingest.errors import ProbeDocumentError, TopologyError
from ingest.gaps import collected_gaps
from ingest.host_name import check_host
from ingest.hwloc.host import host_facts
from ingest.hwloc.read import parse_hwloc
from ingest.original.probe_file import parse_original
from ingest.probe import FORMAT, file_document
from ingest.schema.check import check_document
from ingest.schema.schema import ProbeDocument
from ingest.sources.files import read_file


def hwloc_file(path: Path, host: str) -> ProbeDocument:
    """Read hwloc's XML as the document of a host with the given name.

    Raises HostNameError, ProbeSourceError and ProbeDocumentError.
    """
    check_host(host)
    try:
        with collected_gaps() as gaps:
            topology = parse_hwloc(read_file(path))
    except TopologyError as error:
        raise TopologyError(f"{path}: {error}") from error
    facts = {"hwloc": topology, **host_facts(topology)}
    return _check(path, file_document(host, facts, {"hwloc": gaps}))


def original_file(path: Path, host: str | None = None) -> ProbeDocument:
    """Read a probe file of the original SuperTwin; the host name is in it unless given.

    Raises the errors of hwloc_file.
    """
    try:
        with collected_gaps() as gaps:
            facts = parse_original(read_file(path))
    except ProbeDocumentError as error:
        raise ProbeDocumentError(f"{path}: {error}") from error
    name = check_host(host or facts["os"]["hostname"] or "")
    return _check(path, file_document(name, facts, {"original": gaps}))


def probe_file(path: Path, host: str | None = None) -> ProbeDocument:
    """Read one of our probe files; the host name is in it unless given.

    Raises the errors of hwloc_file.
    """
    try:
        document = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise ProbeDocumentError(
            f"{path} is not valid JSON ({error}): create it with `supertwin probe "
            "--out FILE`"
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ProbeDocumentError(
            f"{path} is not a probe file: create one with `supertwin probe --out FILE`"
        )
    document |= {"host": check_host(host or str(document.get("host", "")))}
    return _check(path, document)


def doubts(document: ProbeDocument) -> list[str]:
    """Lines about contradictions in a file, and values that could not be read."""
    found = document.facts.original.disagreements
    left_out = [
        f"left out of {name}: {gap}"
        for name, outcome in document.sources.items()
        for gap in outcome.left_out
    ]
    return [f"the file contradicts itself: {line}" for line in found] + left_out


def _check(path: Path, document: dict[str, Any]) -> ProbeDocument:
    try:
        return check_document(document)
    except ProbeDocumentError as error:
        raise ProbeDocumentError(f"{path}: {error}") from None
