"""Generic roles: quantities for any processor, and each model's formula for them.

The definitions are in ``roles/``: `roles.yaml` defines the roles, `known.yaml` holds
the codes of events that libpfm4 encodes only on their own processors, `kernel.yaml`
the events that only the kernel knows, and every other file holds the formulas of some
models or the reason why they have none. Each model has one of the two for each role.
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
from ingest.pmu.kernel import kernel_pmus

FOLDER = Path(__file__).parent / "roles"
SCOPES = ("thread", "cache", "socket")
_DEFINITIONS, _KNOWN, _KERNEL = "roles.yaml", "known.yaml", "kernel.yaml"
_KEYS = {"models", "source", "scope", "measured", "roles", "absent"}


@dataclass(frozen=True)
class PmuRole:
    """A quantity to measure; `thesis` is its row of table 2.2, `unit` QUDT's."""

    name: str
    definition: str
    thesis: str | None
    unit: str


@dataclass(frozen=True)
class Formula:
    """How a model measures a role; without `terms`, `reason` says why it cannot.

    ``measured`` says whether it was ever compared with known work on such a processor.
    """

    role: str
    model: str
    scope: str
    source: str
    text: str | None
    terms: tuple[FormulaTerm, ...]
    reason: str | None
    measured: bool = False


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
    """The events of libpfm4's PMUs that roles use, by PMU, sorted."""
    found: dict[str, set[str]] = {}
    for formula in formulas(folder).values():
        for term in formula.terms:
            if term.pmu not in kernel_pmus():
                found.setdefault(term.pmu or formula.model, set()).add(term.event)
    return {pmu: sorted(events) for pmu, events in found.items()}


@cache
def kernel_pmus_of(model: str) -> frozenset[str]:
    """The kernel's PMUs that formulas of a core PMU use."""
    return frozenset(
        term.pmu
        for (_, own), formula in formulas().items()
        for term in formula.terms
        if own == model and term.pmu in kernel_pmus()
    )


def roles_digest(more: bytes = b"", folder: Path = FOLDER) -> str:
    """SHA-256 (hex) of the files and more, to check whether a store has these."""
    texts = [path.read_bytes() for path in sorted(folder.glob("*.yaml"))]
    return sha256(b"\0".join([Path(__file__).read_bytes(), more, *texts])).hexdigest()


def _formula_files(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*.yaml"))
    paths = [path for path in found if path.name not in (_DEFINITIONS, _KNOWN, _KERNEL)]
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
            source, measured = entry["source"], entry.get("measured", False)
            _check_kernel_events(path, terms)
            yield Formula(role, model, scope, source, text, terms, reason, measured)


def _check_kernel_events(path: Path, terms: tuple[FormulaTerm, ...]) -> None:
    for term in terms:
        pmu = kernel_pmus().get(term.pmu or "")
        if pmu and term.event not in pmu.events:
            raise RoleError(
                f"{path}: {_KERNEL} has no event {term.event} of {pmu.name}: add it"
            )


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
