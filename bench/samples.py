"""Samples in SPARQL, through the API, compared with MetricsQL written by hand."""

import statistics
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

import httpx

from bench.table import Figure
from tests.dashboards.synthetic import big_host
from tests.stack import Stack

HOST, METRIC = "sampled", "kernel.percpu.cpu.idle"
MINUTES, ROUNDS, LAST = 60, 7, 1000
WARM_UP = 30  # until Java has compiled what a short query needs
AHEAD = 300  # seconds: the queries ask until now, which moves
_PREFIX = "PREFIX st: <https://w3id.org/supertwin/ns#>\n"
_SERIES = f"""?host st:hostname "{HOST}" .
  ?telemetry st:ofHost ?host ; st:samplerName "{METRIC}" ; st:ofComponent ?thread ."""
_SELECTOR = f'{METRIC.replace(".", "_")}{{hostname="{HOST}"}}'
_NODES = f"""{_PREFIX} SELECT ?telemetry {{
  ?host st:hostname "{HOST}" . ?telemetry st:ofHost ?host ; a st:SWTelemetry
}} LIMIT {LAST}"""
_RAW = f"""{_PREFIX} SELECT ?telemetry ?time ?value {{ {_SERIES}
  ?telemetry st:rawSamples ("now-{MINUTES}m" "now" ?time ?value) }}"""


def _by_core(time_: str, step: str) -> str:
    return f"""{_PREFIX} SELECT ?core {time_} (AVG(?value) AS ?mean) {{ {_SERIES}
      ?thread st:isPartOf ?core .
      ?telemetry st:rate ("now-{MINUTES}m" "now" {step} {time_} ?value)
    }} GROUP BY ?core {time_}"""


def sample_figures(stack: Stack) -> Iterator[Figure]:
    """Queries of one host with 128 threads and an hour of samples at 1 s."""
    big_host(stack.fuseki, stack.store, stack.base, HOST, MINUTES, ahead=AHEAD)
    api = connection(stack)
    with httpx.Client(timeout=120) as client:
        of_nodes = _last_values(client, stack)
        last, _ = median(lambda: sparql(api, of_nodes, LAST))
        yield Figure(f"last values of {LAST:,} telemetry nodes", last * 1000, "ms", 100)
        raw, rows = median(lambda: sparql(api, _RAW, 128 * MINUTES * 60))
        yield Figure(
            "raw samples: rows/s as CSV", rows / raw, "", 600_000, at_least=True
        )
        for what, query, step, least in (
            ("hour", _by_core("", ""), MINUTES * 60, 64),
            ("second", _by_core("?time", '"1s"'), 1, 64 * 3590),
        ):
            yield _hybrid(client, stack, what, query, step, least)
        yield from _virtual(client, stack)


def _hybrid(
    client: httpx.Client, stack: Stack, what: str, query: str, step: int, least: int
) -> Figure:
    """The mean rate of each core, in SPARQL and in MetricsQL."""
    api = connection(stack)
    ours, _ = median(lambda: sparql(api, query, least))
    by_hand, _ = median(lambda: _metricsql(client, stack, _rates_by_core(step), step))
    return Figure(
        f"128 threads x 1 h at 1 s, mean rate of each core and {what}",
        *(ours, "s", 1.5 * by_hand + 0.04, by_hand, "MetricsQL by hand"),
    )


def _virtual(client: httpx.Client, stack: Stack) -> Iterator[Figure]:
    """A sum of rates over all threads, in SPARQL and as the same MetricsQL by hand."""
    pattern = f'?telemetry st:ofHost <twin/{HOST}> ; st:samplerName "{METRIC}"'
    expression = f"sum(rate({{ {pattern} }}))"
    stack.run("virtual", "add", "idle", "--expression", expression)
    virtual = f"<{stack.base.rstrip('/')}/virtual/idle>"
    what, against = f"128 threads x {MINUTES} min at 1 s, virtual sum", "MetricsQL"
    for how, call, least in (
        ("its mean", f'st:avg ("now-{MINUTES}m" "now" ?value)', 1),
        ("each second", f'st:rawSamples ("now-{MINUTES}m" "now" ?time ?value)', 3590),
    ):
        query = f"{_PREFIX} SELECT ?value {{ {virtual} {call} }}"
        ours, by_hand = _paired(client, stack, query, least)
        yield Figure(f"{what}, {how}", ours, "s", 1.2 * by_hand, by_hand, against)
    # Shorter than ours, which has no value where a thread has none.
    plain_sum = f"sum(rate({_SELECTOR}[2s]))"
    plain, _ = median(lambda: _metricsql(client, stack, plain_sum, 1))
    yield Figure(
        f"{what}, each second, set against a plain sum",
        *(ours, "s", None, plain, "MetricsQL by hand"),
    )
    # Values of the last ten minutes are not read from the cache of the store.
    past = query.replace('"now" ?time', '"now-12m" ?time')
    again, _ = median(lambda: sparql(connection(stack), past, (MINUTES - 15) * 60))
    yield Figure(f"{what}, read again", again, "s", 0.5 * by_hand, by_hand, against)


def _paired(
    client: httpx.Client, stack: Stack, query: str, least: int
) -> tuple[float, float]:
    """Medians of a query and of its request to the series store, in turn."""
    api = connection(stack)
    form = {"query": query, "explain": "true"}
    answer = client.post(f"{stack.api}/sparql", data=form).raise_for_status()
    (request,) = answer.json()
    url = f"{stack.store}{request.pop('path')}"
    seconds: tuple[list[float], list[float]] = [], []
    for place in range(2 * (WARM_UP + ROUNDS)):
        started = time.perf_counter()
        if place % 2:
            client.post(url, data=request).raise_for_status().json()
        else:
            sparql(api, query, least)
        seconds[place % 2].append(time.perf_counter() - started)
    ours, by_hand = (statistics.median(one[WARM_UP:]) for one in seconds)
    return ours, by_hand


def _last_values(client: httpx.Client, stack: Stack) -> str:
    """A query for the last values of nodes of many metrics."""
    answer = client.post(f"{stack.fuseki}/twin/sparql", data={"query": _NODES})
    rows = answer.raise_for_status().json()["results"]["bindings"]
    nodes = " ".join(f"<{row['telemetry']['value']}>" for row in rows)
    return f"""{_PREFIX} SELECT ?telemetry ?value {{
      VALUES ?telemetry {{ {nodes} }} ?telemetry st:last (?value) }}"""


def connection(stack: Stack) -> HTTPConnection:
    """A connection to the API; this client is among the fastest for large answers."""
    return HTTPConnection(urlsplit(stack.api).netloc, timeout=120)


def sparql(api: HTTPConnection, query: str, least: int) -> int:
    """Return how many rows a query gives as CSV; there are at least so many."""
    form = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/csv"}
    api.request("POST", "/sparql", urlencode({"query": query}), form)
    answer = api.getresponse()
    text = answer.read()
    rows = text.count(b"\n") - 1
    assert answer.status == 200 and rows >= 0.99 * least, (
        f"{rows} rows: {text[-500:]!r}"
    )
    return rows


def _rates_by_core(step: int) -> str:
    """What the query by core asks; the second threads follow all first ones."""
    cores = ",".join(f'"cpu{n + 64}","cpu{n}"' for n in range(64))
    rates = f"rate({_SELECTOR}[{step}s])"
    return f'avg by (instname) (label_map({rates},"instname",{cores}))'


def _metricsql(client: httpx.Client, stack: Stack, query: str, step: int) -> int:
    """Return the bytes of an answer about all minutes."""
    end = time.time()
    form = {"query": query, "time": str(end), "nocache": "1"}
    if step < MINUTES * 60:
        form |= {"start": str(end - MINUTES * 60 + step), "end": str(end)}
    form["step"] = f"{step}s"
    path = "query_range" if "start" in form else "query"
    answer = client.post(f"{stack.store}/api/v1/{path}", data=form)
    return len(answer.raise_for_status().content)


def median(work: Callable[[], int]) -> tuple[float, int]:
    """Return the median of the seconds of some rounds, after two others."""
    found = [work(), work()]
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        found.append(work())
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds), found[-1]
