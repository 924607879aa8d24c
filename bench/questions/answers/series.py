"""Answers from the samples of single metrics, and how complete these are."""

from collections.abc import Iterator

from bench.questions.answers.answer import (
    Answer,
    Params,
    Row,
    above,
    column_names,
    seconds,
    span,
)
from bench.questions.facts import Host, World
from bench.questions.levels import PERIOD, Level


def _of(world: World, p: Params) -> Iterator[tuple[Host, str | None, Level]]:
    for host in world.some(p["host"]):
        for instance, level in host.of(p["metric"]):
            yield host, instance, level


def _last(world: World, p: Params) -> Iterator[Row]:
    for host, instance, level in _of(world, p):
        yield host.name, instance, level.at(world.end)


def _statistics(world: World, p: Params) -> Iterator[Row]:
    within = span(world, p)
    for host, instance, level in _of(world, p):
        values = level.values(within)
        mean = sum(values) / len(values)
        yield host.name, instance, min(values), mean, max(values)


def _rates(world: World, p: Params) -> Iterator[Row]:
    within = span(world, p)
    for host, instance, level in _of(world, p):
        yield host.name, instance, level.rate(within)


def _course(world: World, p: Params) -> Iterator[Row]:
    for host, instance, level in _of(world, p):
        for step in span(world, p).steps(seconds(p["step"])):
            yield host.name, instance, step.end, level.mean(step)


def _gaps(world: World, p: Params) -> Iterator[Row]:
    within = span(world, p)
    expected = within.seconds / PERIOD
    for host in world.some(p["host"]):
        for (metric, instance), level in host.series.items():
            if p["metric"] in (None, metric):
                present = len(list(level.ticks(within)))
                if present < 0.99 * expected - 1:
                    yield host.name, metric, instance, present


def _silent(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for (metric, instance), level in host.series.items():
            age = world.end - (level.until or world.end)
            if above(age, p["periods"] * PERIOD):
                yield host.name, metric, instance, PERIOD


ANSWERS = {
    name: Answer(column_names(columns), compute)
    for name, columns, compute in (
        ("samples/last", "host instance value", _last),
        ("samples/statistics", "host instance least mean greatest", _statistics),
        ("samples/rates", "host instance rate", _rates),
        ("samples/course", "host instance time mean", _course),
        ("samples/gaps", "host metric instance present", _gaps),
        ("samples/silent", "host metric instance period", _silent),
    )
}
