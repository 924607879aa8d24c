"""A part of the benchmark: measured by itself, step by step, and told by itself."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from bench.sampling.forms import Form
from bench.sampling.ground import Ground
from bench.table import Figure

R = TypeVar("R")


class Part(ABC, Generic[R]):
    """What a step gives is an R; ``name`` is a field of Form and of the files."""

    name: ClassVar[str]
    title: ClassVar[str]
    gives: ClassVar[type[Any]]

    def settings(self, form: Form) -> dict[str, Any]:
        """What has to be the same for a run that goes on; more runs are no change."""
        found = asdict(self.wanted(form))
        found.pop("runs", None)
        return found

    def wanted(self, form: Form) -> Any:
        """How much of this part a form measures."""
        return getattr(form, self.name)

    @abstractmethod
    def steps(self, form: Form) -> list[str]:
        """The steps in their order."""

    @abstractmethod
    def measure(
        self, ground: Ground, form: Form, steps: Sequence[str]
    ) -> Iterator[tuple[str, R]]:
        """Measure some steps; each is given as soon as it is there."""

    @abstractmethod
    def tables(self, found: Mapping[str, R]) -> dict[str, str]:
        """Tables or sentences by their title; empty ones are left out."""

    def plots(self, found: Mapping[str, R]) -> dict[str, Callable[[Path], None]]:
        """What draws each picture, by the name of its file."""
        return {}

    def goals(self, found: Mapping[str, R]) -> list[Figure]:
        """Rows of the table of goals."""
        return []
