"""Bytes between PMCD and the bridge, in PCP's protocol.

A fetch is one request and one answer. All values count as 64-bit values, which most
are; a 32-bit value is 12 bytes shorter.
"""

from collections.abc import Iterable
from typing import NamedTuple, Self

_QUESTION, _ANSWER = 28, 32
_ASKED, _METRIC, _VALUE, _WIDE = 4, 12, 8, 12
# What ssh adds to a message (length, padding, tag, channel), and what TCP and IP add.
_SSH, _TCP, _SEGMENT = 40, 52, 1448


class FetchBytes(NamedTuple):
    """Bytes of one request and its answer."""

    question: int
    answer: int

    @classmethod
    def of(cls, values: Iterable[int]) -> Self:
        """A fetch of metrics, given how many values each has."""
        counts = list(values)
        return cls(
            _QUESTION + _ASKED * len(counts),
            _ANSWER + _METRIC * len(counts) + (_VALUE + _WIDE) * sum(counts),
        )

    @property
    def bare(self) -> int:
        """Bytes as PCP writes them."""
        return self.question + self.answer

    @property
    def secured(self) -> int:
        """Bytes through ssh, with the headers of TCP and IP."""
        return sum(map(_secured, self))


def _secured(message: int) -> int:
    inner = message + _SSH
    return inner + _TCP * -(-inner // _SEGMENT)
