"""Answers are compressed as the client accepts, and decode to the same content."""

import gzip
import io

import httpx
import pyarrow as pa
import pytest

from api.compression import choose

LONG = "/ontology?format=turtle"
ROWS = "SELECT * { GRAPH ?g { ?s ?p ?o } }"


def get(api: httpx.Client, path: str, accepted: str, **more: str) -> httpx.Response:
    """Request a path, with the body as it was sent."""
    request = api.build_request(
        "GET", path, headers={"Accept-Encoding": accepted, **more}
    )
    answer = api.send(request, stream=True)
    answer._content = b"".join(answer.iter_raw())
    answer.close()
    return answer


def decoded(answer: httpx.Response) -> bytes:
    encoding = answer.headers.get("content-encoding", "")
    if encoding == "gzip":
        return gzip.decompress(answer.content)
    if encoding == "zstd":
        source = pa.BufferReader(answer.content)
        return bytes(pa.CompressedInputStream(source, "zstd").read())
    assert not encoding
    return answer.content


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize(
    "path", [LONG, "/twin/n1", "/static/theme.css", f"/sparql?query={ROWS}"]
)
def test_compressed_answer_has_the_same_content(
    api: httpx.Client, path: str, encoding: str
) -> None:
    plain, found = get(api, path, "identity"), get(api, path, encoding)
    assert found.headers["content-encoding"] == encoding
    assert decoded(found) == plain.content
    assert len(found.content) < len(plain.content)
    for answer in (plain, found):
        assert "Accept-Encoding" in answer.headers["vary"]


@pytest.mark.parametrize("path", [LONG, "/static/theme.css"])
@pytest.mark.parametrize("accepted", ["identity", "gzip", "zstd"])
def test_unchanged_answer_is_not_sent_again(
    api: httpx.Client, path: str, accepted: str
) -> None:
    first = get(api, path, accepted)
    again = get(api, path, accepted, **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "Accept-Encoding" in again.headers["vary"]
    other = get(api, path, "identity" if accepted != "identity" else "gzip")
    assert other.headers["etag"] != first.headers["etag"]


def test_head_has_the_length_of_the_compressed_body(api: httpx.Client) -> None:
    headers = {"Accept-Encoding": "gzip"}
    head = api.head(LONG, headers=headers)
    length = len(get(api, LONG, "gzip").content)
    assert int(head.headers["content-length"]) == length


@pytest.mark.parametrize("path", ["/sparql?query=ASK%7B%7D", "/static/icon.svg"])
def test_short_answer_is_not_compressed(api: httpx.Client, path: str) -> None:
    answer = get(api, path, "gzip, zstd")
    assert "content-encoding" not in answer.headers
    assert answer.headers["vary"].endswith("Accept-Encoding")


def test_pictures_and_problems_are_not_compressed(api: httpx.Client) -> None:
    picture = get(api, "/docs/monitor.png", "gzip")
    assert "content-encoding" not in picture.headers and "vary" not in picture.headers
    problem = get(api, f"/twin/{'n' * 3000}", "gzip")
    assert problem.status_code >= 400
    assert "content-encoding" not in problem.headers


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        *(("", ""), ("identity", ""), ("br", ""), ("gzip", "gzip"), ("zstd", "zstd")),
        *(("gzip, deflate, br, zstd", "zstd"), ("GZIP", "gzip"), ("*", "zstd")),
        *(("gzip;q=1, zstd;q=0.5", "gzip"), ("zstd;q=0, *", "gzip")),
        *(("gzip;q=0", ""), ("*;q=0", ""), ("gzip;q=x", ""), ("gzip; q = 0.3", "gzip")),
        *(("gzip;q=0.5, identity", ""), ("gzip;q=0.5, identity;q=0.1", "gzip")),
    ],
)
def test_client_chooses_the_encoding(accepted: str, expected: str) -> None:
    assert choose(accepted) == expected


def test_short_parts_of_a_long_answer_arrive_whole() -> None:
    from api.compression import _gzip, _zstd

    parts = [b"a" * 10, b"", b"b" * 100_000, io.BytesIO(b"c" * 10).read()]
    for make in (_gzip, _zstd):
        compress = make()
        sent = b"".join(compress(one, False) for one in parts) + compress(b"", True)
        answer = httpx.Response(200, content=sent)
        answer.headers["content-encoding"] = make.__name__.strip("_")
        assert decoded(answer) == b"".join(parts)
