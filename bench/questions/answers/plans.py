"""Answers about metrics, plans and what they sample."""

import re
from collections.abc import Iterator

from bench.questions.answers.answer import Answer, Params, Row, column_names
from bench.questions.facts import Host, World
from bench.questions.levels import PERIOD
from bench.questions.load import FAULTS

_LOAD = "kernel.all.load"


def _metrics(host: Host) -> list[str]:
    return sorted({name for name, _ in host.series})


def _plan_of(metric: str) -> str:
    return "faults" if metric == FAULTS else "monitor"


def _plans(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        if host.series:
            others = len(_metrics(host)) - 1
            every = (
                ("faults", PERIOD, 1),
                ("monitor", PERIOD, others),
                ("slow", 2 * PERIOD, 1),
            )
            for plan, period, metrics in every:
                if p["plan"] in (None, plan):
                    yield host.name, plan, period, metrics


def _one_plan(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for metric in _metrics(host):
            if _plan_of(metric) == p["plan"]:
                yield host.name, metric, PERIOD
        if host.series and p["plan"] == "slow":
            yield host.name, _LOAD, 2 * PERIOD


def _sampled(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for metric, instance in host.series:
            if p["metric"] in (None, metric):
                yield host.name, metric, instance, PERIOD


def _names(world: World, p: Params) -> Iterator[Row]:
    pattern = ".*".join(map(re.escape, p["pattern"].split("*")))
    every = sorted({name for host in world.hosts for name in _metrics(host)})
    for host in world.some(p["host"]):
        for metric in every:
            if re.fullmatch(pattern, metric):
                has = metric in _metrics(host)
                yield host.name, metric, has, has


def _instances(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for instance, _ in host.of(p["metric"]):
            yield host.name, instance


def _unsampled(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        if not host.series:
            yield (host.name,)


ANSWERS = {
    name: Answer(column_names(columns), compute)
    for name, columns, compute in (
        ("telemetry/plans", "host plan period metrics", _plans),
        ("telemetry/one-plan", "host samplerName period", _one_plan),
        ("telemetry/sampled", "host metric instname period", _sampled),
        ("telemetry/names", "host metric exposed sampled", _names),
        ("telemetry/instances", "host instname", _instances),
        ("fleet/unsampled", "host", _unsampled),
    )
}
