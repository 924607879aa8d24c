"""All routes of observations, in matching order."""

from api.observations import (
    begin,
    comparing,
    exporting,
    form,
    listing,
    profile,
    recorded,
    routes,
    series,
    stored_files,
)

# The routes of running observations come last, because they match paths of others.
PARTS = (
    begin,
    listing,
    form,
    comparing,
    series,
    stored_files,
    profile,
    recorded,
    exporting,
    routes,
)
