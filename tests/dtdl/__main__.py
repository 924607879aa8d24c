"""`make dtdl`: the official parser's verdict on every machine in every version.

Machines: files in ../shared/machines, made-up ones, this machine probed now, and the
DTDL files of `make dtdl FILES=…`.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

from ingest.probe import probe
from tests.dtdl.parser import Verdict, verdicts
from tests.dtdl.twins import IRIS, VERSIONS, Twin, everything, large, machines
from tests.ingest.documents import describe_json

HEADER = ("machine", "triples", "version", "MB", "export s", "parser s", "errors")
Row = tuple[str, ...]


def main(files: list[str]) -> int:
    twins = {"one of everything": everything(), "384 threads": large()}
    twins |= {"this machine": here(), **dict(machines())}
    documents, rows = {}, dict[str, Row]()
    for name, twin in twins.items():
        for version in VERSIONS:
            key = f"{name} {version}"
            text, seconds = timed(partial(twin.document, version))
            documents[key] = text
            size = f"{len(text) / 1e6:.2f}"
            rows[key] = (name, f"{len(twin.triples)}", f"{version}", size, seconds)
    for file in files:
        documents[file] = Path(file).read_bytes()
        rows[file] = (file, "", "", f"{len(documents[file]) / 1e6:.2f}", "")
    found = verdicts(documents)
    print_rows([HEADER, *(rows[key] + judged(found[key]) for key in documents)])
    for line in wrong(found):
        print(line)
    most = max(verdict.rss for verdict in found.values())
    print(f"\n{len(found)} documents, one process of {most / 1e6:.0f} MB at most")
    return 1 if any(verdict.errors for verdict in found.values()) else 0


def here() -> Twin:
    """This machine, without facts that only a running PMCD provides."""
    made = describe_json(probe("this-machine", None, lambda line: None), IRIS)
    return Twin(made.host, [triple for part in made.graphs for triple in part])


def timed(work: Callable[[], bytes]) -> tuple[bytes, str]:
    start = perf_counter()
    text = work()
    return text, f"{perf_counter() - start:.2f}"


def print_rows(rows: list[Row]) -> None:
    """A Markdown table, aligned; the first row is its header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * width for width in widths))
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(f"| {' | '.join(cells)} |")


def judged(verdict: Verdict) -> Row:
    return f"{verdict.ms / 1000:.2f}", str(len(verdict.errors))


def wrong(found: dict[str, Verdict]) -> Iterator[str]:
    for name, verdict in found.items():
        for error in verdict.errors[:5]:
            yield f"{name}: {error}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
