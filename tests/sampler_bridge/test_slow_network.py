"""A PMCD behind a slow network: how many requests it gets, on which connection."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.linux.pmapi import Context, PmError
from sampling.account.reasons import GapReason
from sampling.sources.pcp_source import PcpSource
from tests.cable import Cable
from tests.servers import Pmcd, wait_until


@pytest.fixture
def cable(pmcd: Pmcd) -> Iterator[Cable]:
    with Cable(pmcd.port) as found:
        yield found


def source_of(cable: Cable, *metrics: str) -> PcpSource:
    source = PcpSource(cable.address)
    source.select(metrics)
    source.connect()
    return source


def test_ninety_metrics_are_looked_up_in_few_round_trips(
    pmcd: Pmcd, cable: Cable
) -> None:
    names = [name for name in pmcd.names() if name.startswith(("kernel.", "mem."))]
    source = source_of(cable, *names[:90], "no.such.metric")
    asked = cable.requests
    sample = source.fetch()
    source.close()
    assert len(names) >= 90
    # Separate requests would take two round trips a metric.
    assert asked < 25
    assert sample.points > 90
    assert sample.missing["no.such.metric"].cause.reason == GapReason.UNKNOWN


def test_batched_lookups_equal_single_ones(pmcd: Pmcd) -> None:
    """Includes requests that fail, each for its own reason."""
    with Context(pmcd.address) as context:
        names = [*pmcd.names(), "no.such.metric", "sample.bad.unknown"]
        answers = dict(zip(names, context.describe_all(names), strict=True))
        reasons = {}
        for name, answer in answers.items():
            try:
                assert context.describe(name) == answer
            except PmError as error:
                assert isinstance(answer, PmError)
                assert error.number == answer.number
                reasons[name] = str(error)
    assert reasons["no.such.metric"] == "Unknown metric name"
    assert reasons["sample.bad.unknown"] != "Unknown metric name"
    assert len(answers) - len(reasons) > 900


def test_closing_does_not_wait_for_names_that_are_being_read(
    pmcd: Pmcd, cable: Cable
) -> None:
    """A sample from before the close is read after it, and leaves nothing open."""
    source = source_of(cable, "sample.many.int")
    pmcd.store("sample.many.count", "3")
    assert source.fetch().points == 3
    pmcd.store("sample.many.count", "5")
    first = source.fetch()
    pmcd.store("sample.many.count", "7")
    second = source.fetch()
    cable.hold()
    asked = cable.requests
    with ThreadPoolExecutor(1) as writer:
        points = writer.submit(lambda: first.points)
        wait_until(lambda: cable.requests > asked)
        source.close()
        assert not points.done()
        cable.release()
        assert points.result() == 5
    assert second.points == 7
    wait_until(lambda: cable.is_idle, what="the end of all connections")


def test_names_are_read_again_after_a_broken_connection(
    pmcd: Pmcd, cable: Cable
) -> None:
    source = source_of(cable, "sample.many.int")
    pmcd.store("sample.many.count", "3")
    assert source.fetch().points == 3
    assert cable.connections == 2
    cable.cut(1)
    pmcd.store("sample.many.count", "6")
    lacking = source.fetch()
    assert lacking.expected == 6
    assert source.fetch().points == 6
    assert source.connected
    source.close()
