"""The API completes deletions of samples that a crash or an error interrupted."""

from pathlib import Path

import httpx

from api.access.tokens import TokenRole
from core.stores import span_deletion
from tests.api.servers import code_of, own_api
from tests.api.test_sample_changes import CPU1, START, delete, stored, trail
from tests.own_store import OwnStore
from tests.servers import wait_until

CPU1_MATCH = 'kernel_percpu_cpu_user{hostname="n1",instname="cpu1"}'
FREE_MATCH = 'mem_util_free{hostname="n1"}'


def write_two(store: OwnStore, match: str) -> None:
    line = f"{match} 1 {START * 1000}\n{match} 2 {START * 1000 + 1000}\n"
    url, auth = f"{store.url}/api/v1/import/prometheus", store.account
    httpx.post(url, content=line, auth=auth).raise_for_status()
    assert stored(store, match) == {0: 1, 1: 2}


def test_start_of_the_api_completes_a_crashed_deletion(
    tmp_path: Path, fuseki: str, base: str
) -> None:
    with OwnStore(tmp_path) as store:
        settings, match = store.settings, FREE_MATCH
        write_two(store, match)
        end = START * 1000
        with span_deletion._client(settings) as client:
            kept = span_deletion._export(settings, client, match, end - 1, end)
            span_deletion._delete(settings, client, match, kept)
        assert stored(store, match) == {}
        port = str(settings.store_port)
        with own_api(settings.home, base, fuseki, "", store_port=port):
            wait_until(lambda: not kept.exists())
        assert stored(store, match) == {1: 2}


def test_deletion_that_fails_half_way_is_recorded_and_completed(
    tmp_path: Path, fuseki: str, base: str
) -> None:
    with OwnStore(tmp_path) as store:
        write_two(store, CPU1_MATCH)
        key = tmp_path / "store" / "snapshot-key"
        right = key.read_text()
        port = str(store.settings.store_port)
        with own_api(tmp_path, base, fuseki, "", store_port=port) as api:
            admin = api.add("boss", TokenRole.ADMIN)
            key.write_text("wrong\n")
            answer = delete(api, admin, CPU1, START - 1, START)
            key.write_text(right)
            assert answer.status_code == 502, answer.text
            assert code_of(answer) == "deletion-incomplete"
            ((_, thing, outcome),) = trail(tmp_path, "samples.deleted")
            assert thing.startswith("n1 kernel.percpu.cpu.user cpu1: a span, ")
            assert outcome == "deletion-incomplete"
            deletions = tmp_path / "deletions"
            wait_until(lambda: not [*deletions.iterdir()], what="the other sample")
        assert stored(store, CPU1_MATCH) == {1: 2}
