"""All routes of observations, in matching order."""

from api.observations import (
    begin,
    comparing,
    exporting,
    form,
    listing,
    profiles,
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
    profiles,
    recorded,
    exporting,
    routes,
)
