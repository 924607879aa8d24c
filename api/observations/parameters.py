"""What several routes of runs are asked with."""

from typing import Annotated

from fastapi import Path, Query

from api.observations.readings import MOST_POINTS

RunId = Annotated[str, Path(max_length=300)]
MetricName = Annotated[str, Query(max_length=1000, description="Name in PCP")]
Points = Annotated[
    int, Query(ge=1, le=MOST_POINTS, description="At most so many times")
]
POINTS = 600
