"""Export and import of runs: the crate's contents, and the host of an imported run."""

import json
import shutil
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from rdflib import URIRef

from core.settings.audit import events
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.triples import Triples, insertion
from observations.comparison.comparing import find_group
from observations.errors import CrateError
from observations.exchange.crate import write_crate
from observations.exchange.export import crate_files, export_run
from observations.exchange.import_ import FILES, import_run
from observations.launch import program
from observations.record import Observation, Run, RunSpec, Summary
from observations.statistics import Span, Statistics
from observations.store import keep_observation
from ontology.iris import Iris
from ontology.selectors import series_name
from ontology.terms import ST
from queries.run import saved_rows
from tests.command_line import run
from tests.crates import contents, unpacked
from tests.servers import Fuseki, VictoriaMetrics

IRIS = Iris("http://localhost:8000")
METRIC, SECRET = "mem.util.free", "s3cret-of-ana"
START_MS = 1_793_523_600_000
ENVIRONMENT = {"API_TOKEN": SECRET, "STORE": f"https://ana:{SECRET}@x", "MODE": "fast"}
STARTED = {
    **{"event": "started", "start_ns": START_MS * 10**6, "exec_ns": START_MS * 10**6},
    **{"pid": 7, "start_ticks": 8, "boot": "b", "user": "ana"},
}
ENDED = {
    **{"event": "ended", "exit": 0, "signal": None, "timed_out": False},
    **{"cancelled": False, "left": []},
}
ASKED = RunSpec("n1", ("solve", "-n", "4"), (0,), environment=ENVIRONMENT)
FIGURES = Statistics(1, 1.0, 1.0, 1.0, 1.0, 1.0, None, None)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VictoriaMetrics]:
    with VictoriaMetrics(tmp_path_factory.mktemp("store")) as server:
        yield server


@pytest.fixture
def settings(before_fuseki: Fuseki, store: VictoriaMetrics, tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, store_read_url=store.url, store_write_url=store.url)


@pytest.fixture
def twin(before_fuseki: Fuseki) -> Iterator[Endpoint]:
    with Endpoint(f"{before_fuseki.url}/twin") as found:
        metric = Triples()
        known = {ST.samplerName: METRIC, ST.dbName: series_name(METRIC)}
        metric.node(IRIS.metric(METRIC), ST.Metric, known)
        found.update(insertion({IRIS.metrics_graph: metric}))
        yield found


def describe_host(twin: Endpoint, *signs: str, host: str = "n1") -> None:
    """Describe a host with one thread as a probe finds it, replacing what was there."""
    triples, graph = Triples(), IRIS.twin_graph(host)
    triples.node(IRIS.host(host), ST.ComputeNode, {ST.hostname: host, ST.sign: signs})
    triples.node(IRIS.component(host, "thread", "0"), ST.HardwareThread, {})
    twin.update(f"DROP SILENT GRAPH <{graph}> ; {insertion({graph: triples})}")


def ran(settings: Settings, twin: Endpoint, id_: str, *events: Any) -> None:
    """Record a run with its kept files; the last event line may be cut short."""
    run = Run(STARTED, Span(START_MS, START_MS + 1000))
    metric = str(IRIS.metric(METRIC))
    summary = Summary(METRIC, metric, None, FIGURES)
    one = Observation(id_, ASKED, run, {METRIC: metric}, [summary])
    keep_observation(one, twin, IRIS)
    folder = settings.home / "observations" / id_
    folder.mkdir(parents=True)
    request = {"argv": ["solve"], "env": ENVIRONMENT}
    (folder / "request.json").write_text(json.dumps(request))
    lines = [one if isinstance(one, str) else json.dumps(one) for one in events]
    (folder / "events.jsonl").write_text("\n".join([json.dumps(STARTED), *lines]))


def printed(text: bytes) -> Mapping[str, Any]:
    data = b64encode(text).decode()
    return {"event": "output", "stream": "stdout", "data": data}


def exported(settings: Settings, twin: Endpoint, id_: str) -> dict[str, bytes]:
    """The files of a crate, as another user reads them."""
    found = export_run(settings, twin, id_)
    path = settings.home / f"{uuid4()}.zip"
    write_crate(path, found.metadata, crate_files(found))
    return contents(path, {*FILES, "run.py", "stdout.txt"})


def bring_bytes(
    settings: Settings, twin: Endpoint, files: Mapping[str, bytes], **more: bool
) -> URIRef:
    folder = settings.home / str(uuid4())
    return import_run(settings, twin, unpacked(folder, files), **more)


def forget(settings: Settings, twin: Endpoint, *ids: str) -> None:
    """Remove all data of these runs from the store."""
    for id_ in ids:
        twin.update(f"DROP GRAPH <{IRIS.observation_graph(id_)}>")
        shutil.rmtree(settings.home / "observations" / id_)


def hosts(twin: Endpoint) -> dict[str, str]:
    """The host of each run, by the run's id."""
    rows = saved_rows(twin, "observations/runs", {})
    return {row["run"].rpartition("/")[2]: row["host"] for row in rows}


def test_crate_contains_no_secret(settings: Settings, twin: Endpoint) -> None:
    describe_host(twin, "machine-id:0123456789abcdef")
    ran(settings, twin, "a", printed(b"hi\n"))
    files = exported(settings, twin, "a")
    assert files.keys() > {"run.py", "events.jsonl", "observation.ttl", "stdout.txt"}
    for name, content in files.items():
        assert SECRET.encode() not in content, name
        assert b"0123456789abcdef" not in content, name
    request = json.loads(files["request.json"])
    assert request["private"] == ["API_TOKEN", "STORE"]
    assert request["env"] == {"MODE": "fast"}
    assert files["run.py"] == program(request)


def test_truncated_line_affects_only_itself(settings: Settings, twin: Endpoint) -> None:
    describe_host(twin)
    ran(settings, twin, "a", printed(b"so far"), '{"event": "ended", "outp')
    files = exported(settings, twin, "a")
    assert files["stdout.txt"] == b"so far"
    assert len(files["events.jsonl"].splitlines()) == 2


def test_output_name_cannot_leave_the_crate(
    settings: Settings, twin: Endpoint, tmp_path: Path
) -> None:
    """Events from versions that did not check names may contain such a name."""
    describe_host(twin)
    outside = str(tmp_path / "outside")
    kept = {"bytes": 1, "head": "eA==", "tail": "", "cut": 0}
    ran(settings, twin, "a", {"event": "ended", "output": {outside: kept}})
    assert not any("outside" in name for name in exported(settings, twin, "a"))
    assert not list(tmp_path.glob("outside*"))


def test_run_outlives_its_host(settings: Settings, twin: Endpoint) -> None:
    describe_host(twin)
    ran(settings, twin, "a")
    twin.update(f"DROP GRAPH <{IRIS.twin_graph('n1')}>")
    assert hosts(twin) == {"a": "n1"}
    assert find_group(twin, IRIS, "a").runs[0]["host"] == "n1"
    files = exported(settings, twin, "a")
    forget(settings, twin, "a")
    bring_bytes(settings, twin, files)
    assert hosts(twin) == {"a": "n1"}


SIGNS = ("product-uuid:1-2", "machine-id:ab")


@pytest.mark.parametrize(
    ("here", "why"),
    [
        (SIGNS, ""),
        (("machine-id:ab",), ""),
        # The firmware's id decides if both sides have one.
        (("product-uuid:1-2", "machine-id:cd"), ""),
        (("product-uuid:3-4", "machine-id:ab"), "another machine here, by its product"),
        (("mac:00:11:22:33:44:55",), "known here, and may be another machine"),
        ((), "known here, and may be another machine"),
    ],
)
def test_host_name_does_not_identify_a_machine(
    settings: Settings, twin: Endpoint, here: tuple[str, ...], why: str
) -> None:
    describe_host(twin, *SIGNS)
    ran(settings, twin, "a")
    files = exported(settings, twin, "a")
    forget(settings, twin, "a")
    describe_host(twin, *here)
    if why:
        with pytest.raises(
            CrateError, match=f"n1 is .*{why}.*`--host NAME`.*--confirm"
        ):
            bring_bytes(settings, twin, files)
        assert hosts(twin) == {}
        bring_bytes(settings, twin, files, confirm=True)
    else:
        bring_bytes(settings, twin, files)
    assert hosts(twin) == {"a": "n1"}


def test_run_of_another_machine_with_the_same_name_is_renamed(
    settings: Settings,
    twin: Endpoint,
    store: VictoriaMetrics,
    before_fuseki: Fuseki,
    tmp_path: Path,
) -> None:
    describe_host(twin, *SIGNS)
    ran(settings, twin, "a")
    files = exported(settings, twin, "a")
    sample = f"{series_name(METRIC)},n1,,{START_MS},42.0\n".encode()
    files["series.csv"] += sample
    forget(settings, twin, "a")
    describe_host(twin, "machine-id:cd")
    crate = tmp_path / "crate"
    crate.mkdir()
    for name, content in files.items():
        (crate / name).write_bytes(content)
    env = before_fuseki.environment(tmp_path)
    env |= {f"SUPERTWIN_STORE_{way}_URL": store.url for way in ("READ", "WRITE")}
    done = run(env, "import", "observation", str(crate))
    assert (done.returncode, done.stdout) == (2, "")
    assert "n1 is another machine here, by its machine-id: `--host NAME`" in done.stderr
    done = run(env, "import", "observation", str(crate), "--host", "n1-of-ana")
    assert done.stdout.strip() == str(IRIS.observation("a")), done.stderr
    assert hosts(twin) == {"a": "n1-of-ana"}
    (event,) = events(tmp_path)
    assert (event["what"], event["thing"]) == ("run.imported", done.stdout.strip())
    metadata = export_run(settings, twin, "a").graph.serialize(format="nt")
    ours = IRIS.host("n1")
    assert [line for line in metadata.splitlines() if f"{ours}>" in line] == []
    assert f"<{ours}/" not in metadata
    httpx.get(f"{store.url}/internal/force_flush").raise_for_status()
    asked = {"match[]": series_name(METRIC), "start": "0"}
    lines = httpx.get(f"{store.url}/api/v1/export", params=asked).text.splitlines()
    found = [json.loads(line)["metric"]["hostname"] for line in lines]
    assert found == ["n1-of-ana"]
    # Export and import it again: the machine is known by its signs now.
    other = exported(settings, twin, "a")
    forget(settings, twin, "a")
    bring_bytes(settings, twin, other)
    with pytest.raises(CrateError, match="is another run"):
        bring_bytes(settings, twin, files)


def test_import_distinguishes_machines_known_only_from_crates(
    settings: Settings, twin: Endpoint
) -> None:
    crates = []
    for id_, signs in (("a", SIGNS), ("b", SIGNS), ("c", ("machine-id:cd",))):
        describe_host(twin, *signs)
        ran(settings, twin, id_)
        crates.append(exported(settings, twin, id_))
    forget(settings, twin, "a", "b", "c")
    twin.update(f"DROP GRAPH <{IRIS.twin_graph('n1')}>")
    for files in crates[:2]:
        bring_bytes(settings, twin, files)
    assert hosts(twin) == {"a": "n1", "b": "n1"}
    with pytest.raises(CrateError, match="another machine here, by its machine-id"):
        bring_bytes(settings, twin, crates[2])


def test_baselines_are_in_the_audit_trail(
    twin: Endpoint, before_fuseki: Fuseki, tmp_path: Path
) -> None:
    describe_host(twin)
    span = Span(START_MS, START_MS + 1000)
    ended = Observation("a", ASKED, Run(STARTED, span, ENDED), {}, [])
    keep_observation(ended, twin, IRIS)
    env = before_fuseki.environment(tmp_path)
    for words in (["set", "fast", "a"], ["remove", "fast"]):
        done = run(env, "baseline", *words)
        assert done.returncode == 0, done.stderr
    assert run(env, "baseline", "remove", "fast").returncode == 2
    found = [(event["what"], event["thing"]) for event in events(tmp_path)]
    assert found == [("baseline.set", "fast"), ("baseline.removed", "fast")]
