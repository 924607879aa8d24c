"""A host of 128 threads with full catalogues, as large as a real one."""

from rdflib import Dataset, URIRef

from tests.queries.synthetic import IRIS, Shape, add_host
from tests.queries.synthetic_telemetry import (
    add_instance,
    add_metric,
    add_plan,
    add_pmu,
)

SHAPE = Shape(
    host="big",
    sockets=2,
    domains_per_socket=4,
    cores_per_socket=32,
    siblings=2,
    cores_per_l3=4,
)
PER_CPU = 40
OTHERS = 1587
EVENTS = 1906


def large_host(shape: Shape = SHAPE) -> Dataset:
    """The host, its metrics (40 per CPU, 1,627 in all), its plan and its PMU."""
    data = Dataset()
    add_host(data, shape)
    threads: dict[str | None, URIRef] = {
        f"cpu{cpu}": IRIS.component(shape.host, "thread", str(cpu))
        for cpu in range(shape.threads)
    }
    for instance, thread in threads.items():
        add_instance(data, shape.host, "60.0", str(instance), thread)
    for number in range(PER_CPU):
        name = f"kernel.percpu.metric{number}"
        add_metric(data, name, "60.0", hosts=(shape.host,))
        if number < 16:
            add_plan(data, shape.host, name, threads)
    for number in range(OTHERS):
        domain = f"70.{number % 40}" if number % 3 else None
        add_metric(data, f"some.other.metric{number}", domain, hosts=(shape.host,))
    for number in range(40):
        for instance in range(5):
            add_instance(
                data, shape.host, f"70.{number}", f"i{instance}", IRIS.host(shape.host)
            )
    events = [
        (f"EVENT_{n}", f"Counts occurrence {n} of a thing") for n in range(EVENTS)
    ]
    add_pmu(data, "spr", events, (shape.host,))
    return data
