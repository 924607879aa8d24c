"""`supertwin dashboards`, as a user runs it."""

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import Result

from core.settings import tools
from tests.command_line import supertwin
from tests.dashboards.conftest import BIG, ODD, Made, Servers
from tests.ports import LOOPBACK, free_port
from tests.servers import VictoriaMetrics, answers

Run = Callable[..., Result]


@pytest.fixture
def run(servers: Servers, tmp_path: Path) -> Run:
    """Runs the command against the servers; further settings by name."""
    parts = urlsplit(servers.fuseki)
    own = {
        "HOME": str(tmp_path / "home"),
        "FUSEKI_URL": f"http://{parts.hostname}:{parts.port}",
        "FUSEKI_USER": parts.username or "",
        "FUSEKI_PASSWORD": parts.password or "",
        "STORE_READ_URL": servers.store,
    }

    def call(*words: str, **settings: str) -> Result:
        given = {name: value for name, value in (own | settings).items() if value}
        return supertwin(given, "dashboards", *words)

    return call


def test_every_dashboard_is_a_file(run: Run, made: list[Made], tmp_path: Path) -> None:
    out = tmp_path / "new" / "grafana"
    done = run("--out", str(out))
    assert done.exit_code == 0, done.stderr
    wanted = {
        f"{one.document['uid']}.json": one.document
        for one in made
        if one.spec.name != "inventory" or not one.spec.host
    }
    assert {path.name for path in out.iterdir()} == wanted.keys()
    for name, document in wanted.items():
        assert json.loads((out / name).read_text("utf-8")) == document
    assert done.stdout.splitlines() == [str(out / name) for name in sorted(wanted)]


def test_rewriting_one_host_leaves_other_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("{}")
    (tmp_path / "home").mkdir()
    first = _written(run, tmp_path)
    assert first.keys() == {
        "mine.json",
        *(
            f"supertwin-{name}-{BIG}.json"
            for name in (
                "bridge",
                "inventory",
                "jobs",
                "monitor",
                "probes",
                "roofline",
                "virtual",
            )
        ),
    }
    kept = tmp_path / f"supertwin-inventory-{BIG}.json"
    changed = kept.stat().st_mtime_ns
    (tmp_path / f"supertwin-monitor-{BIG}.json").write_text("broken")
    assert _written(run, tmp_path) == first
    assert first["mine.json"] == b"{}"
    assert kept.stat().st_mtime_ns == changed


def _written(run: Run, out: Path) -> dict[str, bytes]:
    done = run("--out", str(out), "--host", BIG)
    assert done.exit_code == 0, done.stderr
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


def test_check_counts_its_queries(run: Run) -> None:
    done = run("--check")
    assert done.exit_code == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    big, odd = (line for line in lines if "-monitor-" in line)
    (inventory,) = (line for line in lines if "-inventory" in line)
    assert inventory.startswith("supertwin-inventory: ")
    assert f"supertwin-monitor-{BIG}: " in big
    assert ODD.split(".")[0] in odd
    for line in lines:
        assert line.endswith(": no findings")
    assert " 0 expressions" not in big
    assert " 0 queries" not in inventory


class Impatient(VictoriaMetrics):
    """A store that accepts short expressions only."""

    def start(self) -> None:
        self.launch(
            [
                tools.store(),
                f"-storageDataPath={self.folder / 'data'}",
                f"-httpListenAddr={LOOPBACK}:{self.port}",
                *("-search.maxQueryLen=200", "-loggerLevel=ERROR"),
            ]
        )
        self.ready(lambda: answers(f"{self.url}/health"))


def test_failed_check_is_a_line_and_the_exit_status(run: Run, tmp_path: Path) -> None:
    with Impatient(tmp_path / "impatient") as store:
        done = run("--check", "--host", BIG, STORE_READ_URL=store.url)
    assert done.exit_code == 1
    assert done.stderr == ""
    failed = [line for line in done.stdout.splitlines() if "expression-fails" in line]
    assert failed
    assert all(line.startswith("  panel ") and "too long" in line for line in failed)
    assert f"{len(failed)} findings" in done.stdout


@pytest.mark.parametrize(
    ("words", "settings", "status", "line"),
    [
        ([], {}, 2, "give a folder to write them to (--out), or --check them"),
        (["--check", "--host", "nobody"], {}, 2, "the twin knows no host 'nobody'"),
        (["--out", "/dev/null/x"], {}, 2, "--out /dev/null/x: Not a directory"),
        (["--out", "pyproject.toml"], {}, 2, "pyproject.toml"),
        (["--out", ""], {}, 2, "it is empty: give a path"),
        (["--check"], {"FUSEKI_URL": "http://127.0.0.1:1"}, 1, "does not answer"),
        (["--check"], {"STORE_READ_URL": "http://127.0.0.1:1"}, 1, "does not answer"),
        (["--check"], {"FUSEKI_PASSWORD": "x"}, 1, "fix SUPERTWIN_FUSEKI_USER"),
    ],
    ids=["nothing", "host", "device", "file", "empty", "graph", "store", "account"],
)
def test_invalid_arguments_give_one_line(
    run: Run, words: list[str], settings: dict[str, str], status: int, line: str
) -> None:
    done = run(*words, **settings)
    assert done.exit_code == status, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert line in done.stderr


def test_invalid_store_of_series_gives_one_line(run: Run, servers: Servers) -> None:
    """Fuseki first requires an account; with one, it does not know this path."""
    parts = urlsplit(servers.fuseki)
    url = f"http://{parts.hostname}:{parts.port}"
    account = {
        "STORE_USER": parts.username or "",
        "STORE_PASSWORD": parts.password or "",
    }
    for given, line in (
        ({}, "refuses the account (401): fix SUPERTWIN_STORE_USER"),
        (account, "not as VictoriaMetrics does: fix SUPERTWIN_STORE_READ_URL"),
    ):
        done = run("--check", "--host", BIG, STORE_READ_URL=url, **given)
        assert done.exit_code == 1
        assert len(done.stderr.splitlines()) == 1
        assert line in done.stderr


def test_refused_account_leaves_the_files_as_they_are(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    before = _written(run, tmp_path)
    done = run("--out", str(tmp_path), "--host", BIG, FUSEKI_PASSWORD="wrong")
    assert done.exit_code == 1
    assert "fix SUPERTWIN_FUSEKI_USER" in done.stderr
    after = {
        path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()
    }
    assert after == before


def test_unreachable_graph_store_writes_nothing(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("--out", str(out), FUSEKI_URL=f"http://127.0.0.1:{free_port()}")
    assert done.exit_code == 1
    assert not out.exists()
