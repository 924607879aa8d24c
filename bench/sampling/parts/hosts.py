"""Many hosts in one bridge: points, cost, and how far apart their fetches are."""

from collections.abc import Iterator, Mapping, Sequence

from bench.sampling.ground import Ground
from bench.sampling.hosts import ManyHosts, measure_hosts
from bench.sampling.part import Part
from bench.sampling.profiles import Profile
from bench.sampling.tables import markdown
from bench.sampling.usage import of_pcp


class HostsPart(Part[ManyHosts]):
    """A step is a number of hosts."""

    name = "hosts"
    title = "Sampling: many hosts in one bridge"
    gives = ManyHosts

    def steps(self, profile: Profile) -> list[str]:
        return [str(number) for number in profile.hosts.hosts]

    def measure(
        self, ground: Ground, profile: Profile, steps: Sequence[str]
    ) -> Iterator[tuple[str, ManyHosts]]:
        wanted = profile.hosts
        for step in steps:
            yield (
                step,
                measure_hosts(
                    ground, int(step), wanted.series, wanted.period_ms, wanted.seconds
                ),
            )

    def tables(self, found: Mapping[str, ManyHosts]) -> dict[str, str]:
        return {"One PMCD under so many names": table_hosts(list(found.values()))}


def table_hosts(runs: Sequence[ManyHosts]) -> str:
    """One row for each number of hosts."""
    header = ["hosts", "expected", "inserted", "lost %", "points/s"]
    header += ["bridge: CPU %", "MB", "store: CPU %", "PMCD and agents: CPU %"]
    header += ["ticks of all hosts", "apart by ms: half", "99 %", "all"]
    rows = []
    for run in runs:
        lost = 100 * (1 - run.inserted / run.expected)
        row = [str(run.hosts), f"{run.expected:,}", f"{run.inserted:,}", f"{lost:.2f}"]
        row.append(f"{run.inserted / run.seconds:,.0f}")
        used = run.usage["bridge"]
        row += [f"{used.cpu:.2f}", f"{used.rss:.0f}"]
        row.append(f"{run.usage['store'].cpu:.2f}")
        row += [f"{of_pcp(run.usage):.2f}", f"{run.whole_ticks:,}"]
        rows.append([*row, *(f"{ms:.3f}" for ms in run.spread)])
    return markdown([header, *rows])
