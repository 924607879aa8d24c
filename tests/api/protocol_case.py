"""A request of the SPARQL protocol, and checks of its answer."""

from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
from rdflib import Graph

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Case:
    """A request, the status of its answer, and what the answer must be.

    ``sends`` is the content type of the body; none, if it is empty.
    """

    name: str
    method: str = "GET"
    url: Pairs = ()
    sends: str = ""
    body: bytes | str = b""
    accept: str = "*/*"
    status: int = 200
    holds: Callable[[httpx.Response], bool] = field(default=lambda answer: True)


def true(answer: httpx.Response) -> bool:
    return answer.json()["boolean"] is True


def names(*expected: str) -> Callable[[httpx.Response], bool]:
    """Return a check of the hosts in the rows of an answer."""

    def holds(answer: httpx.Response) -> bool:
        rows = answer.json()["results"]["bindings"]
        return sorted({row["name"]["value"] for row in rows}) == [*expected]

    return holds


def code(expected: str) -> Callable[[httpx.Response], bool]:
    return lambda answer: answer.json()["type"].endswith(f"/{expected}")


def of_type(*expected: str) -> Callable[[httpx.Response], bool]:
    return lambda answer: (
        answer.headers["content-type"].partition(";")[0] in expected
        and bool(answer.content)
    )


def allows(*expected: str) -> Callable[[httpx.Response], bool]:
    return lambda answer: {*answer.headers["allow"].split(", ")} == {*expected}


def no_body(answer: httpx.Response) -> bool:
    return answer.content == b"" and int(answer.headers["content-length"]) > 0


def triples(answer: httpx.Response) -> bool:
    return len(Graph().parse(data=answer.text, format="turtle")) > 0
