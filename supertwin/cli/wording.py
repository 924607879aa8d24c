"""Phrases that several commands print."""


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as ``1 run`` and ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
