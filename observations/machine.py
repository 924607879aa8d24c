"""Digests of signs: they identify a run's machine without serial numbers."""

import hashlib
from collections.abc import Iterable

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from ontology.terms import ST

# Enough digits to tell machines of one name apart, too few to guess a sign.
_DIGITS = 8


def digested(signs: Iterable[str]) -> list[str]:
    """Return the digests of signs, each with its kind as a prefix."""
    return sorted({f"{sign.partition(':')[0]}:{_digest(sign)}" for sign in signs})


def signs_of_host(twin: Endpoint, host: URIRef) -> list[str]:
    """Return the digests of the signs that the host's probes found."""
    rows = twin.select(f"SELECT ?sign {{ <{host}> <{ST.sign}> ?sign }}").values()
    return digested(str(sign) for (sign,) in rows)


def signs_of_runs(twin: Endpoint, host: URIRef) -> list[str]:
    """Return the digests of the machines that the host's runs were on."""
    rows = twin.select(
        "SELECT DISTINCT ?sign "
        f"{{ ?run <{ST.ofHost}> <{host}> ; <{ST.hostSign}> ?sign }}"
    ).values()
    return sorted(str(sign) for (sign,) in rows)


def _digest(sign: str) -> str:
    return hashlib.sha256(f"supertwin run {sign}".encode()).hexdigest()[:_DIGITS]
