"""Generic roles: quantities for any processor, and each model's formula for them.

The definitions are in ``roles/``: `roles.yaml` defines the roles, `known.yaml` holds
the codes of events that libpfm4 encodes only on their own processors, and every other
file holds the formulas of some models or the reason why they have none. Each model has
one of the two for each role.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from ingest.errors import RoleError
from ingest.pmu.formula import FormulaTerm, parse_formula

FOLDER = Path(__file__).parent / "roles"
SCOPES = ("thread", "cache", "socket")
_DEFINITIONS, _KNOWN = "roles.yaml", "known.yaml"
_KEYS = {"models", "source", "scope", "roles", "absent"}


@dataclass(frozen=True)
class PmuRole:
    """A quantity to measure; `thesis` is its row of table 2.2, `unit` QUDT's."""

    name: str
    definition: str
    thesis: str | None
    unit: str


@dataclass(frozen=True)
class Formula:
    """How a model measures a role; without `terms`, `reason` says why it cannot."""

    role: str
    model: str
    scope: str
    source: str
    text: str | None
    terms: tuple[FormulaTerm, ...]
    reason: str | None


@cache
def roles(folder: Path = FOLDER) -> dict[str, PmuRole]:
    """Return the roles by name, in the order of their file."""
    return {
        name: PmuRole(name, entry["definition"], entry.get("thesis"), _unit(entry))
        for name, entry in _read(folder / _DEFINITIONS).items()
    }


@cache
def formulas(folder: Path = FOLDER) -> dict[tuple[str, str], Formula]:
    """Return every formula by role and model; raises RoleError if a file is wrong.

    A role of a model must occur exactly once. Unknown keys, roles or scopes are errors:
    nothing in these files is ignored.
    """
    found: dict[tuple[str, str], Formula] = {}
    for path in _formula_files(folder):
        for formula in _formulas(path, roles(folder)):
            key = formula.role, formula.model
            if key in found:
                raise RoleError(
                    f"{path}: {' of '.join(key)} is also in another file: remove one"
                )
            found[key] = formula
    models = {model for _, model in found}
    for key in ((role, model) for role in roles(folder) for model in models):
        if key not in found:
            raise RoleError(
                f"{folder}: {' of '.join(key)} has no formula and no reason: add one"
            )
    return found


@cache
def known_codes(folder: Path = FOLDER) -> dict[tuple[str, str], str]:
    """Codes by PMU and event, for events that libpfm4 does not encode everywhere."""
    return {
        (pmu, event): code
        for pmu, entry in _read(folder / _KNOWN).items()
        for event, code in entry["events"].items()
    }


@cache
def role_events(folder: Path = FOLDER) -> dict[str, list[str]]:
    """The events used by roles, by PMU, sorted."""
    found: dict[str, set[str]] = {}
    for formula in formulas(folder).values():
        for term in formula.terms:
            found.setdefault(term.pmu or formula.model, set()).add(term.event)
    return {pmu: sorted(events) for pmu, events in found.items()}


def roles_digest(folder: Path = FOLDER) -> str:
    """SHA-256 (hex) of the files, to check whether a store holds these roles."""
    texts = [path.read_bytes() for path in sorted(folder.glob("*.yaml"))]
    return sha256(b"\0".join([Path(__file__).read_bytes(), *texts])).hexdigest()


def _formula_files(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*.yaml"))
    paths = [path for path in found if path.name not in (_DEFINITIONS, _KNOWN)]
    if not paths:
        raise RoleError(f"{folder} contains no formulas: reinstall SuperTwin")
    return paths


def _formulas(path: Path, known: dict[str, PmuRole]) -> Iterator[Formula]:
    entry = _read(path)
    if unknown := entry.keys() - _KEYS:
        keys, known_keys = ", ".join(sorted(unknown)), ", ".join(sorted(_KEYS))
        raise RoleError(f"{path}: unknown key {keys}: use {known_keys}")
    if (scope := entry.get("scope", "thread")) not in SCOPES:
        raise RoleError(f"{path}: unknown scope {scope}: use {', '.join(SCOPES)}")
    for role, text, terms, reason in _answers(entry):
        if role not in known:
            raise RoleError(f"{path}: unknown role {role}: define it in {_DEFINITIONS}")
        for model in entry["models"]:
            source = entry["source"]
            yield Formula(role, model, scope, source, text, terms, reason)


def _answers(
    entry: dict[str, Any],
) -> Iterator[tuple[str, str | None, tuple[FormulaTerm, ...], str | None]]:
    for role, text in entry.get("roles", {}).items():
        yield role, text, tuple(parse_formula(text)), None
    for absent in entry.get("absent", []):
        for role in absent["roles"]:
            yield role, None, (), absent["reason"]


def _unit(entry: dict[str, Any]) -> str:
    return str(entry.get("unit", "NUM"))


def _read(path: Path) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = yaml.load(path.read_bytes(), Loader=loader)  # noqa: S506
    if not isinstance(found, dict):
        raise RoleError(f"{path} contains no mapping: reinstall SuperTwin")
    return found
