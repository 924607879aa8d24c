"""Load many machine files: several processes describe them, one process writes.

Only work that does not depend on the order is done ahead: hosts that are new, add
nothing to the catalogues and have no faults. All others are published one by one in
their turn, so the outcome is that of loading the files in order.
"""

import gc
import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing import get_context

from ingest.description import Description, describe
from ingest.load.catalogues import Catalogues, held_nodes
from ingest.load.fast_load import PackedHost, pack
from ingest.load.register import signs_of
from ingest.machine_files import doubts
from ingest.machine_folder import MachineFile
from ingest.schema.schema import ProbeDocument
from ontology.iris import Iris
from shapes.validate import is_valid

Tell = Callable[[str], None]
Monitored = Callable[[ProbeDocument, Tell], list[str]]
_AHEAD = 3  # files per process: prepared files are held in memory


@dataclass(frozen=True)
class LoadJob:
    """The shared input of the processes: the new hosts, and how to describe files."""

    iris: Iris
    catalogues: Catalogues
    new: frozenset[str]
    monitored: Monitored

    def described(self, document: ProbeDocument, tell: Tell) -> Description:
        """Describe a document and report doubts about it with `tell`."""
        for line in doubts(document):
            tell(line)
        return describe(
            document,
            self.iris,
            self.monitored(document, tell),
            self.catalogues.metrics,
            self.catalogues.models,
        )


@dataclass
class PreparedFile:
    """A file that was read; ``packed`` is set if it can be written as it is.

    ``error`` says why it was refused, ``warnings`` holds the lines to report.
    """

    file: MachineFile
    packed: PackedHost | None = None
    signs: list[str] = field(default_factory=list)
    xml: str | None = None
    warnings: list[str] = field(default_factory=list)
    error: Exception | None = None


def prepared(
    job: LoadJob, files: Sequence[MachineFile]
) -> Generator[PreparedFile, None, None]:
    """Yield each file in order, read and described ahead by one process per CPU."""
    workers = len(os.sched_getaffinity(0))
    # With fork, the catalogues are inherited instead of sent.
    context = get_context("fork")
    with ProcessPoolExecutor(workers, context, _begin, (job,)) as pool:
        ahead: deque[Future[PreparedFile]] = deque()
        try:
            for file in files:
                ahead.append(pool.submit(_prepare, file))
                if len(ahead) >= _AHEAD * workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_JOB: list[LoadJob] = []


def _begin(job: LoadJob) -> None:
    # Descriptions are dropped at once; garbage collection would take a third longer.
    gc.freeze()
    gc.disable()
    _JOB[:] = [job]


def _prepare(file: MachineFile) -> PreparedFile:
    ready = PreparedFile(file)
    try:
        _describe(_JOB[0], ready)
    except Exception as error:  # a faulty file fails alone
        ready.error = error
    return ready


def _describe(job: LoadJob, ready: PreparedFile) -> None:
    document = ready.file.document()
    if document.host not in job.new or _adds_metrics(job, document):
        return
    warnings: list[str] = []
    description = job.described(document, warnings.append)
    adds = job.catalogues.missing_triples(description, job.iris)
    if adds or not _is_valid(description):
        return
    ready.packed = pack(description, job.iris, adds)
    ready.signs, ready.warnings = signs_of(description), warnings
    ready.xml = document.facts.hwloc.xml


def _adds_metrics(job: LoadJob, document: ProbeDocument) -> bool:
    """Whether PCP has a metric that the catalogue lacks, known before describing."""
    known = job.catalogues.metrics
    return any(metric.name not in known for metric in document.facts.metrics)


def _is_valid(description: Description) -> bool:
    triples = chain.from_iterable(description.graphs)
    return is_valid(triples, held_nodes(description))
