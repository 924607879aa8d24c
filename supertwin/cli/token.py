"""`supertwin token`: tokens for reading and changing the twin over HTTP."""

import sys
import time
from pathlib import Path

import click
from rdflib import Literal

from api.access import tokens
from api.access.token_scope import read_scope
from api.access.tokens import AccessToken, TokenRole, as_utc
from core.settings import audit
from core.settings.settings import Settings
from core.stores.results import Term, TermRows
from supertwin.cli.tables import FORMAT_OPTION, TABLES

_COLUMNS = ["name", "role", "scope", "made", "expires", "used"]
_LONGEST = 4096
_OPEN = (
    "everyone may read without a token now: the limit has an effect for changes, and "
    "for reads with SUPERTWIN_READ_ACCESS=token"
)


@click.group("token")
def token_group() -> None:
    """Manage tokens for reading and changing the twin over HTTP."""


@token_group.command("add")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice([*TokenRole], case_sensitive=False),
    required=True,
    help="reader: may read; operator: also plans and commands; admin: everything.",
)
@click.option(
    "--expires",
    default=None,
    metavar="TIME",
    help="12h, 30d, 2w or 1y.  [default: never]",
)
@click.option(
    "--host", "hosts", multiple=True, metavar="NAME", help="Limit it to this host."
)
@click.option(
    "--job", "jobs", multiple=True, metavar="ID", help="Limit it to this job."
)
@click.option(
    "--user", "users", multiple=True, metavar="NAME", help="Limit it to this user."
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Limit it to this metric, or to those below a prefix such as 'mem.*'.",
)
def add_command(
    name: str, role: TokenRole, expires: str | None, **names: tuple[str, ...]
) -> None:
    """Create a token and print it; only its hash is kept, so note it now.

    The options that limit it may be repeated. All kinds of limits must hold.
    """
    until = None if expires is None else tokens.expiry(expires)
    settings, scope = Settings(), read_scope(names)
    home = settings.home
    made = tokens.add_token(home, name, role, until, scope)
    about = f"{role}, {scope}" if scope else str(role)
    audit.record(home, audit.local_user(), "token.added", f"{name} ({about})")
    click.echo(made)
    click.echo(f"{name} is {role} {_end(until)}; it cannot be shown again", err=True)
    if scope and settings.reads_are_open:
        click.echo(_OPEN, err=True)


@token_group.command("list")
@FORMAT_OPTION
def list_command(output: str) -> None:
    """List the tokens with role, scope, expiry and last use; never the secret."""
    home = Settings().home
    rows = [_row(home, token) for token in tokens.all_tokens(home)]
    click.echo(TABLES[output](TermRows(_COLUMNS, rows)), nl=False)


def _row(home: Path, token: AccessToken) -> list[Term | None]:
    times = (token.made, token.expires, tokens.last_used(home, token))
    cells = [None if time is None else Literal(as_utc(time)) for time in times]
    scope = Literal(str(token.scope)) if token.scope else None
    return [Literal(token.name), Literal(str(token.role)), scope, *cells]


@token_group.command("revoke")
@click.argument("name")
def revoke_command(name: str) -> None:
    """Revoke a token; a running API refuses it from the next request on."""
    home = Settings().home
    tokens.revoke_token(home, name)
    audit.record(home, audit.local_user(), "token.revoked", name)
    click.echo(f"{name} is revoked")


@token_group.command("check")
def check_command() -> None:
    """Check the token on standard input; the exit status is 2 if it is refused."""
    sent = tokens.parse_token(sys.stdin.read(_LONGEST).strip())
    if sent is None:
        raise tokens.TokenError(
            "standard input holds no token: `supertwin token check < FILE`"
        )
    known = {token.id: token for token in tokens.all_tokens(Settings().home)}
    token = known.get(sent.id)
    if token is None or not tokens.proves(token, sent.secret):
        raise tokens.TokenRefusedError(
            "it is not a token of this installation, or was revoked: `supertwin token "
            "add` makes one"
        )
    if why := token.refusal(time.time()):
        raise tokens.TokenRefusedError(f"{why}: `supertwin token add` makes one")
    click.echo(f"{token.name} is {token.role} {_end(token.expires)}")


def _end(expires: int | None) -> str:
    return "until it is revoked" if expires is None else f"until {as_utc(expires)}"
