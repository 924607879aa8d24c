"""Bytes a point on disk of the monitor set."""

from collections.abc import Iterator, Mapping, Sequence

from tests.bench.table import Figure
from tests.bench_sampling.disk import OnDisk, measure_disk
from tests.bench_sampling.forms import Form
from tests.bench_sampling.ground import Ground
from tests.bench_sampling.part import Part
from tests.bench_sampling.tables import markdown

_STEP = "disk"


class DiskPart(Part[OnDisk]):
    """One step."""

    name = "disk"
    title = "Sampling: bytes a point on disk"
    gives = OnDisk

    def steps(self, form: Form) -> list[str]:
        return [_STEP]

    def measure(
        self, ground: Ground, form: Form, steps: Sequence[str]
    ) -> Iterator[tuple[str, OnDisk]]:
        for step in steps:
            wanted = form.disk
            yield step, measure_disk(ground, wanted.seconds, wanted.period_ms)

    def tables(self, found: Mapping[str, OnDisk]) -> dict[str, str]:
        disk = found[_STEP]
        header = ["every ms", "s", "series", "points", "bytes of points"]
        header += ["of labels and index", "bytes a point, all in all"]
        row = [str(disk.period_ms), f"{disk.seconds:,.0f}", str(disk.series)]
        row += [f"{disk.points:,}", f"{disk.bytes_of_points:,}"]
        row += [f"{disk.bytes_of_index:,}", f"{disk.a_point:.3f}"]
        return {"The monitor set": markdown([header, row])}

    def goals(self, found: Mapping[str, OnDisk]) -> list[Figure]:
        disk = found[_STEP]
        return [
            Figure("bytes a point on disk, monitor set, labels and index included",
                   disk.a_point, "B", 0.8, 0.4, "the best ever reported"),
            Figure("  of which labels and index", disk.bytes_of_index / disk.points,
                   "B"),
        ]  # fmt: skip
