"""All routes of observations, in the order in which they are tried."""

from api.observations import (
    begin,
    comparing,
    exporting,
    form,
    listing,
    recorded,
    routes,
    series,
    stored_files,
)

# Those that run stand last: the paths of others look like theirs.
PARTS = (
    begin,
    listing,
    form,
    comparing,
    series,
    stored_files,
    recorded,
    exporting,
    routes,
)
