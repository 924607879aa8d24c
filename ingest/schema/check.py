"""Check a document against the probe schema, with a one-line error."""

import json
from typing import Any

from pydantic import ValidationError

from ingest.errors import ProbeDocumentError
from ingest.hwloc.read import contradiction
from ingest.schema.schema import ProbeDocument

_FIX = "write it again with `supertwin probe --out FILE`"
_KINDS = {
    dict: "an object",
    list: "a list",
    str: "the text",
    bool: "the value",
    int: "the number",
    float: "the number",
}
_EXPECTED = {
    "model_type": "an object",
    "dict_type": "an object",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_long": "a list of two",
}


def check_document(document: Any) -> ProbeDocument:
    """Return the models of a document.

    Raises ProbeDocumentError with place and reason for the first invalid value.
    """
    try:
        checked = ProbeDocument.model_validate(document)
    except ValidationError as error:
        raise ProbeDocumentError(f"{_first(error)}: {_FIX}") from None
    topology = document["facts"].get("hwloc")
    if topology and (finding := contradiction(topology)):
        raise ProbeDocumentError(f"facts.hwloc: {finding}: {_FIX}")
    return checked


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False)[0]
    place = _path(found["loc"])
    if found["type"] == "missing":
        return f"{place} is missing"
    expected = _EXPECTED.get(found["type"]) or found["msg"].removeprefix("Input ")
    return f"{place} is {_shown(found['input'])}, expected {expected}"


def _path(steps: tuple[int | str, ...]) -> str:
    """A path as jq writes it: ``facts.hwloc.caches[0].size``."""
    path = "".join(
        f"[{json.dumps(step)[:60]}]"
        if isinstance(step, int) or not step.isidentifier()
        else f".{step[:60]}"
        for step in steps
        if step != "[key]"
    )
    return path.removeprefix(".") or "the document"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    kind = _KINDS.get(type(value), type(value).__name__)
    if isinstance(value, dict | list):
        return kind
    text = json.dumps(value, default=repr)
    return f"{kind} {text if len(text) <= 40 else text[:36] + ' …'}"
