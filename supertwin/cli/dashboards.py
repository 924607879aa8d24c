"""`supertwin dashboards`: write and check Grafana's JSON of every dashboard."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click
import orjson

from core.errors import FileError, SuperTwinError
from core.settings.accounts import store_read_account
from core.settings.settings import Settings
from core.stores.datasets import dataset
from core.stores.endpoint import Endpoint
from core.stores.errors import EndpointUnreachableError, QueriesError, StoreError
from core.stores.http_connection import (
    BROKEN,
    FORM,
    HttpConnection,
    HttpPool,
    basic,
)
from core.stores.results import TermRows
from dashboards.build import build, run_all
from dashboards.catalogue import Definition, load_dashboards
from dashboards.grafana import render
from dashboards.lint import lint
from dashboards.live_check import LiveCheckResult, check
from dashboards.questions import BoundQuery
from dashboards.spec import Dashboard, Panel
from queries.added import QueryCatalogue
from queries.catalogue import saved_query
from queries.natural_order import natural
from supertwin.cli.host import HOST
from supertwin.cli.parameters import NonEmptyPath

# Parallel requests to the graph store or the series store.
_AT_ONCE = 8
_NO_ACCOUNT = (401, 403)


class BadExpressionError(SuperTwinError):
    """The store rejects an expression that is checked.

    The text is the store's reason.
    """

    code = "bad-panel-expression"


@click.command()
@click.option(
    "--out",
    type=NonEmptyPath(file_okay=False),
    help="Folder for the files, <uid>.json each; created if missing.",
)
@click.option(
    "--host", type=HOST, help="Only dashboards about this host.  [default: all hosts]"
)
@click.option("--check", "checked", is_flag=True, help="Check them, queries included.")
@click.pass_context
def dashboards_command(
    ctx: click.Context, out: Path | None, host: str | None, checked: bool
) -> None:
    """Write the dashboards for Grafana, or check them.

    They are built from the current graph: one for every host, and one about all hosts.
    With --check, every expression runs in the store and every table in the graph store;
    the exit status is 1 if one fails.
    """
    if out is None and not checked:
        raise click.UsageError(
            "give a folder to write them to (--out), or --check them", ctx
        )
    settings = Settings()
    with dataset(settings, "twin", settings.query_timeout) as endpoint:
        dashboards = load_dashboards(QueryCatalogue(settings.queries).all())
        made = list(_dashboards(settings.base, endpoint, host, dashboards))
        if out is not None:
            _write(out, made)
        if checked:
            ctx.exit(1 if _report(settings, endpoint, made) else 0)


def _dashboards(
    base: str,
    endpoint: Endpoint,
    host: str | None,
    dashboards: Mapping[str, Definition],
) -> Iterator[tuple[Dashboard, dict[str, Any]]]:
    """Yield every dashboard, by name and then by host."""
    hosts = _hosts(endpoint)
    builds = [
        build(found.name, one, base, dashboards)
        for found in dashboards.values()
        for one in _about(found, hosts, host)
    ]
    for made in run_all(builds, partial(_ask, endpoint), _AT_ONCE):
        yield made, render(made)


def _hosts(endpoint: Endpoint) -> list[str]:
    """All hosts.

    They are always read: if the graph store cannot even answer this, no dashboard must
    replace an earlier one.
    """
    rows = endpoint.select(saved_query("inventory/names").bind({}))
    place = rows.columns.index("host")
    return sorted({str(row[place]) for row in rows.values()}, key=natural)


def _about(found: Definition, hosts: Sequence[str], host: str | None) -> Sequence[str]:
    """The hosts for which a dashboard is made; "" means all in one."""
    if host is not None:
        return [host]
    return hosts if found.about_one_host else [""]


def _ask(endpoint: Endpoint, question: BoundQuery) -> TermRows:
    return endpoint.select(question.sparql)


# ---- writing ------------------------------------------------------------------------


def _write(out: Path, made: Sequence[tuple[Dashboard, dict[str, Any]]]) -> None:
    """Write each file atomically, for processes that watch the folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for dashboard, document in made:
            path = out / f"{document['uid']}.json"
            text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
            # Grafana reloads a file with a newer time.
            if not path.is_file() or path.read_bytes() != text.encode():
                _replace(path, text)
            click.echo(path)
            for panel in _problems(dashboard):
                click.echo(f"  panel {panel.title!r}: {panel.problem}", err=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FileError(
            f"--out {out}: {reason}: name a folder that can be written"
        ) from error


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


# ---- checking -----------------------------------------------------------------------


def _report(
    settings: Settings,
    endpoint: Endpoint,
    made: Sequence[tuple[Dashboard, dict[str, Any]]],
) -> int:
    """Print one line per dashboard and per finding; return the number of findings."""
    total = 0
    account, timeout = store_read_account(settings), settings.query_timeout
    with (
        closing(RangeReader(settings.store_read, account, timeout)) as store,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        examine = partial(_examined, store, endpoint)
        for (_, document), (done, findings) in zip(
            made, pool.map(examine, made), strict=True
        ):
            click.echo(_line(document, done, len(findings)))
            for finding in findings:
                click.echo(f"  {finding}")
            total += len(findings)
    return total


def _examined(
    store: "RangeReader", endpoint: Endpoint, made: tuple[Dashboard, dict[str, Any]]
) -> tuple[LiveCheckResult, list[str]]:
    """The checks of a dashboard, and all of its findings."""
    dashboard, document = made
    done = check(document, store.count, partial(_columns, endpoint))
    findings = [
        *(f"panel {p.title!r}: {p.problem}" for p in _problems(dashboard)),
        *lint(document, _components(dashboard)),
        *done.findings,
    ]
    return done, findings


def _problems(dashboard: Dashboard) -> Iterator[Panel]:
    """The panels with a failed saved query: they only show the reason."""
    return (panel for panel in _panels(dashboard) if panel.problem)


def _components(dashboard: Dashboard) -> set[str]:
    return {one.component for panel in _panels(dashboard) for one in panel.series}


def _panels(dashboard: Dashboard) -> Iterator[Panel]:
    return (panel for section in dashboard.sections for panel in section.panels)


def _line(document: dict[str, Any], done: LiveCheckResult, findings: int) -> str:
    silent = f" ({done.empty} without a sample)" if done.empty else ""
    return (
        f"{document['uid']}: {done.panels} panels, {done.expressions} expressions"
        f"{silent}, {done.queries} queries: {findings or 'no'} "
        f"finding{'' if findings == 1 else 's'}"
    )


class RangeReader:
    """Queries VictoriaMetrics for ranges, in steps of five seconds."""

    def __init__(
        self, url: str, account: tuple[str, str] | None, seconds: float
    ) -> None:
        self.url, self._seconds = f"{url}/api/v1/query_range", seconds
        self._pool = HttpPool(
            lambda: HttpConnection(self.url, basic(account), connect_s=seconds)
        )

    def close(self) -> None:
        """Close the kept-alive connections."""
        self._pool.close()

    def count(self, expression: str, start: float, end: float) -> int | str:
        """The number of series, or the store's reason for a rejection."""
        try:
            return len(self.range(expression, start, end))
        except BadExpressionError as error:
            return str(error)

    def range(self, expression: str, start: float, end: float) -> list[Any]:
        """The series; raises BadExpressionError, or StoreError if the store is away."""
        parameters = {"query": expression, "start": f"{start:.3f}", "end": f"{end:.3f}"}
        body = urlencode({**parameters, "step": "5"}).encode()
        headers = {"Content-Type": FORM}
        try:
            with self._pool.connection() as connection:
                answer = connection.request("POST", "", body, headers, self._seconds)
                return self._series(answer.status, answer.read())
        except BROKEN as error:
            raise StoreError(
                f"the series store {self.url} does not answer "
                f"({type(error).__name__}): is the stack up? See `make status`"
            ) from error

    def _series(self, status: int, text: bytes) -> list[Any]:
        if status in _NO_ACCOUNT:
            raise StoreError(
                f"the series store {self.url} refuses the account "
                f"({status}): fix SUPERTWIN_STORE_USER and "
                "SUPERTWIN_STORE_PASSWORD"
            )
        try:
            answer = orjson.loads(text)
            if answer["status"] == "success":
                return list(answer["data"]["result"])
            words = " ".join(str(answer["error"]).split())
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{self.url} answers {status}, and not as "
                "VictoriaMetrics does: fix SUPERTWIN_STORE_READ_URL"
            ) from error
        # The reason follows the expression.
        raise BadExpressionError(words if len(words) < 200 else f"… {words[-200:]}")


def _columns(endpoint: Endpoint, text: str) -> Sequence[str] | str:
    try:
        return endpoint.select(text).columns
    except EndpointUnreachableError:
        raise
    except QueriesError as error:
        return " ".join(str(error).split())
