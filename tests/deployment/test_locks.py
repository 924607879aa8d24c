"""Python's lock files: run-time packages are separate from those of tests."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

from tests.servers import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
# Built for the distribution's Python, and linked from there.
PCP = {"cpmapi", "pcp"}
# A command that needs one says how to install it.
OPTIONAL = {
    "darshan": "darshan",
    "owlready2": "owlready2",
    "sklearn": "scikit-learn",
}


def pins(name: str) -> set[tuple[str, str]]:
    """Each package of a lock with its version and condition."""
    text = (ROOT / f"deploy/locks/python/{name}.lock").read_text()
    return {*re.findall(r"^([a-z0-9-]+)==([^\\]+?) *\\$", text, re.MULTILINE)}


def names(name: str) -> set[str]:
    return {package for package, _ in pins(name)}


def of_extra(*extras: str) -> set[str]:
    project = PROJECT["project"]
    lines = [one for extra in extras for one in project["optional-dependencies"][extra]]
    return {re.split("[=<>;]", line)[0] for line in lines}


def imported() -> set[str]:
    """External modules that the program imports, at its start or later."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    nodes = [n for path in paths for n in ast.walk(ast.parse(path.read_text("utf-8")))]
    plain = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    others = [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
    tops = {module.partition(".")[0] for module in plain + others}
    return tops - {*PACKAGES, *sys.stdlib_module_names} - PCP


def test_imported_packages_are_in_the_run_lock() -> None:
    run = names("run")
    offered = {
        module
        for module, packages in packages_distributions().items()
        if run & {package.lower().replace("_", "-") for package in packages}
    }
    assert {"rdflib", "yaml"} <= imported() - OPTIONAL.keys() <= offered
    assert {*OPTIONAL.values()} <= of_extra("test")


def test_test_packages_are_not_in_the_run_lock() -> None:
    assert not names("run") & of_extra("test")


def test_packages_of_each_extra_are_in_its_lock() -> None:
    assert of_extra("build") <= names("run")
    assert of_extra("test") <= names("test")


def test_test_lock_changes_no_version() -> None:
    assert pins("run") <= pins("test")
