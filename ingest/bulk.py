"""`supertwin ingest --bulk`: load every machine file of a folder as a twin."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.settings.settings import Settings
from core.stores.datasets import Progress, writing
from core.stores.errors import EndpointError, QuerySyntaxError, UpdateRefusedError
from ingest.hwloc.topology_file import keep_xml
from ingest.load.bulk import LoadJob, Monitored, PreparedFile, prepared
from ingest.load.catalogues import Catalogues, read_catalogues
from ingest.load.fast_load import (
    PackedHost,
    hosts_with_mixed_graphs,
    send,
    unknown_hosts,
)
from ingest.load.ontology import publish_ontology
from ingest.load.publish import Published, TwinStores, publish
from ingest.load.register import Signs, read_signs, same_machine_warnings
from ingest.loading import open_store
from ingest.machine_folder import MachineFile, duplicate_reasons, files_in, recognise
from ingest.pmu.store import publish_roles
from ontology.iris import Iris
from queries.natural_order import natural

_BATCH = 100_000  # triples in one transaction

# Returns the lines that explain an error to the user.
Explain = Callable[[Exception], list[str]]


@dataclass
class Outcome:
    """Counts of the files by outcome; ``triples`` is the number written."""

    explain: Explain
    loaded: int = 0
    unchanged: int = 0
    refused: int = 0
    triples: int = 0
    began: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        """The summary line: number of hosts, triples and speed."""
        seconds = time.monotonic() - self.began
        return (
            f"{self.loaded} hosts loaded, {self.unchanged} unchanged, {self.refused} "
            f"refused: {self.triples:,} triples in {seconds:.1f} s "
            f"({self.triples / seconds:,.0f} triples/s)"
        )


def load_folder(
    settings: Settings,
    monitored: Monitored,
    folder: Path,
    explain: Explain,
    progress: Progress,
    confirm: bool = False,
) -> Outcome:
    """Load every machine file of a folder, in order of file names.

    A bad file is reported in one line and skipped. Raises ProbeDocumentError if the
    folder is not usable, EndpointError if the graph store fails.
    """
    outcome = Outcome(explain)
    files = _recognised(files_in(folder), outcome, progress)
    iris = Iris(settings.base)
    with open_store(settings) as store:
        publish_ontology(store.twin, iris)
        publish_roles(store.twin, iris)
        loader = _Loader(settings, store, monitored, outcome, progress, confirm)
        while files:
            files = loader.load(files)
    return outcome


def _recognised(
    paths: Sequence[Path], outcome: Outcome, progress: Progress
) -> list[MachineFile]:
    found = []
    for path in paths:
        try:
            file = recognise(path)
        except Exception as error:  # the folder may hold any file
            _refuse(path, error, outcome, progress)
            continue
        if file:
            found.append(file)
        else:
            progress(f"{path} does not describe a machine: skipped")
    refused = duplicate_reasons(found)
    for why in refused.values():
        outcome.refused += 1
        progress(f"refused: {why}")
    return [file for file in found if file.path not in refused]


def _refuse(path: Path, error: Exception, outcome: Outcome, progress: Progress) -> None:
    """Report in one line the file and the first problem with it."""
    outcome.refused += 1
    text = " ".join(line.strip() for line in outcome.explain(error)[:2])
    progress(f"refused: {text}" if str(path) in text else f"refused: {path}: {text}")


class _Loader:
    """Writes prepared files: new hosts in batches, all others one by one."""

    def __init__(
        self,
        settings: Settings,
        store: TwinStores,
        monitored: Monitored,
        outcome: Outcome,
        progress: Progress,
        confirm: bool,
    ) -> None:
        self._settings, self._store, self._outcome = settings, store, outcome
        self._monitored = monitored
        self._progress, self._confirm = progress, confirm
        self._iris = Iris(settings.base)
        self._catalogues: Catalogues | None = None
        self._signs: Signs | None = None
        self._batch: list[PreparedFile] = []

    def load(self, files: list[MachineFile]) -> list[MachineFile]:
        """Load files until the catalogues grow; return the files that are left."""
        job = self._job(files)
        with closing(prepared(job, files)) as results:
            for number, ready in enumerate(results, 1):
                if self._take(ready, job):
                    return files[number:]
        self._flush(job)
        return []

    def _job(self, files: Sequence[MachineFile]) -> LoadJob:
        twin, history, iris = self._store.twin, self._store.history, self._iris
        self._catalogues = read_catalogues(twin, iris, self._catalogues)
        new = unknown_hosts(twin, history, iris, [file.host for file in files])
        return LoadJob(iris, self._catalogues, frozenset(new), self._monitored)

    def _take(self, ready: PreparedFile, job: LoadJob) -> bool:
        """Load one file or add it to the batch; return whether the catalogues grew."""
        if ready.error:
            _refuse(ready.file.path, ready.error, self._outcome, self._progress)
        elif ready.packed:
            self._batch.append(ready)
            if sum(r.packed.size for r in self._batch if r.packed) >= _BATCH:
                self._flush(job)
        else:
            self._flush(job)
            self._publish(ready.file, job)
            before, twin = self._catalogues, self._store.twin
            self._catalogues = read_catalogues(twin, self._iris, before)
            return self._catalogues is not before
        return False

    def _flush(self, job: LoadJob) -> None:
        """Write the batch in one transaction; publish what fails one by one."""
        batch, self._batch = self._batch, []
        if not batch:
            return
        if self._signs is None:
            self._signs = read_signs(self._store.twin)
        alone = self._sent([ready.packed for ready in batch if ready.packed])
        for ready in batch:
            if ready.file.host in alone:
                self._publish(ready.file, job)
            else:
                self._written(ready)

    def _sent(self, packed: list[PackedHost]) -> set[str]:
        """Send hosts in one batch; return those that must be published one by one."""
        twin, history = self._store.twin, self._store.history
        hosts = {one.host: one for one in packed}
        with ExitStack() as turns:
            for host in sorted(hosts, key=natural):
                turns.enter_context(writing(self._settings, host, self._progress))
            new = unknown_hosts(twin, history, self._iris, hosts)
            try:
                send(twin, history, [hosts[host] for host in hosts if host in new])
            except (UpdateRefusedError, QuerySyntaxError):
                return {*hosts}
            return ({*hosts} - new) | hosts_with_mixed_graphs(twin, self._iris, new)

    def _written(self, ready: PreparedFile) -> None:
        host, signs = ready.file.host, self._signs or {}
        warnings = [*ready.warnings, *same_machine_warnings(host, ready.signs, signs)]
        signs[host] = ready.signs
        size = ready.packed.size if ready.packed else 0
        self._done(ready.file, Published(True, warnings, size), ready.xml)

    def _publish(self, file: MachineFile, job: LoadJob) -> None:
        """Load one file by itself, as `supertwin ingest` does."""
        warnings: list[str] = []
        self._signs = None
        try:
            document = file.document()
            description = job.described(document, warnings.append)
            with writing(self._settings, file.host, self._progress):
                published = publish(
                    description,
                    self._store,
                    self._iris,
                    self._confirm,
                    catalogues=job.catalogues,
                )
        except EndpointError as error:
            if not isinstance(error, UpdateRefusedError | QuerySyntaxError):
                raise
            _refuse(file.path, error, self._outcome, self._progress)
        except Exception as error:  # the folder may hold any file
            _refuse(file.path, error, self._outcome, self._progress)
        else:
            warnings += published.warnings
            self._done(
                file, replace(published, warnings=warnings), document.facts.hwloc.xml
            )

    def _done(self, file: MachineFile, published: Published, xml: str | None) -> None:
        for line in published.warnings:
            self._progress(f"{file.path}: {line}")
        if published.changed:
            self._outcome.loaded += 1
        else:
            self._outcome.unchanged += 1
        self._outcome.triples += published.triples
        if problem := keep_xml(self._settings.home, file.host, xml):
            self._progress(f"{file.path}: {problem}")
