"""`supertwin export` and `supertwin import`: twins in other formats."""

import click

from supertwin.cli.lazy import LazyGroup

_EXPORTS = {
    "dtdl": "supertwin.cli.dtdl:export_dtdl",
    "observation": "supertwin.cli.exchange:export_observation",
    "ontology": "supertwin.cli.ontology:export_ontology",
    "profile": "supertwin.cli.profile:export_profile",
}
_IMPORTS = {
    "dtdl": "supertwin.cli.import_dtdl:import_dtdl",
    "observation": "supertwin.cli.exchange:import_observation",
}


@click.group("export", cls=LazyGroup, lazy=_EXPORTS)
def export_group() -> None:
    """Export a host, a run, its profile or the ontology in a format of other tools."""


@click.group("import", cls=LazyGroup, lazy=_IMPORTS)
def import_group() -> None:
    """Load a host or a run that `supertwin export` wrote."""
