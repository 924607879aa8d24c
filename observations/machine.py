"""Which machine a run was on: digests of its signs, which tell no serial number."""

import hashlib
from collections.abc import Iterable

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from ontology.terms import ST

# Enough to tell the machines of one name apart, too little to guess a sign by.
_DIGITS = 8


def digested(signs: Iterable[str]) -> list[str]:
    """Signs as they can be handed on, each with its kind in front."""
    return sorted({f"{sign.partition(':')[0]}:{_digest(sign)}" for sign in signs})


def signs_of_host(twin: Endpoint, host: URIRef) -> list[str]:
    """Digests of the signs that its probes saw."""
    rows = twin.select(f"SELECT ?sign {{ <{host}> <{ST.sign}> ?sign }}").values()
    return digested(str(sign) for (sign,) in rows)


def signs_of_runs(twin: Endpoint, host: URIRef) -> list[str]:
    """Digests of the machines that its runs were on."""
    rows = twin.select(
        "SELECT DISTINCT ?sign "
        f"{{ ?run <{ST.ofHost}> <{host}> ; <{ST.hostSign}> ?sign }}"
    ).values()
    return sorted(str(sign) for (sign,) in rows)


def _digest(sign: str) -> str:
    return hashlib.sha256(f"supertwin run {sign}".encode()).hexdigest()[:_DIGITS]
