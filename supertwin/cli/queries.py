"""`supertwin query`: every saved query is a command, its parameters are options."""

from collections.abc import Sequence
from difflib import get_close_matches

import click

from core.settings.accounts import fuseki_account
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from core.stores.results import Table
from queries.added import QueryCatalogue
from queries.binding import RUN, Param
from queries.catalogue import SavedQuery, saved_query
from queries.errors import UnknownHostError, UnknownQueryError
from queries.names import host_queries, unknown
from queries.natural_order import hosts_in_order
from queries.run import saved_rows
from supertwin.cli.tables import FORMAT_OPTION, TABLES


class SavedQueries(click.Group):
    """The catalogue as a command group: `supertwin query cache/sharing --cpu 0`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names; those of files that cannot be loaded are left out."""
        return [*_catalogue().all()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = _catalogue()
        return _command(found.find(cmd_name)) if cmd_name in found.names() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = _catalogue().names()
        if args and args[0] not in names:
            raise UnknownQueryError(_unknown(args[0], names))
        return super().resolve_command(ctx, args)


@click.group(cls=SavedQueries, subcommand_metavar="NAME [PARAMETERS]")
def query() -> None:
    """Run a saved query.

    The default host is this host in queries about a host, and every host in queries
    about a fleet or about runs. `supertwin query NAME --help` shows the default.
    """


def _catalogue() -> QueryCatalogue:
    return QueryCatalogue(Settings().queries)


def _unknown(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"no saved query {name!r}{hint} (see `supertwin query --help`)"


def _command(saved: SavedQuery) -> click.Command:
    options: list[click.Parameter] = [_option(param) for param in saved.params.values()]

    def run(output: str, **values: str | None) -> None:
        given = {name: value for name, value in values.items() if value is not None}
        click.echo(_answer(saved, given, output), nl=False)

    command = click.Command(
        saved.name,
        params=options,
        callback=run,
        help=f"{saved.title}\n\n{saved.description}",
        short_help=saved.title,
    )
    return FORMAT_OPTION(command)


def _option(param: Param) -> click.Option:
    default, about = param.default, param.description or ""
    if param.name == "host":
        default = "every host" if param.everywhere else "this host; '' for every host"
        about = about.partition(";")[0]
    if default is not None:
        about = f"{about}  [default: {default}]".strip()
    return click.Option(
        [f"--{param.name.replace('_', '-')}", param.name],
        metavar="|".join(map(str, param.enum)) or param.type.upper(),
        help=about,
    )


def _answer(saved: SavedQuery, given: dict[str, str], output: str) -> str:
    settings = Settings()
    values_given: dict[str, str | None] = {**given}
    if host := saved.params.get("host"):
        here = "" if host.everywhere else settings.host
        values_given["host"] = given.get("host", here) or None
    if host and given.get("host"):
        _check_host(settings, saved, given["host"])
    with _endpoint(settings, saved.dataset) as endpoint:
        table = endpoint.table(_text(saved, values_given, settings.base, endpoint))
    return TABLES[output](_in_order(saved, table))


def _check_host(settings: Settings, saved: SavedQuery, host: str) -> None:
    """Raise UnknownHostError for a host that the query cannot have rows about."""
    for name in host_queries(saved):
        with _endpoint(settings, saved_query(name).dataset) as endpoint:
            if saved_rows(endpoint, name, {"host": host}):
                return
    with _endpoint(settings, "twin") as twin:
        names = [row["host"] for row in saved_rows(twin, "inventory/names")]
    raise UnknownHostError(unknown(host, names))


def _endpoint(settings: Settings, dataset: str) -> Endpoint:
    url, account = f"{settings.fuseki}/{dataset}", fuseki_account(settings)
    return Endpoint(url, timeout=settings.query_timeout, account=account)


def _text(
    saved: SavedQuery,
    values_given: dict[str, str | None],
    base: str,
    endpoint: Endpoint,
) -> str:
    if not any(
        param.type == RUN and values_given.get(param.name)
        for param in saved.params.values()
    ):
        return saved.bind(values_given)
    # Uses rdflib, which other queries need not load.
    from ontology.iris import Iris
    from queries.run_ids import bind_runs, group_query, with_run_iris

    values = with_run_iris(saved, Iris(base), values_given)
    group = group_query(saved, values)
    runs = [run for (run,) in endpoint.table(group).rows] if group else []
    return bind_runs(saved, values, runs)


def _in_order(saved: SavedQuery, table: Table) -> Table:
    at = {name: number for number, name in enumerate(table.columns)}
    rows = hosts_in_order(saved, table.rows, lambda row, name: row[at[name]])
    return Table(table.columns, rows)
