"""`supertwin why`: why a series has data or not, as in the API's `/why`."""

import asyncio
from datetime import UTC, datetime

import click

from api.services import make_services
from core.settings.settings import Settings
from ingest.host_name import check_host
from ontology.figures import figures
from sampling.why.why import Why, explain
from supertwin.cli.host import HOST

_SAMPLED = "data"
_EMPTY = "{} is empty: name one"


@click.command("why")
@click.argument("words", metavar="[HOST] METRIC [INSTANCE]", nargs=-1)
@click.option(
    "--host", type=HOST, help="Name of the host, instead of HOST.  [default: this host]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.pass_context
def why_command(
    ctx: click.Context, words: tuple[str, ...], host: str | None, as_json: bool
) -> None:
    """Explain why a metric of a host, or one instance of it, has data or not.

    METRIC is a name in PCP, a role such as FLOPs, or a PMU event with its PMU. With
    --host, the first word is METRIC. A single word is METRIC of this host.

    Exit 0 if values arrive, 1 if they do not or the graph store is unreachable.
    """
    settings = Settings()
    host, metric, instance = _parse_words(words, host, settings.host)
    found = asyncio.run(_ask(settings, host, metric, instance))
    click.echo(found.model_dump_json(indent=1) if as_json else "\n".join(lines(found)))
    ctx.exit(0 if found.verdict == _SAMPLED else 1)


def _parse_words(
    words: tuple[str, ...], option: str | None, this: str
) -> tuple[str, str, str | None]:
    """Host, metric and instance; raises UsageError."""
    if option is None and len(words) > 1:
        option, words = HOST.convert(words[0], None, None), words[1:]
    if not words:
        raise click.UsageError("Missing argument 'METRIC'.")
    if len(words) > 2:
        raise click.UsageError(
            f"{words[2]!r} is one word too many: give METRIC [INSTANCE]"
        )
    for name, value in zip(("METRIC", "INSTANCE"), words, strict=False):
        if value == "":
            raise click.UsageError(_EMPTY.format(name))
    return option or check_host(this), words[0], words[1] if words[1:] else None


async def _ask(settings: Settings, host: str, metric: str, instance: str | None) -> Why:
    services = make_services(settings)
    try:
        return await explain(services, host, metric, instance)
    finally:
        await services.aclose()


def lines(found: Why) -> list[str]:
    """The answer as text."""
    names = filter(None, (found.host, found.metric, found.instance))
    series = " ".join(name if name.isprintable() else repr(name) for name in names)
    text = [f"{series}: {found.verdict}", f"  {found.reason}"]
    if found.plan:
        period = figures(found.period or 0)
        text.append(f"  plan        {', '.join(found.plan)}, every {period} s")
    if found.last_timestamp_ms is not None:
        text.append(f"  last value  {_value(found)}{_ago(found)}")
    if found.accuracy:
        text.append(f"  accuracy    {found.accuracy}")
    return [*text, f"  series      {found.selector}"]


def _value(found: Why) -> str:
    """A number, or a text in quotes; empty if several series match."""
    if found.last_text is not None:
        return f"{found.last_text!r}, "
    return "" if found.last_value is None else f"{found.last_value}, "


def _ago(found: Why) -> str:
    at = datetime.fromtimestamp((found.last_timestamp_ms or 0) / 1000, UTC)
    written = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"{figures(found.age_s or 0)} s ago ({written})"
