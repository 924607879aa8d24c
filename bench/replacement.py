"""One host replaced a thousand times, compacted as the supervisor does it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.fleet import OwnFuseki, load, own_store
from bench.table import Figure
from ingest.hwloc.read import parse_hwloc
from ingest.probe import hwloc_document
from ingest.schema.check import check_document
from ingest.schema.schema import ProbeDocument
from supertwin.stack.compaction import bytes_on_disk, compact, keep_small
from tests.dashboards.synthetic_facts import topology

REPLACED = 1000
COMPACT_EVERY = 5.0  # seconds; the supervisor checks every ten minutes


def replacement_figures() -> list[Figure]:
    """One host whose kernel changes a thousand times, with compaction on the way."""
    document = hwloc_document("again", parse_hwloc(topology()))
    with own_store() as (server, store):
        load(store, _with_kernel(document, 0), None)
        fresh = server.disk
        with _kept_small(server) as compactions:
            known, started = None, time.monotonic()
            for number in range(1, REPLACED + 1):
                known = load(store, _with_kernel(document, number), known)
            seconds = time.monotonic() - started
            grown = server.disk
        for name in ("twin", "history"):
            asyncio.run(compact(server.settings, name))
        after, past = server.disk, bytes_on_disk(server.folder / "fuseki/history")
    return [
        Figure(
            f"128 threads replaced {REPLACED:,} times: disk after compaction",
            after / 1e6, "MB", 3 * fresh / 1e6, fresh / 1e6, "the host loaded once",
        ),
        Figure(f"  of which the past, {REPLACED:,} states", past / 1e6, "MB"),
        Figure("  before the last compaction", grown / 1e6, "MB"),
        Figure("  compactions that came by themselves", compactions(), "", 1,
               at_least=True),
        Figure("  replacements a second", REPLACED / seconds, ""),
    ]  # fmt: skip


def _with_kernel(document: dict[str, Any], number: int) -> ProbeDocument:
    stamp = f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.{number:06}Z"
    facts = document["facts"] | {"os": {"kernel": f"6.1.{number}"}}
    stamps = {"started": stamp, "ended": stamp}
    return check_document(document | {"facts": facts} | stamps)


@contextmanager
def _kept_small(server: OwnFuseki) -> Iterator[Callable[[], int]]:
    """Compaction as the supervisor does it, but checked more often.

    The yielded value counts the compactions: Fuseki numbers the files of each.
    """
    loop = asyncio.new_event_loop()
    often = server.settings.with_changes(compact_every=COMPACT_EVERY)
    keeper = loop.create_task(keep_small(often))
    thread = threading.Thread(
        target=lambda: loop.run_until_complete(
            asyncio.gather(keeper, return_exceptions=True)
        )
    )

    def made() -> int:
        datasets = [server.folder / "fuseki" / name for name in ("twin", "history")]
        return sum(
            max(int(path.name[5:]) for path in folder.glob("Data-*")) - 1
            for folder in datasets
        )

    count: list[int] = []
    thread.start()
    try:
        yield lambda: count[0] if count else made()
    finally:
        count.append(made())
        loop.call_soon_threadsafe(keeper.cancel)
        thread.join()
        loop.close()
