"""Formulas over PMU events: sums and differences of events with constant factors.

``64 * skx_unc_imc[0-5]::UNC_M_CAS_COUNT:RD - 2 * INST_RETIRED:ANY_P``: an event is
written as in libpfm4, without its PMU if that is the core's own. ``[0-5]`` means boxes
of one kind; their events are summed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from ingest.errors import RoleError

_TOKEN = re.compile(
    r"\s*(?:(?P<sign>[+-])|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*\*"
    r"|(?P<event>(?:[A-Za-z]\w*(?P<boxes>\[\d+-\d+\])?::)?[A-Za-z][\w.]*(?:-[a-z][\w.]*)*(?::\w+(?:=\d+)?)*))"
)
_BOXES = re.compile(r"\[(\d+)-(\d+)\]")


@dataclass(frozen=True)
class FormulaTerm:
    """One event of a formula; `pmu` is None for the core's own PMU."""

    weight: Decimal
    pmu: str | None
    event: str


def parse_formula(text: str) -> list[FormulaTerm]:
    """Parse the terms of a formula, in order; raises RoleError if it is invalid.

    Naming an event twice is treated as a mistake.
    """
    terms = [term for part in _terms(text) for term in part]
    events = [(term.pmu, term.event) for term in terms]
    if len(events) != len(set(events)):
        raise RoleError(f"formula {text!r} names an event twice: add up its factors")
    return terms


def _terms(text: str) -> Iterator[list[FormulaTerm]]:
    sign, factor, awaited = 1, None, True
    for token in _tokens(text):
        if token["sign"] and not (awaited and factor is not None):
            sign = -1 if token["sign"] == "-" else 1
            awaited = True
        elif token["number"] and awaited and factor is None:
            factor = Decimal(token["number"])
        elif token["event"] and awaited:
            weight = sign * (Decimal(1) if factor is None else factor)
            yield [FormulaTerm(weight, *name) for name in _boxes(token["event"])]
            sign, factor, awaited = 1, None, False
        else:
            raise _refused(text, token.start())
    if awaited:
        raise _refused(text, len(text))


def _tokens(text: str) -> Iterator[re.Match[str]]:
    position, signed = 0, False
    end = len(text.rstrip())
    while position < end:
        token = _TOKEN.match(text, position)
        if token is None or (signed and token["sign"]):
            raise _refused(text, position)
        signed = bool(token["sign"])
        yield token
        position = token.end()


def _boxes(name: str) -> Iterator[tuple[str | None, str]]:
    """The PMU and event of a name; one pair per box if it has a range."""
    pmu, _, event = name.rpartition("::")
    if not (boxes := _BOXES.search(pmu)):
        yield pmu or None, event
        return
    for number in range(int(boxes[1]), int(boxes[2]) + 1):
        yield f"{pmu[: boxes.start()]}{number}", event


def _refused(text: str, position: int) -> RoleError:
    return RoleError(
        f"formula {text!r} cannot be read at character {position + 1}: write sums and "
        "differences of NUMBER * PMU::EVENT:UMASK"
    )
