"""Bytes a point on disk of the monitor plan, and predicted and measured cost."""

from collections.abc import Iterator, Mapping, Sequence

from bench.sampling.disk import OnDisk, measure_disk
from bench.sampling.ground import Ground
from bench.sampling.part import Part
from bench.sampling.predicted import Predicted
from bench.sampling.profiles import Profile
from bench.sampling.tables import markdown
from bench.table import Figure
from sampling.cost.wording import as_number

_STEP = "disk"


class DiskPart(Part[OnDisk]):
    """The part has one step."""

    name = "disk"
    title = "Sampling: bytes a point on disk"
    gives = OnDisk

    def steps(self, profile: Profile) -> list[str]:
        return [_STEP]

    def measure(
        self, ground: Ground, profile: Profile, steps: Sequence[str]
    ) -> Iterator[tuple[str, OnDisk]]:
        for step in steps:
            wanted = profile.disk
            yield step, measure_disk(ground, wanted.seconds, wanted.period_ms)

    def tables(self, found: Mapping[str, OnDisk]) -> dict[str, str]:
        disk = found[_STEP]
        header = ["every ms", "s", "series", "points", "bytes of points"]
        header += ["of labels and index", "bytes a point, all in all"]
        row = [str(disk.period_ms), f"{disk.seconds:,.0f}", str(disk.series)]
        row += [f"{disk.points:,}", f"{disk.bytes_of_points:,}"]
        row += [f"{disk.bytes_of_index:,}", f"{disk.a_point:.3f}"]
        return {
            "The monitor set": markdown([header, row]),
            "Predicted next to measured": table_predicted(disk.cost),
        }

    def goals(self, found: Mapping[str, OnDisk]) -> list[Figure]:
        disk = found[_STEP]
        return [
            Figure("bytes a point on disk, monitor set, labels and index included",
                   disk.a_point, "B", 0.8, 0.4, "the best ever reported"),
            Figure("  of which labels and index", disk.bytes_of_index / disk.points,
                   "B"),
        ]  # fmt: skip


def table_predicted(cost: Predicted | None) -> str:
    """Predictions of a calibration made just before the run, and measured costs."""
    if cost is None:
        return ""
    rows = [
        (
            one.what,
            one.unit,
            as_number(one.predicted),
            f"{as_number(one.low)} to {as_number(one.high)}",
            as_number(one.measured),
            "yes" if one.within else "no",
        )
        for one in cost.figures
    ]
    header = ("what", "unit", "predicted", "95 %", "measured", "within")
    others = f"Other work took {as_number(cost.others)} % of a core while it was "
    return f"{markdown([header, *rows])}\n\n{others}calibrated."
