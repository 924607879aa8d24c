"""Logs of Darshan become facts of the run that they are of, or nothing changes."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings.audit import events
from core.stores.endpoint import Endpoint
from ingest.triples import Triples, insertion
from observations.errors import OtherRunLogError, UnknownRunError
from observations.file_io.import_log import describe_log, import_log
from observations.file_io.log import read_log
from observations.record import Observation, Run, RunSpec
from observations.statistics import Span
from observations.store import keep_observation
from ontology.iris import Iris
from ontology.terms import ST
from queries.run import Row, saved_rows
from tests.command_line import run
from tests.observations.file_io.shipped import HDF5, NEEDS_DARSHAN, SIMPLE, shipped
from tests.servers import Fuseki

pytestmark = NEEDS_DARSHAN
IRIS = Iris("http://localhost:8000")
START = 1594155460


@pytest.fixture
def twin(before_fuseki: Fuseki) -> Iterator[Endpoint]:
    with Endpoint(f"{before_fuseki.url}/twin") as found:
        host = Triples()
        host.node(IRIS.host("n1"), ST.ComputeNode, {ST.hostname: "n1"})
        found.update(insertion({IRIS.twin_graph("n1"): host}))
        for id_, seconds in (("a", 1.0), ("later", 30.0)):
            start_ms = 1000 * (START + (100 if id_ == "later" else 0)) - 300
            span = Span(start_ms, start_ms + 1000 * seconds)
            about = {"event": "started", "start_ns": start_ms * 10**6, "pid": 7}
            about |= {"start_ticks": 8, "boot": "b"}
            one = Observation(id_, RunSpec("n1", ("ior",)), Run(about, span), {}, [])
            keep_observation(one, found, IRIS)
        yield found


def io(twin: Endpoint, **more: str) -> list[Row]:
    return saved_rows(twin, "observations/io", more)


def graph_size(twin: Endpoint, id_: str = "a") -> int:
    graphs = (
        IRIS.observation_graph(id_),
        IRIS.entailed_graph(IRIS.observation_graph(id_)),
    )
    return sum(len(twin.get_graph(graph)) for graph in graphs)


def test_log_answers_which_run_wrote_most(twin: Endpoint) -> None:
    import_log(twin, IRIS, "a", shipped(HDF5))
    found = io(twin)
    assert [row["interface"] for row in found][:2] == ["MPI-IO", "POSIX"]
    assert len(found) == 5
    (posix,) = io(twin, interface="POSIX", file="test123")
    assert (posix["run"], posix["host"]) == (str(IRIS.observation("a")), "n1")
    assert (posix["read"], posix["written"], posix["ranks"]) == (4202504, 4195800, 4)
    assert float(posix["writeSeconds"]) == pytest.approx(0.5368118, abs=1e-6)
    assert posix["incomplete"] is False


def test_same_log_again_changes_nothing_and_another_is_added(
    twin: Endpoint, tmp_path: Path
) -> None:
    import_log(twin, IRIS, "a", shipped(HDF5))
    once, before = io(twin), graph_size(twin)
    copy = tmp_path / "copy.darshan"
    shutil.copyfile(shipped(HDF5), copy)
    import_log(twin, IRIS, "a", copy)
    assert (io(twin), graph_size(twin)) == (once, before)
    # Each program of a run has a log of its own.
    other = read_log(copy).model_copy(update={"digest": "f" * 64})
    first = {subject for subject, *_ in describe_log(IRIS, "a", read_log(copy))}
    assert first.isdisjoint(subject for subject, *_ in describe_log(IRIS, "a", other))


@pytest.mark.parametrize(
    ("id_", "name", "error"),
    [
        ("later", HDF5, OtherRunLogError),
        ("a", SIMPLE, OtherRunLogError),
        ("none", HDF5, UnknownRunError),
    ],
)
def test_log_of_another_run_adds_nothing(
    twin: Endpoint, id_: str, name: str, error: type[Exception]
) -> None:
    before = graph_size(twin), graph_size(twin, "later")
    with pytest.raises(error):
        import_log(twin, IRIS, id_, shipped(name))
    assert (graph_size(twin), graph_size(twin, "later")) == before


def test_command_imports_and_names_what_is_wrong(
    twin: Endpoint, before_fuseki: Fuseki, tmp_path: Path
) -> None:
    env = before_fuseki.environment(tmp_path)
    done = run(env, "import", "darshan", str(shipped(HDF5)), "--run", "a")
    assert done.stdout == (
        "imported 5 rows of file I/O of 4 ranks: `supertwin query observations/io "
        "--id a` lists them\n"
    )
    (event,) = events(tmp_path)
    assert (event["what"], event["thing"]) == ("run.io-imported", "a")
    damaged = tmp_path / "damaged.darshan"
    damaged.write_bytes(shipped(HDF5).read_bytes()[:2000])
    for path, id_, code in (
        (damaged, "a", "bad-io-log"),
        (shipped(HDF5), "later", "log-of-another-run"),
        (shipped(HDF5), "none", "no-such-observation"),
    ):
        done = run(env, "import", "darshan", str(path), "--run", id_)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith(f"[{code}]\n")
        assert done.stderr.count("\n") == 1
    assert len(io(twin)) == 5
