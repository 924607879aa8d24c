"""Calibrations with known coefficients, as a machine without noise would give."""

from sampling.cost.disk import DiskBlocks
from sampling.cost.load import AgentLoad, SamplingLoad
from sampling.cost.model import CalibrationRun, CostModel, DiskModel

BYTES_A_POINT, BYTES_A_BLOCK, LABELS, SENT = 0.5, 20, 100.0, 80.0


def load(
    fetches: float, values: float, points: float, processes: float = 0
) -> SamplingLoad:
    """A load of the linux agent, and of the proc agent if it has processes."""
    agents = {"linux": AgentLoad(fetches, values, values)} if fetches else {}
    if processes:
        agents["proc"] = AgentLoad(fetches, 2 * processes, 3 * processes)
    return SamplingLoad(fetches, values, points, int(points), agents=agents)


def measured(
    title: str, of: SamplingLoad, others: float = 1.0, missing: float = 0.0
) -> CalibrationRun:
    """CPU in % of one core, according to these coefficients."""
    linux, proc = (of.agents.get(name, AgentLoad()) for name in ("linux", "proc"))
    cpu = {
        "pmcd": 0.1 + 0.01 * of.fetches + 1e-5 * of.values,
        "linux": 0.02 * linux.fetches + 1e-4 * linux.reads,
        "proc": 0.1 * proc.fetches + 1e-3 * proc.reads,
        "bridge": 0.5
        + (0.1 * of.fetches + 0.3 * _sends(of.fetches))
        + (1e-5 * of.values + 1e-4 * of.points),
        "store": 0.4 + 0.05 * _sends(of.fetches) + 2e-4 * of.points,
    }
    rss = {"bridge": 50_000_000 + 1000 * of.series, "store": 40_000_000}
    return CalibrationRun(title, of, cpu, rss, others, missing)


def _sends(fetches: float) -> float:
    return 1 / (0.2 + 1 / fetches) if fetches else 0.0


def calibration(host: str = "n1", others: float = 1.0) -> CostModel:
    """A dozen runs, up to 100 fetches and 6,000 values a second."""
    loads = [
        load(fetches, values, values * share, processes)
        for fetches, values, share, processes in (
            *((0, 0, 1, 0), (1, 100, 1, 0), (10, 2000, 1, 100), (10, 6000, 0.1, 0)),
            *(
                (50, 6000, 1, 0),
                (100, 100, 1, 0),
                (20, 4000, 1, 500),
                (5, 3000, 0.5, 0),
            ),
            *((10, 4000, 1, 1000), (100, 3000, 1, 0), (2, 500, 1, 200), (0, 0, 1, 0)),
        )
    ]
    loads.sort(key=lambda of: of.series)  # memory depends on the most series so far
    runs = [measured(f"run {at}", of, others) for at, of in enumerate(loads)]
    parts = [
        DiskBlocks(points, blocks, int(BYTES_A_POINT * points + BYTES_A_BLOCK * blocks))
        for points, blocks in ((10_000, 100), (50_000, 100), (20_000, 2000), (900, 90))
    ]
    disk = DiskModel(parts, LABELS, SENT)
    versions = {"supertwin": "0.1.0", "kernel": "6.1"}
    return CostModel(
        host, "2026-11-21T19:00:00+00:00", versions, 2, ("jbd2",), disk, runs
    )
