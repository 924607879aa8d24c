"""Whether anybody reads points, from how many queries the store has answered."""

_LOOKED_SECONDS = 30.0


class Readers:
    """Says whether points were read in the last 30 s.

    It is assumed at first, and as long as the store does not count its queries.
    """

    def __init__(self) -> None:
        self._reads: int | None = None
        self._until = 0.0

    def count(self, reads: int | None, now: float) -> None:
        """Note how many queries have read points so far; None if unknown."""
        if reads is None or reads != self._reads:
            self._until = now + _LOOKED_SECONDS
        self._reads = reads

    def are_there(self, now: float) -> bool:
        """Whether anybody reads at a time (monotonic seconds)."""
        return now < self._until
