"""The page of roles: each role on each model, by its formula or the reason."""

import re
from collections.abc import Iterable

from ingest.pmu.roles import Formula, formulas, roles


def role_page() -> str:
    """Markdown of role × model, the formulas with their sources, and the reasons."""
    answers = formulas()
    models = sorted({model for _, model in answers})
    reasons = _numbers(answer.reason for answer in answers.values())
    sources = _numbers(answer.source for answer in answers.values() if answer.terms)
    lines = [
        "# Roles on each model",
        "",
        _INTRODUCTION,
        *_row("role", "row of table 2.2", *(f"`{_short(m)}`" for m in models)),
        _rule(len(models) + 2),
    ]
    for role in roles().values():
        cells = (_mark(answers[role.name, model], reasons) for model in models)
        lines += _row(f"`{role.name}`", role.thesis or "", *cells)
    lines += [
        "",
        "## Formulas",
        "",
        *_row("role", "models", "for each", "formula", "source"),
    ]
    lines.append(_rule(5))
    for name in roles():
        lines += _formulas(name, [answers[name, model] for model in models], sources)
    lines += [
        "",
        "## Why not",
        "",
        *_list(reasons),
        "",
        "## Sources",
        "",
        *_list(sources),
    ]
    return "\n".join([*lines, ""])


_INTRODUCTION = """`+` means that there is a formula; a number is the reason why not
([why not](#why-not)). [pmu.md](../pmu.md) says what a role counts and how to use it.
Every event is one that libpfm4 encodes for that model, or has its code in
`ingest/pmu/roles/known.yaml` or `kernel.yaml`; a test checks this. No formula was
compared with known work on hardware.
"""


def _formulas(
    role: str, answers: list[Formula], sources: dict[str, int]
) -> Iterable[str]:
    """Yield one row per formula of a role, with the models that share it."""
    shared: dict[tuple[str, str, str], list[str]] = {}
    for answer in answers:
        if answer.text:
            key = " ".join(answer.text.split()), answer.scope, answer.source
            shared.setdefault(key, []).append(f"`{_short(answer.model)}`")
    for (text, scope, source), models in shared.items():
        number = str(sources[source])
        yield from _row(f"`{role}`", ", ".join(models), scope, f"`{text}`", number)


def _mark(answer: Formula, reasons: dict[str, int]) -> str:
    return str(reasons[answer.reason]) if answer.reason else "+"


def _numbers(texts: Iterable[str | None]) -> dict[str, int]:
    """Distinct texts in order of appearance, numbered from 1."""
    found = dict.fromkeys(text for text in texts if text)
    return {text: number for number, text in enumerate(found, 1)}


def _list(numbers: dict[str, int]) -> list[str]:
    return [f"{number}. {' '.join(text.split())}" for text, number in numbers.items()]


def _row(*cells: str) -> list[str]:
    return [f"| {' | '.join(cells)} |"]


def _rule(columns: int) -> str:
    return "|" + "---|" * columns


def _short(model: str) -> str:
    return re.sub(r"^amd64_fam\w\wh_", "", model)
