"""A host with a made-up roofline: roofs of two levels, a peak, and STREAM's triad."""

from datetime import UTC, datetime

from benchmarks.programs import Program
from benchmarks.record import Benchmark, BenchmarkRun, keep_benchmark
from benchmarks.results import Result
from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from ontology.terms import ST

_BYTES, _BEGAN = "BYTE-PER-SEC", 1_780_000_000.0
_ROOFS = (
    Result("load", _BYTES, 2, 1e11, 1e11, 10, isa="avx", level="L1", began=_BEGAN),
    Result("load", _BYTES, 2, 1e9, 1e9, 10, isa="avx", level="DRAM", began=_BEGAN),
    Result(
        *("fma", "FLOPS", 2, 4e9, 4e9, 10),
        isa="avx",
        precision="double",
        began=_BEGAN,
    ),
)
_TRIAD = Result("triad", _BYTES, 2, 2e9, 2e9, 10, stores="ordinary", began=_BEGAN)


def publish_roofline(fuseki_url: str, base: str, host: str) -> None:
    """Write the results of both suites on two threads of a published host."""
    when, iris = datetime.fromtimestamp(_BEGAN, UTC), Iris(base)
    with Endpoint(f"{fuseki_url}/twin") as twin:
        for suite, results in (("carm", _ROOFS), ("stream", (_TRIAD,))):
            observation = f"<{iris.observation(f'{suite}-0')}>"
            graph = iris.observation_graph(f"{suite}-0")
            kind = f"{observation} a <{ST.ObservationInterface}>"
            twin.update(f"INSERT DATA {{ GRAPH <{graph}> {{ {kind} }} }}")
            run = BenchmarkRun(f"{suite}-0", "compact-cores", (0, 1), (), results)
            about = (f"{suite}-of-{host}", suite, suite, host, Program(), when)
            keep_benchmark(Benchmark(*about, [run]), twin, iris)
