"""The thesis' results on its host Dolap: 88 threads, about 1,100 processes.

Its tables 5.2 (pmdaproc) and 5.3 (pmdaperfevent), 10 seconds a row, by reports a second
and number of metrics.
"""

from typing import NamedTuple

FREQUENCIES = (2, 4, 8, 16, 32, 64)
METRICS = (4, 5, 6)


class Row(NamedTuple):
    """Points expected and inserted in the database, zeros among them, loss in %."""

    expected: float
    inserted: float
    loss: float
    zeros: float = 0.0

    @property
    def false_zeros(self) -> float:
        """Zeros where zero is impossible, in % of the inserted points."""
        return 100 * self.zeros / self.inserted


TABLE_5_2: dict[tuple[int, int], Row] = {
    (2, 4): Row(8.56e4, 8.45e4, 1.3),
    (2, 5): Row(1.07e5, 1.06e5, 1.0),
    (2, 6): Row(1.29e5, 1.28e5, 0.8),
    (4, 4): Row(1.72e5, 1.68e5, 2.4),
    (4, 5): Row(2.13e5, 2.09e5, 2.3),
    (4, 6): Row(2.57e5, 2.50e5, 2.5),
    (8, 4): Row(3.49e5, 3.05e5, 12.5),
    (8, 5): Row(4.22e5, 3.61e5, 14.5),
    (8, 6): Row(5.16e5, 3.79e5, 26.5),
    (16, 4): Row(6.92e5, 3.19e5, 53.9),
    (16, 5): Row(8.45e5, 3.38e5, 60.0),
    (16, 6): Row(1.03e6, 3.85e5, 62.8),
    (32, 4): Row(1.37e6, 3.14e5, 77.2),
    (32, 5): Row(1.69e6, 3.63e5, 78.5),
    (32, 6): Row(2.07e6, 3.90e5, 81.2),
    (64, 4): Row(2.72e6, 3.01e5, 88.9),
    (64, 5): Row(3.38e6, 3.62e5, 89.3),
    (64, 6): Row(4.11e6, 3.78e5, 90.8),
}

TABLE_5_3: dict[tuple[int, int], Row] = {
    (2, 4): Row(7.04e3, 6.62e3, 6.0),
    (2, 5): Row(8.80e3, 8.71e3, 1.0),
    (2, 6): Row(1.06e4, 1.06e4, 0.0),
    (4, 4): Row(1.41e4, 1.31e4, 7.0, 2.22e2),
    (4, 5): Row(1.76e4, 1.76e4, 0.0),
    (4, 6): Row(2.11e4, 2.05e4, 3.0),
    (8, 4): Row(2.82e4, 2.60e4, 7.8, 5.84e2),
    (8, 5): Row(3.52e4, 3.42e4, 2.8, 7.72e1),
    (8, 6): Row(4.22e4, 4.22e4, 0.0),
    (16, 4): Row(5.63e4, 4.49e4, 20.3, 1.34e4),
    (16, 5): Row(7.04e4, 6.88e4, 2.3, 1.73e4),
    (16, 6): Row(8.45e4, 8.25e4, 2.4, 2.00e4),
    (32, 4): Row(1.13e5, 6.97e4, 38.1, 3.04e4),
    (32, 5): Row(1.41e5, 1.14e5, 19.4, 5.32e4),
    (32, 6): Row(1.69e5, 1.20e5, 28.8, 5.02e4),
    (64, 4): Row(2.25e5, 3.57e4, 84.2, 1.61e4),
    (64, 5): Row(2.82e5, 1.14e5, 59.6, 5.32e4),
    (64, 6): Row(3.38e5, 1.31e5, 61.3, 5.91e4),
}
SECONDS = 10
