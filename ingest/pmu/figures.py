"""Figures of a run on a processor model: expressions over totals of roles.

They are data in ``figures.yaml``: level 2 of top-down analysis, and the bytes that the
cores request, which are products and quotients of counts, as a role, a sum, cannot be.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ingest.errors import RoleError

FILE = Path(__file__).with_suffix(".yaml")
_ROLE = re.compile(r"<(\w+)>")


@dataclass(frozen=True)
class FigureFormula:
    """A figure on a model; `level` is that of top-down analysis, `unit` QUDT's."""

    figure: str
    model: str
    expression: str
    source: str
    level: int | None = None
    unit: str = "UNITLESS"
    less_is_better: bool = True
    measured: bool = False

    @property
    def roles(self) -> list[str]:
        """The roles of the expression, in order."""
        return list(dict.fromkeys(_ROLE.findall(self.expression)))


@cache
def figure_formulas(file: Path = FILE) -> dict[tuple[str, str], FigureFormula]:
    """Return the formulas by figure and model; raises RoleError if one is twice."""
    found: dict[tuple[str, str], FigureFormula] = {}
    for entry in yaml.safe_load(file.read_text("utf-8")):
        for formula in _of_models(**entry):
            key = formula.figure, formula.model
            if key in found:
                raise RoleError(f"{file}: {' of '.join(key)} occurs twice: remove one")
            found[key] = formula
    return found


def _of_models(models: list[str], **entry: Any) -> list[FigureFormula]:
    return [FigureFormula(model=model, **entry) for model in models]
