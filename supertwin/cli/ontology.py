"""`supertwin export ontology` writes files; `ontology classify` runs a reasoner."""

from pathlib import Path

import click

from api.vocabulary.page import page_file
from core.errors import FileError
from core.settings import tools
from ontology.classify import classify
from ontology.errors import OntologyError
from ontology.load import FOLDER, alignment_graph, ontology_graph
from ontology.published import json_ld, module_files, whole_ontology
from supertwin.cli.out_file import write_whole
from supertwin.cli.parameters import NonEmptyPath
from supertwin.errors import ReasoningError

_WHOLE = "supertwin"


@click.command("ontology")
@click.option(
    "--out",
    required=True,
    type=NonEmptyPath(file_okay=False),
    help="Folder to write to; created if missing.",
)
def export_ontology(out: Path) -> None:
    """Write the ontology as Turtle and JSON-LD, its modules, context and page.

    index.html loads nothing from a server, so the folder can be published anywhere.
    """
    texts = _texts()
    try:
        (out / "modules").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{out}: {error.strerror}: name another folder") from None
    for name, text in texts.items():
        write_whole(out / name, text)
    click.echo(f"{len(texts)} files written to {out}; open {out / 'index.html'}")


@click.group("ontology")
def ontology_group() -> None:
    """Reason over the ontology."""


@ontology_group.command("classify")
@click.option(
    "--out",
    type=NonEmptyPath(dir_okay=False),
    help="File to write to; default: standard output.",
)
def classify_command(out: Path | None) -> None:
    """List the superclasses of each class that follow from ontology and alignments.

    HermiT first proves that the ontology is consistent and that no class is empty. It
    needs Java and owlready2, which `make install-test` installs.
    """
    try:
        found = classify(ontology_graph() + alignment_graph(), tools.java())
    except OntologyError as error:
        raise ReasoningError(str(error)) from None
    text = found.serialize(format="turtle")
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text)
        click.echo(f"{len(found)} pairs of classes written to {out}")


def _texts() -> dict[str, str]:
    """File name → text of everything that is published."""
    whole = whole_ontology()
    modules = {
        f"modules/{name}.ttl": path.read_text("utf-8")
        for name, path in module_files().items()
    }
    return {
        "index.html": page_file(),
        f"{_WHOLE}.ttl": whole.serialize(format="turtle"),
        f"{_WHOLE}.jsonld": json_ld(whole).decode(),
        "context.jsonld": (FOLDER / "context.jsonld").read_text("utf-8"),
        **modules,
    }
