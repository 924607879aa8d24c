"""Runs with a known law and noise, as the rows of `observations/settings`."""

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Law = Callable[..., float]


def row(run: str, seconds: float, **about: Any) -> dict[str, Any]:
    """Return a row of a run: one setting, or none."""
    return {
        "run": run,
        "outcome": "completed",
        "seconds": seconds,
        "threads": None,
        "setting": None,
        "value": None,
        **about,
    }


def synthetic_rows(
    law: Law,
    inputs: Iterable[Mapping[str, float]],
    noise: float = 0.0,
    repeat: int = 2,
    seed: int = 22,
) -> list[dict[str, Any]]:
    """Return rows of runs with some inputs; ``law`` takes them by name.

    ``noise``: relative standard deviation of the seconds.
    """
    chance, found = random.Random(seed), []
    for number, one in enumerate(inputs):
        for repetition in range(repeat):
            seconds = law(**one) * chance.gauss(1, noise)
            base = row(f"run:{number}-{repetition}", seconds, threads=one["threads"])
            settings = {n: v for n, v in one.items() if n != "threads"}
            found += [
                {**base, "setting": name, "value": value}
                for name, value in settings.items()
            ] or [base]
    return found


def threads(*numbers: int) -> list[dict[str, float]]:
    """Return inputs without settings."""
    return [{"threads": number} for number in numbers]


def grid(numbers: Iterable[int], sizes: Iterable[float]) -> list[dict[str, float]]:
    """Return all combinations of threads and a setting n."""
    every = [*sizes]
    return [{"threads": number, "n": size} for number in numbers for size in every]
