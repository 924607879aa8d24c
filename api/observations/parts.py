"""All routes of observations, in the order in which they are tried."""

from api.observations import (
    begin,
    comparing,
    exporting,
    form,
    kept,
    listing,
    recorded,
    routes,
    series,
)

# Those that run stand last: the paths of others look like theirs.
PARTS = (
    begin,
    listing,
    form,
    comparing,
    series,
    kept,
    recorded,
    exporting,
    routes,
)
