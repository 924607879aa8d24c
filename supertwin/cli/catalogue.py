"""`supertwin catalogue`: every PMU model that libpfm4 knows, roles, and groups."""

import json
import re
from typing import TYPE_CHECKING

import click

from core.settings.settings import Settings
from core.stores.datasets import dataset
from ingest.describe.pmu import describe_model
from ingest.pmu.pfm import list_models, read_models
from ingest.pmu.roles import formulas, roles
from ingest.pmu.scope import scope_of
from ingest.pmu.store import publish_models
from ontology.iris import Iris
from ontology.terms import PREFIXES
from supertwin.cli.event_groups import groups_group

if TYPE_CHECKING:
    from ingest.schema.schema import Mask, ProbedEvent, ProbedPmu


@click.group("catalogue")
def catalogue_command() -> None:
    """List what processors can count: PMU models, their events, and roles."""


catalogue_command.add_command(groups_group)


@catalogue_command.command("pmus")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def pmus_command(as_json: bool) -> None:
    """List the PMU models that libpfm4 knows; a star marks those of this machine."""
    models = list_models()
    if as_json:
        click.echo(json.dumps(models, indent=1))
        return
    for model in models:
        star = "*" if model["present"] else " "
        click.echo(
            f"{star} {model['name']:<24} {model['type']:<7}"
            f"{model['events']:>5} events  {model['description']}"
        )


@catalogue_command.command("pmu")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--json", "form", flag_value="json", help="Print all events as JSON.")
@click.option("--turtle", "form", flag_value="turtle", help="Print them as Turtle.")
@click.option(
    "--load", is_flag=True, help="Put all events into the graph store instead."
)
def pmu_command(names: tuple[str, ...], form: str | None, load: bool) -> None:
    """Print every event and unit mask of PMU models, whether they are here or not."""
    # Imported here because the lists need no models and should start fast.
    from ingest.schema.schema import ProbedPmu

    found = read_models(list(dict.fromkeys(names)))
    models = [ProbedPmu.model_validate(model) for model in found]
    settings = Settings()
    if load:
        with dataset(settings, "twin") as twin:
            written = publish_models(twin, Iris(settings.base), models)
        click.echo(f"loaded in {written} triples", err=True)
    if form == "json":
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
    elif form == "turtle":
        for model in models:
            click.echo(_turtle(Iris(settings.base), model), nl=False)
    elif not load:
        for model in models:
            click.echo("\n".join(_summary(model)))


@catalogue_command.command("roles")
@click.option("--json", "as_json", is_flag=True, help="Print the formulas as JSON.")
def roles_command(as_json: bool) -> None:
    """Show which model can measure which role: + by a formula, - not at all."""
    answers = formulas()
    models = sorted({model for _, model in answers})
    if as_json:
        rows = [
            {"role": role, "model": model, "formula": a.text, "reason": a.reason}
            for (role, model), a in answers.items()
        ]
        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    short = [re.sub(r"amd64_fam\w\wh_", "", model) for model in models]
    click.echo(" " * 22 + " ".join(f"{name:>6}" for name in short))
    for role in roles():
        signs = ["+" if answers[role, model].terms else "-" for model in models]
        click.echo(f"{role:<22}" + " ".join(f"{mark:>6}" for mark in signs))


def _summary(model: "ProbedPmu") -> list[str]:
    events = model.events
    masks = sum(len(event.umasks) for event in events)
    scope = scope_of(model.name, model.type)
    return [
        f"{model.name}: {model.description}",
        f"  counts for each {scope}; {model.counters} counters, "
        f"{model.fixed_counters} fixed; {len(events)} events, {masks} unit masks",
        *(f"  modifier {name}: {text}" for name, text in model.modifiers.items()),
        *(line for event in events for line in _lines(event)),
    ]


def _lines(event: "ProbedEvent") -> list[str]:
    return [
        f"  {event.name:<40} {_code(event)}  {event.description}".rstrip(),
        *(
            f"    :{mask.name:<37} {_code(mask)}  {mask.description}".rstrip()
            for mask in event.umasks
        ),
    ]


def _code(entry: "Mask") -> str:
    return ",".join(entry.encoding) or "-"


def _turtle(iris: Iris, model: "ProbedPmu") -> str:
    graph = describe_model(iris, model).graph()
    for prefix, start in PREFIXES.items():
        graph.bind(prefix, start)
    return graph.serialize(format="turtle")
