"""The house rules that a machine can check."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]

MAY_IMPORT = {
    "ontology": set(),
    "cgroups": set(),
    "pmapi": set(),
    "remote_login": set(),
    "shapes": {"ontology"},
    "queries": {"ontology"},
    "dashboards": {"ontology", "queries"},
    "dtdl": {"ontology", "queries"},
    "pinning": {"ontology", "queries"},
    "ingest": {"ontology", "shapes", "queries", "pmapi", "cgroups", "remote_login"},
    "sampler_bridge": {"ontology", "queries", "pmapi", "cgroups", "remote_login"},
    "sampling_cost": {"ontology", "queries", "pmapi", "ingest", "sampler_bridge"},
    "observations": {"ontology", "queries", "shapes", "ingest", "remote_login"},
    "api": {
        "ontology",
        "shapes",
        "queries",
        "dashboards",
        "dtdl",
        "pinning",
        "ingest",
        "pmapi",
        "remote_login",
        "sampler_bridge",
        "cgroups",
        "observations",
        "supertwin",
    },
    "supertwin": {
        "ontology",
        "shapes",
        "queries",
        "dashboards",
        "dtdl",
        "pinning",
        "ingest",
        "remote_login",
        "sampler_bridge",
        "sampling_cost",
        "cgroups",
        "observations",
        "api",
    },
}

# What these start ends soon, with its input, or by SUPERTWIN_OWNER_PID.
ENDS_BY_ITSELF = {
    "tests/api/test_live_shared.py",
    "tests/e2e/test_counting_ended.py",
    "tests/e2e/test_desk.py",
    "tests/ingest/test_collect.py",
    "tests/ingest/test_processes.py",
    "tests/ingest/test_remote_interrupted.py",
    "tests/observations/test_runner.py",
    "tests/sampler_bridge/test_outages.py",
    "tests/sampler_bridge/test_pcp_source.py",
    "tests/sampling_cost/test_usage.py",
    "tests/supertwin/conftest.py",
    "tests/supertwin/test_default_model.py",
    "tests/supertwin/test_estimate.py",
    "tests/supertwin/test_fleet.py",
    "tests/supertwin/test_owner.py",
    "tests/supertwin/test_up.py",
}

# The outside world is called from here and from nowhere else.
MAY_CALL_PROGRAMS = {
    "ingest/remote/collect.py",
    "supertwin/backup/restore.py",
    "supertwin/counting/private_pmcd.py",
    "ingest/remote/ssh.py",
    "ingest/sources/tool.py",
    "observations/launch.py",
    "observations/launch_beside.py",
    "observations/runner.py",
    "observations/surroundings.py",
    "remote_login/ssh.py",
    "supertwin/cost/background.py",
    "supertwin/stack/child.py",
    "supertwin/stack/fuseki_classes.py",
    "supertwin/stack/fuseki_service.py",
    "supertwin/stack/stack.py",
    "supertwin/stack/tools.py",
}

# One file because it is sent to other machines by itself.
MAY_BE_LONG = {
    "ingest/remote/collect.py": 560,
    # They stand alone, too.
    "observations/runner.py": 520,
    "supertwin/counting/private_pmcd.py": 430,
    # A list with one entry for each setting.
    "supertwin/settings.py": 400,
    "sampler_bridge/sampling/sampler.py": 340,
}

# Only these read settings; everything else is handed values.
MAY_READ_SETTINGS = {"supertwin", "api"}

SOURCES = sorted(
    path for folder in MAY_IMPORT for path in (ROOT / folder).rglob("*.py")
)
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def _imports(path: Path) -> frozenset[str]:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = {
        a.name for node in nodes if isinstance(node, ast.Import) for a in node.names
    }
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    return frozenset(names | {module for module in modules if module})


def test_imports_run_one_way() -> None:
    found = {_name(path): _forbidden_imports(path) for path in SOURCES}
    assert not {name: modules for name, modules in found.items() if modules}


def _forbidden_imports(path: Path) -> set[str]:
    folder = path.relative_to(ROOT).parts[0]
    used = {module.split(".")[0] for module in _imports(path)} & MAY_IMPORT.keys()
    return used - {folder} - MAY_IMPORT[folder]


def test_the_api_leaves_the_command_line_alone() -> None:
    used = {m for path in (ROOT / "api").rglob("*.py") for m in _imports(path)}
    assert not {module for module in used if module.startswith("supertwin.cli")}


def test_settings_are_read_at_the_top_only() -> None:
    handed_values = [
        path
        for path in SOURCES
        if path.relative_to(ROOT).parts[0] not in MAY_READ_SETTINGS
    ]
    assert not [_name(path) for path in handed_values if _reads_settings(path)]


def _reads_settings(path: Path) -> bool:
    imported = "supertwin.settings" in _imports(path)
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


def test_no_dumping_grounds() -> None:
    bad = {"utils.py", "helpers.py", "common.py", "misc.py"}
    assert not [path for path in SOURCES + TESTS if path.name in bad]


def test_tests_hold_no_package_that_would_shadow_the_real_one() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_what_tests_start_ends_when_they_are_killed() -> None:
    starters = {
        _name(path)
        for path in (ROOT / "tests").rglob("*.py")
        if "subprocess.Popen(" in (text := path.read_text("utf-8"))
        and "ENDS_WITH_US" not in text
        and "--pdeathsig" not in text
    }
    assert starters == ENDS_BY_ITSELF


def test_every_saved_query_has_cases() -> None:
    folders = {
        path.relative_to(ROOT / "queries").with_suffix("")
        for path in (ROOT / "queries").glob("*/*.rq")
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
    page = (ROOT / "docs/queries.md").read_text("utf-8")
    names = [
        f"{path.parent.name}/{path.stem}" for path in (ROOT / "queries").glob("*/*.rq")
    ]
    assert names
    assert not [name for name in names if f"`{name}`" not in page]
