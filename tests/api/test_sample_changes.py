"""Samples are imported into a series, and a span of one is deleted."""

import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.access.tokens import TokenRole
from core.settings import audit
from tests.api.servers import Closed, bearer, code_of, own_api
from tests.own_store import OwnStore

FREE = "/twin/n1/telemetry/mem.util.free/~"
CPU1 = "/twin/n1/telemetry/kernel.percpu.cpu.user/cpu1"
RELEASE = "/twin/n1/telemetry/kernel.uname.release/~"
# Whole hours, ten days ago: within the retention.
START = (int(time.time()) // 3600 - 240) * 3600


@pytest.fixture(scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    with OwnStore(tmp_path_factory.mktemp("own")) as store:
        yield store


@pytest.fixture(scope="module")
def api(own_store: OwnStore, fuseki: str, base: str) -> Iterator[Closed]:
    """Start an API that has a local series store."""
    home, port = own_store.settings.home, str(own_store.settings.store_port)
    with own_api(home, base, fuseki, "", store_port=port) as found:
        yield found


@pytest.fixture(scope="module")
def operator(api: Closed) -> str:
    return api.add("carla", TokenRole.OPERATOR)


@pytest.fixture(scope="module")
def admin(api: Closed) -> str:
    return api.add("boss", TokenRole.ADMIN)


def send(
    api: Closed, token: str, path: str, content: str, media_type: str = "text/csv"
) -> httpx.Response:
    headers = {**bearer(token), "Content-Type": media_type}
    return api.client.post(api.url + path, content=content.encode(), headers=headers)


def delete(api: Closed, token: str, path: str, start: Any, end: Any) -> httpx.Response:
    query = {"from": str(start), "to": str(end)}
    headers = bearer(token)
    return api.client.delete(api.url + path, params=query, headers=headers)


def stored(store: OwnStore, match: str) -> dict[float, float]:
    auth = store.account
    httpx.get(f"{store.url}/internal/force_flush", auth=auth)
    query = {"match[]": match}
    answer = httpx.get(f"{store.url}/api/v1/export", params=query, auth=auth)
    found: dict[float, float] = {}
    for line in answer.text.splitlines():
        row = httpx.Response(200, text=line).json()
        times = [ms / 1000 - START for ms in row["timestamps"]]
        found |= dict(zip(times, row["values"], strict=True))
    return found


def utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(START + seconds))


def trail(home: Path, what: str) -> list[tuple[str, str, str]]:
    return [
        (event["who"], event["thing"], event["outcome"])
        for event in audit.events(home)
        if event["what"] == what
    ]


def test_samples_are_imported(
    api: Closed, own_store: OwnStore, operator: str, base: str
) -> None:
    rows = [utc(0) + "Z,1.5", f"{START + 1.5},-2e3", utc(7203) + "+02:00,7", ""]
    content = "time,value [KiB]\r\n" + "\r\n".join(rows)
    answer = send(api, operator, FREE, content)
    assert answer.status_code == 201, answer.text
    assert answer.json() == {
        "telemetry": base + FREE,
        "samples": 3,
        "from": utc(0) + ".000Z",
        "to": utc(3) + ".000Z",
    }
    found = stored(own_store, 'mem_util_free{hostname="n1"}')
    assert found == {0: 1.5, 1.5: -2000, 3: 7}
    # The same again changes nothing.
    assert send(api, operator, FREE, content).status_code == 201
    assert stored(own_store, 'mem_util_free{hostname="n1"}') == found
    thing = f"n1 mem.util.free: 3 samples, {utc(0)}.000Z to {utc(3)}.000Z"
    assert trail(api.home, "samples.imported") == [("token carla", thing, "done")] * 2


def test_instance_gets_its_own_samples(
    api: Closed, own_store: OwnStore, operator: str
) -> None:
    content = f"time,value\n{START},5\n"
    assert send(api, operator, CPU1, content).status_code == 201
    labels = 'hostname="n1",instname="cpu1"'
    assert stored(own_store, f"kernel_percpu_cpu_user{{{labels}}}") == {0: 5}


BEFORE = f"time,value\n{START + 100},1\n"


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ("", "bad-sample-file", "line 1"),
        ("value,time\n1,2\n", "bad-sample-file", "line 1"),
        ("time,value,unit\n", "bad-sample-file", "line 1"),
        ("time,value\n", "bad-sample-file", "no samples"),
        (BEFORE + f"{START + 101}\n", "bad-sample-file", "line 3"),
        (BEFORE + f"{START + 101},\n", "bad-sample-file", "line 3"),
        (BEFORE + f"{START + 101},NaN\n", "bad-sample-file", "line 3"),
        (BEFORE + f"{START + 101},1e999\n", "bad-sample-file", "line 3"),
        (BEFORE + f"{START + 101},1_000\n", "bad-sample-file", "line 3"),
        (BEFORE + "yesterday,2\n", "bad-sample-file", "line 3"),
        (BEFORE + "now,2\n", "bad-sample-file", "line 3"),
        (BEFORE + f'{START + 101},"2\n', "bad-sample-file", "not CSV"),
        (BEFORE + f"{START + 100},2\n", "samples-out-of-order", "line 3"),
        (BEFORE + f"{START + 100.0004},2\n", "samples-out-of-order", "line 3"),
        (BEFORE + f"{START + 99},2\n", "samples-out-of-order", "line 2"),
        (BEFORE + f"{START + 10**8},2\n", "bad-sample-file", "future"),
        (f"time,value\n{START - 10**7},1\n", "bad-sample-file", "retention"),
        (BEFORE.replace("value", "value [MiB]"), "wrong-unit", "KiB or KibiBYTE"),
        (BEFORE.replace("value", "value [furlong]"), "wrong-unit", "'furlong'"),
    ],
)
def test_wrong_file_is_refused_and_nothing_written(
    api: Closed,
    own_store: OwnStore,
    operator: str,
    content: str,
    code: str,
    said: str,
) -> None:
    before = stored(own_store, "mem_util_free")
    answer = send(api, operator, FREE, content)
    assert (answer.status_code, code_of(answer)) == (400, code), answer.text
    detail = answer.json()["detail"]
    assert said in detail and "\n" not in detail
    assert stored(own_store, "mem_util_free") == before


def test_file_that_is_not_utf8_is_refused(api: Closed, operator: str) -> None:
    headers = {**bearer(operator), "Content-Type": "text/csv"}
    content = b"time,value [\xb0C]\n1,2\n"
    answer = api.client.post(api.url + FREE, content=content, headers=headers)
    assert (answer.status_code, code_of(answer)) == (400, "bad-sample-file")


def test_metric_without_a_unit_takes_none(api: Closed, operator: str) -> None:
    load = "/twin/n1/telemetry/kernel.all.load/1~20minute"
    answer = send(api, operator, load, f"time,value [s]\n{START},1\n")
    assert (answer.status_code, code_of(answer)) == (400, "wrong-unit")
    assert send(api, operator, load, f"time,value\n{START},1\n").status_code == 201


def test_another_value_at_the_same_time_is_a_conflict(
    api: Closed, own_store: OwnStore, operator: str
) -> None:
    first = f"time,value\n{START + 200},1\n{START + 201},2\n"
    assert send(api, operator, FREE, first).status_code == 201
    before = stored(own_store, "mem_util_free")
    second = f"time,value\n{START + 199},0\n{START + 201},3\n"
    answer = send(api, operator, FREE, second)
    assert (answer.status_code, code_of(answer)) == (409, "sample-exists")
    assert "line 3" in answer.json()["detail"]
    assert stored(own_store, "mem_util_free") == before


def test_texts_cannot_be_imported(api: Closed, operator: str) -> None:
    answer = send(api, operator, RELEASE, f"time,value\n{START},1\n")
    assert (answer.status_code, code_of(answer)) == (400, "text-metric")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/twin/n9/telemetry/mem.util.free/~", "unknown-host"),
        ("/twin/n1/telemetry/no.metric/~", "unknown-metric"),
        ("/twin/n1/telemetry/other.metric/~", "not-exposed"),
        ("/twin/n1/telemetry/kernel.percpu.cpu.user/cpu9", "unknown-instance"),
        ("/twin/n1/telemetry/proc.psinfo.utime/99999999~20gone", "unknown-instance"),
    ],
)
def test_unknown_telemetry_is_refused(
    api: Closed, operator: str, admin: str, path: str, code: str
) -> None:
    answers = [
        send(api, operator, path, f"time,value\n{START},1\n"),
        delete(api, admin, path, START, START + 1),
    ]
    for answer in answers:
        assert (answer.status_code, code_of(answer)) == (404, code)


def test_roles_and_types_are_required(api: Closed, operator: str) -> None:
    reader = api.add("looks-on", TokenRole.READER)
    content = f"time,value\n{START + 300},1\n"
    unnamed = api.client.post(api.url + FREE, content=content)
    assert unnamed.status_code == 401
    assert send(api, reader, FREE, content).status_code == 403
    assert delete(api, operator, FREE, START, START + 1).status_code == 403
    answer = send(api, operator, FREE, content, "application/json")
    assert (answer.status_code, code_of(answer)) == (415, "unsupported-media-type")


def test_too_large_a_file_is_refused(api: Closed, operator: str) -> None:
    answer = send(api, operator, FREE, "time,value\n" + " " * (16 << 20))
    assert (answer.status_code, code_of(answer)) == (413, "body-too-large")


def test_compressed_file_is_refused(api: Closed, operator: str) -> None:
    headers = {
        **bearer(operator),
        **{"Content-Type": "text/csv", "Content-Encoding": "gzip"},
    }
    content = gzip.compress(b"time,value\n" + b" " * (64 << 20))
    answer = api.client.post(api.url + FREE, content=content, headers=headers)
    assert (answer.status_code, code_of(answer)) == (415, "unsupported-media-type")
    assert answer.headers["accept-encoding"] == "identity"


def test_span_is_deleted_and_can_be_imported_again(
    api: Closed, own_store: OwnStore, operator: str, admin: str, base: str
) -> None:
    rows = "".join(f"{START + 1000 + n},{n}\n" for n in range(10))
    assert send(api, operator, FREE, f"time,value\n{rows}").status_code == 201
    before = stored(own_store, "mem_util_free")
    answer = delete(api, admin, FREE, START + 1003, utc(1006) + "Z")
    assert answer.status_code == 200, answer.text
    span = {"from": utc(1003) + ".000Z", "to": utc(1006) + ".000Z"}
    assert answer.json() == {"telemetry": base + FREE, "samples": 3, **span}
    after = stored(own_store, "mem_util_free")
    assert after == {k: v for k, v in before.items() if k not in (1004, 1005, 1006)}
    thing = f"n1 mem.util.free: 3 samples, {span['from']} to {span['to']}"
    assert trail(api.home, "samples.deleted") == [("token boss", thing, "done")]
    corrected = f"time,value\n{START + 1005},-5\n"
    assert send(api, operator, FREE, corrected).status_code == 201
    assert stored(own_store, "mem_util_free") == after | {1005: -5}


@pytest.mark.parametrize(
    ("start", "end"), [("now", "now-1h"), ("x", "now"), ("now-1h", "1e99")]
)
def test_wrong_span_is_refused(api: Closed, admin: str, start: str, end: str) -> None:
    answer = delete(api, admin, FREE, start, end)
    assert (answer.status_code, code_of(answer)) == (400, "bad-samples-call")


def test_span_needs_both_ends(api: Closed, admin: str) -> None:
    url = f"{api.url}{FREE}?from=now-1h"
    answer = api.client.delete(url, headers=bearer(admin))
    assert (answer.status_code, code_of(answer)) == (422, "invalid-request")


def test_samples_of_an_external_store_are_not_deleted(
    tmp_path: Path, fuseki: str, store: str, base: str
) -> None:
    with own_api(tmp_path, base, fuseki, store) as api:
        admin = api.add("boss", TokenRole.ADMIN)
        answer = delete(api, admin, FREE, START, START + 1)
    assert (answer.status_code, code_of(answer)) == (400, "external-store")
    assert trail(tmp_path, "samples.deleted") == []


def test_import_without_a_store_is_an_error(
    tmp_path: Path, fuseki: str, base: str
) -> None:
    with own_api(tmp_path, base, fuseki, "http://127.0.0.1:9") as api:
        operator = api.add("carla", TokenRole.OPERATOR)
        answer = send(api, operator, FREE, f"time,value\n{START},1\n")
    assert (answer.status_code, code_of(answer)) == (502, "series-unreadable")
