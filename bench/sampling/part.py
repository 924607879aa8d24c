"""A part of the benchmark, measured step by step and reported by itself."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from bench.sampling.ground import Ground
from bench.sampling.profiles import Profile
from bench.table import Figure

R = TypeVar("R")


class Part(ABC, Generic[R]):
    """A step's result is an R; ``name`` is a field of Form and a file's stem."""

    name: ClassVar[str]
    title: ClassVar[str]
    gives: ClassVar[type[Any]]

    def settings(self, profile: Profile) -> dict[str, Any]:
        """What must be the same to resume a run; the number of runs may differ."""
        found = asdict(self.wanted(profile))
        found.pop("runs", None)
        return found

    def wanted(self, profile: Profile) -> Any:
        """How much of this part a profile measures."""
        return getattr(profile, self.name)

    @abstractmethod
    def steps(self, profile: Profile) -> list[str]:
        """The steps in their order."""

    @abstractmethod
    def measure(
        self, ground: Ground, profile: Profile, steps: Sequence[str]
    ) -> Iterator[tuple[str, R]]:
        """Measure some steps; yield each as soon as it is complete."""

    @abstractmethod
    def tables(self, found: Mapping[str, R]) -> dict[str, str]:
        """Tables or sentences by title; empty ones are left out."""

    def plots(self, found: Mapping[str, R]) -> dict[str, Callable[[Path], None]]:
        """The function that draws each plot, by file name."""
        return {}

    def goals(self, found: Mapping[str, R]) -> list[Figure]:
        """Rows of the table of goals."""
        return []
