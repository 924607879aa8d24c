"""The points of a series."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Stamps = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """A series: Unix milliseconds in order, and values; both of shape (n,)."""

    stamps: Stamps
    values: Values


NO_POINTS = Points(np.zeros(0, np.int64), np.zeros(0))
