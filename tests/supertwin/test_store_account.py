"""Only its account may use the local VictoriaMetrics, in every release."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from core.settings import tools
from core.settings.settings import Settings
from sampler_bridge.sending.store import StoreConnection
from sampling.calibration.measuring import count_series
from supertwin.backup.snapshot import copy_snapshot
from supertwin.stack import children
from tests.own_store import OwnStore
from tests.ports import LOOPBACK, free_port
from tests.servers import wait_until

DELETES = "/api/v1/admin/tsdb/delete_series?match[]=kept"
POINT = 'forged{hostname="n1"} 1'
WRITES = [
    ("/api/v1/write", b""),
    ("/api/v1/import", b'{"metric":{"__name__":"forged"},"values":[1]}'),
    ("/api/v1/import/prometheus", POINT.encode()),
    ("/api/v1/import/csv?format=1:metric:forged", b"1"),
    ("/write", b"forged value=1"),
    ("/influx/write", b"forged value=1"),
]
READS = [
    "/api/v1/query?query=1",
    "/api/v1/export?match[]=kept",
    "/api/v1/status/tsdb",
    "/vmui/",
    "/config",
    "/internal/force_flush",
]
# These need a key in addition to the account: they cost, destroy or show settings,
# and a browser that knows the account sends it for every web site.
KEYED = [
    DELETES,
    "/tags/delSeries",
    "/snapshot/create",
    "/snapshot/delete_all",
    "/internal/force_merge",
    "/internal/resetRollupResultCache",
    "/config",
    "/flags",
    "/debug/pprof/profile?seconds=1",
    "/debug/pprof/cmdline",
]
# Debian's release has no key for these, which do nothing there.
_LATER = [
    "/-/reload",
    "/internal/log_new_series",
    "/api/v1/admin/status/metric_names_stats/reset",
]


PACKAGED = tools.TOOLS / "packaged-store/usr/bin"


@pytest.fixture(scope="module", params=["ours", "packaged"], autouse=True)
def release(request: pytest.FixtureRequest) -> Iterator[None]:
    """Use the release that we build, and the older one of the distribution."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "packaged":
            if not (PACKAGED / "victoria-metrics").exists():
                pytest.skip("no package victoria-metrics was found by `make test`")
            patch.setenv("PATH", str(PACKAGED), prepend=":")
        yield


@pytest.fixture(scope="module")
def store(
    release: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OwnStore]:
    with OwnStore(tmp_path_factory.mktemp("store")) as store:
        # Earlier than now: an export without an end leaves out the current second.
        point = f"kept 1 {int(time.time() * 1000) - 5000}"
        url = f"{store.url}/api/v1/import/prometheus"
        httpx.post(url, content=point, auth=store.account).raise_for_status()
        flush = f"{store.url}/internal/force_flush"
        httpx.get(flush, auth=store.account).raise_for_status()
        yield store


@pytest.mark.parametrize(("path", "body"), WRITES, ids=[path for path, _ in WRITES])
@pytest.mark.parametrize("host", [LOOPBACK, "rebound.example"])
def test_unknown_account_cannot_write_samples(
    store: OwnStore, path: str, body: bytes, host: str
) -> None:
    """As a form of any web site, or a local user, would try."""
    headers = {"Content-Type": "text/plain", "Host": host}
    for auth in (None, ("supertwin", "wrong"), ("other", store.account[1])):
        answer = httpx.post(store.url + path, content=body, headers=headers, auth=auth)
        assert answer.status_code == 401
    assert "forged" not in _export(store, "forged")


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_account_cannot_read_series(
    store: OwnStore, path: str, method: str
) -> None:
    answer = httpx.request(method, store.url + path)
    assert answer.status_code == 401


@pytest.mark.parametrize("path", [*KEYED, *_LATER])
def test_expensive_or_destructive_paths_need_a_key(store: OwnStore, path: str) -> None:
    glue = "&" if "?" in path else "?"
    for key in ("", "x"):
        url = f"{store.url}{path}{glue}authKey={key}"
        for method in ("GET", "POST"):
            assert httpx.request(method, url).status_code == 401
            if path in KEYED or knows_option("logNewSeriesAuthKey"):
                answer = httpx.request(method, url, auth=store.account)
                # An old release answers 400 or 422 if the account is right.
                assert (
                    answer.status_code in (400, 401, 422) and "authKey" in answer.text
                )
    assert "kept" in _export(store, "kept")


@pytest.mark.parametrize("name", ["snapshot", "delete"])
def test_keys_for_snapshots_and_deletions_survive_restarts(
    store: OwnStore, name: str
) -> None:
    first, second = (children.store(store.settings).env for _ in range(2))
    assert first[f"VM_{name}AuthKey"] == second[f"VM_{name}AuthKey"]
    assert first["VM_forceMergeAuthKey"] != second["VM_forceMergeAuthKey"]
    file = store.settings.home / "store" / f"{name}-key"
    assert file.read_text().strip() == first[f"VM_{name}AuthKey"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_snapshot_holds_all_series(
    store: OwnStore, release: None, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path, store_port=free_port())
    version = copy_snapshot(store.settings, tmp_path / "store")
    assert re.fullmatch(r"v?1\.\d+\.\d+|unknown", version)
    other = OwnStore(tmp_path)
    other.settings, other.url = settings, settings.store_read
    with other:
        wait_until(lambda: "kept" in _export(other, "kept"), what="the series")


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_web_pages_cannot_read_the_series(store: OwnStore, method: str) -> None:
    url, headers = f"{store.url}/api/v1/query?query=1", {"Origin": "https://x.example"}
    answer = httpx.request(method, url, headers=headers)
    open_to = [name for name in answer.headers if name.startswith("access-control")]
    # An old release has no such option; without the account it gives nothing to read.
    assert bool(open_to) <= (not knows_option("http.disableCORS"))
    assert answer.status_code in (401, 204, 200) and "result" not in answer.text


def test_own_clients_are_accepted(store: OwnStore) -> None:
    client = StoreConnection(store.url, store.account)
    assert client.write(b"") is None
    client.show()
    assert client.run().started
    client.close()
    assert count_series(store.settings) >= 1


def test_password_is_in_no_argument(store: OwnStore) -> None:
    command = Path(f"/proc/{store.pid}/cmdline").read_bytes()
    assert store.account[1].encode() not in command
    metrics = httpx.get(f"{store.url}/metrics", auth=store.account).text
    assert "vm_app" in metrics and store.account[1] not in metrics


def test_password_of_the_settings_is_used_for_the_store(tmp_path: Path) -> None:
    other = OwnStore(tmp_path)
    given = {"store_password": "pa$$:wörd".replace("ö", "o"), "store_user": "ada"}
    other.settings = Settings(home=tmp_path, store_port=free_port(), **given)  # type: ignore[arg-type]
    other.url = other.settings.store_read
    with other:
        assert not (tmp_path / "store" / "password").exists()
        url = f"{other.url}/api/v1/query?query=1"
        assert httpx.get(url, auth=("ada", "pa$$:word")).status_code == 200
        assert httpx.get(url).status_code == 401


def _export(store: OwnStore, name: str) -> str:
    flush = f"{store.url}/internal/force_flush"
    httpx.get(flush, auth=store.account).raise_for_status()
    url, asked = f"{store.url}/api/v1/export", {"match[]": name}
    return httpx.get(url, params=asked, auth=store.account).text


def knows_option(name: str) -> bool:
    """Return whether the VictoriaMetrics in use has an option."""
    output = subprocess.run([tools.store(), "-help"], capture_output=True, text=True)
    return f"-{name}" in output.stdout + output.stderr
