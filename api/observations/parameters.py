"""Parameters shared by several routes of runs."""

from typing import Annotated

from fastapi import Path, Query
from starlette.convertors import StringConvertor, register_url_convertor

from api.observations.readings import MOST_POINTS


class RunConvertor(StringConvertor):
    """A path segment except those of other observation routes: `{id:run}`."""

    regex = "(?!(?:compare|new|running)(?:/|$))[^/]+"


register_url_convertor("run", RunConvertor())

RunId = Annotated[str, Path(alias="id", max_length=300)]
MetricName = Annotated[str, Query(max_length=1000, description="Name in PCP")]
Points = Annotated[
    int, Query(ge=1, le=MOST_POINTS, description="Maximum number of times")
]
POINTS = 600
