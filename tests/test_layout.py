"""Rules of the code base that a machine can check."""

import ast
from functools import cache
from pathlib import Path

from queries.page import query_page

ROOT = Path(__file__).parents[1]

# A folder imports only from folders above it.
ORDER = (
    "ontology",
    "core",
    "shapes",
    "queries",
    "pinning",
    "dashboards",
    "ingest",
    "dtdl",
    "virtual_telemetry",
    "sampling",
    "sampler_bridge",
    "observations",
    "benchmarks",
    "api",
    "supertwin",
)
# The only contents of `core/`, in import order.
CORE = ("errors", "protobuf", "linux", "settings", "stores")
# Not part of the program: tests, measurements, documentation and installation.
OTHERS = {"bench", "deploy", "docs", "tests"}

# Processes that these start end soon, with their input, or by SUPERTWIN_OWNER_PID.
ENDS_BY_ITSELF = {
    "tests/api/test_live_shared.py",
    "tests/core/linux/test_signals.py",
    "tests/e2e/test_counting_ended.py",
    "tests/e2e/test_run_manager.py",
    "tests/ingest/test_collect.py",
    "tests/ingest/test_processes.py",
    "tests/ingest/test_remote_interrupted.py",
    "tests/observations/test_runner.py",
    "tests/sampler_bridge/test_outages.py",
    "tests/sampling/sources/test_pcp_source.py",
    "tests/sampling/cost/test_usage.py",
    "tests/supertwin/conftest.py",
    "tests/sampling/cost/test_default_model.py",
    "tests/sampling/cost/test_plan_cost.py",
    "tests/supertwin/test_fleet.py",
    "tests/supertwin/test_owner.py",
    "tests/supertwin/test_up.py",
}

# Only these call other programs.
MAY_CALL_PROGRAMS = {
    "benchmarks/programs.py",
    "ingest/remote/collect.py",
    "supertwin/backup/restore.py",
    "sampling/agents/daemon.py",
    "sampling/agents/checks.py",
    "sampler_bridge/sources/child_program.py",
    "ingest/remote/ssh.py",
    "ingest/sources/tool.py",
    "observations/launch.py",
    "observations/local_runner.py",
    "observations/command_start.py",
    "observations/runner.py",
    "observations/environment.py",
    "observations/hot_loops/llvm.py",
    "observations/hot_loops/perf.py",
    "observations/recorder.py",
    "observations/pop/recording.py",
    "core/linux/ssh/client.py",
    "supertwin/stack/background_calibration.py",
    "supertwin/stack/child.py",
    "supertwin/stack/fuseki_classes.py",
    "supertwin/stack/fuseki_extension.py",
    "supertwin/stack/fuseki_service.py",
    "supertwin/stack/stack.py",
    "core/settings/tools.py",
}

# This is one file because it is sent to other machines by itself.
MAY_BE_LONG = {
    "ingest/remote/collect.py": 560,
    # Lists with one entry for each setting, and for each suite.
    "core/settings/settings.py": 400,
    "benchmarks/suites.py": 340,
    "sampler_bridge/sampling/sampler.py": 340,
}

# Only these make settings from the environment; all others receive them.
MAY_MAKE_SETTINGS = {"core", "supertwin", "api"}
# These receive single values: they do not know the settings of a process.
KNOW_NO_SETTINGS = {"ontology", "shapes", "queries", "dashboards", "sampler_bridge"}

SOURCES = sorted(path for folder in ORDER for path in (ROOT / folder).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def _imports(path: Path) -> frozenset[str]:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = {
        a.name for node in nodes if isinstance(node, ast.Import) for a in node.names
    }
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            # A name imported from a folder may be one of its modules.
            names |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
    return frozenset(names)


def test_imports_follow_the_order_of_folders() -> None:
    found = {_name(path): _forbidden_imports(path) for path in SOURCES}
    assert not {name: modules for name, modules in found.items() if modules}


def _forbidden_imports(path: Path) -> set[str]:
    below = ORDER[ORDER.index(_folder(path)) + 1 :]
    return {one for one in _imports(path) if one.split(".")[0] in (*below, *OTHERS)}


def test_every_folder_is_in_the_order() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages - OTHERS == set(ORDER)


def test_parts_of_core_import_in_order() -> None:
    core = {path.stem for path in (ROOT / "core").iterdir() if path.name[0] != "_"}
    assert core == {*CORE}
    wrong = {
        _name(path): _later_in_core(path) for path in (ROOT / "core").rglob("*.py")
    }
    assert not {name: modules for name, modules in wrong.items() if modules}


def _later_in_core(path: Path) -> set[str]:
    part = path.relative_to(ROOT / "core").parts[0].removesuffix(".py")
    later = CORE[CORE.index(part) + 1 :] if part in CORE else ()
    return {
        one
        for one in _imports(path)
        if one.startswith("core.") and one.split(".")[1] in later
    }


def test_settings_are_created_at_the_top_only() -> None:
    handed = [path for path in SOURCES if _folder(path) not in MAY_MAKE_SETTINGS]
    assert not [_name(path) for path in handed if "Settings()" in path.read_text()]
    knowing_none = [path for path in SOURCES if _folder(path) in KNOW_NO_SETTINGS]
    assert not [_name(path) for path in knowing_none if _knows_settings(path)]


def _folder(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def _knows_settings(path: Path) -> bool:
    imported = "core.settings.settings" in _imports(path)
    return imported or "SUPERTWIN_" in path.read_text("utf-8")


def test_programs_are_called_from_few_places() -> None:
    callers = {
        _name(path)
        for path in SOURCES
        if {"subprocess", "asyncio.subprocess"} & _imports(path)
        or "create_subprocess" in path.read_text("utf-8")
    }
    assert callers <= MAY_CALL_PROGRAMS


def test_files_stay_short() -> None:
    lengths = {
        _name(path): len(path.read_text("utf-8").splitlines())
        for path in SOURCES + TESTS
    }
    assert not {
        name: length
        for name, length in lengths.items()
        if length > MAY_BE_LONG.get(name, 320)
    }


def test_no_file_is_named_utils() -> None:
    bad = {"utils.py", "helpers.py", "common.py", "misc.py"}
    assert not [path for path in SOURCES + TESTS if path.name in bad]


def test_test_folders_shadow_no_package() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_processes_of_tests_end_with_the_tests() -> None:
    starters = {
        _name(path)
        for path in (ROOT / "tests").rglob("*.py")
        if "subprocess.Popen(" in (text := path.read_text("utf-8"))
        and "ENDS_WITH_US" not in text
        and "--pdeathsig" not in text
    }
    assert starters == ENDS_BY_ITSELF


def test_every_saved_query_has_cases() -> None:
    # tests/queries/test_questions.py asks those of samples, from facts.
    folders = {
        path.relative_to(ROOT / "queries").with_suffix("")
        for path in (ROOT / "queries").glob("*/*.rq")
        if path.parent.name != "samples"
    }
    assert folders
    assert not [f for f in folders if not (ROOT / "tests/queries" / f).is_dir()]


def test_every_shape_has_cases() -> None:
    stems = {path.stem for path in (ROOT / "shapes").glob("*.ttl")}
    assert stems
    for stem in stems:
        folder = ROOT / "tests/shapes" / stem
        assert list(folder.glob("valid*.ttl")), stem
        assert list(folder.glob("invalid*.ttl")), stem


def test_every_query_is_documented() -> None:
    page = query_page()
    groups = (ROOT / "docs/queries.md").read_text("utf-8")
    names = [
        f"{path.parent.name}/{path.stem}" for path in (ROOT / "queries").glob("*/*.rq")
    ]
    assert names
    assert not [name for name in names if f"`{name}`" not in page]
    assert not [n for n in names if f"| `{n.partition('/')[0]}` |" not in groups]
