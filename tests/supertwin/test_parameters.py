"""Values of options and arguments that every command refuses."""

from collections.abc import Iterator

import click
import pytest

from supertwin.cli.main import main
from supertwin.cli.queries import SavedQueries
from tests.command_line import run


def parameters(command: click.Command) -> Iterator[click.Parameter]:
    """Yield the parameters of a command and of all below it, except saved queries."""
    yield from command.params
    if isinstance(command, click.Group) and not isinstance(command, SavedQueries):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from parameters(command.get_command(context, name) or command)


PATHS = [one for one in parameters(main) if isinstance(one.type, click.Path)]
NUMBERS = [one for one in parameters(main) if isinstance(one.type, click.FloatRange)]


def test_no_path_may_be_empty() -> None:
    assert len(PATHS) > 10
    for one in PATHS:
        with pytest.raises(click.BadParameter, match="it is empty: give a path"):
            one.type.convert("", one, None)


def test_every_number_is_finite() -> None:
    assert len(NUMBERS) >= 4
    for one in NUMBERS:
        for text in ("nan", "inf", "-inf"):
            with pytest.raises(click.BadParameter):
                one.type.convert(text, one, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("backup", ""), "'DIR': it is empty: give a path"),
        (("ingest", "--probe", ""), "'--probe': it is empty: give a path"),
        (("compare", "a", "b", "--tolerance", "nan"), "'--tolerance': 'nan' is not a"),
        (("compact", "--patience", "nan"), "'--patience': 'nan' is not a finite"),
        (("compact", "--patience", "inf"), "'--patience': 'inf' is not a finite"),
        (("observe", "--tag", "", "--", "true"), "'--tag': it is empty: give a"),
        (
            ("observe", "--tag", "\udcff", "--", "true"),
            "'--tag': '\\udcff' is not UTF-8",
        ),
        (("observe", "--role", "a\x01", "--", "true"), "'a\\x01' has control charac"),
        (("observe", "--env", "A=\udcff", "--", "true"), "'A=\\udcff' is not UTF-8"),
        (("observe", "--", "echo", "\udcff"), "'\\udcff' is not UTF-8"),
        (("mix", ""), "it is empty"),
        (("predict", ""), "'TAG': it is empty"),
        (("predict", "a", "--check", ""), "'--check': it is empty"),
        (
            ("predict", "a", "--set", "n=-1"),
            "--set 'n=-1': expected NAME=NUMBER, above",
        ),
        (("predict", "a", "--set", "n=1", "--set", "n=2"), "'n=2': n is set already"),
        (("predict", "a", "--threads", "2", "--set", "threads=4"), "threads is set al"),
    ],
)
def test_refusal_is_one_line(
    env: dict[str, str], words: tuple[str, ...], message: str
) -> None:
    done = run(env, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.endswith(" [bad-usage]\n")
    assert len(done.stderr.splitlines()) == 1
