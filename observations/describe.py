"""Turns an observation into its graph, which contains no samples."""

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from rdflib import PROV, XSD, Literal, URIRef

from ingest.triples import Triples, Value, rounded
from observations.hot_loops.analysis import analyse_loops
from observations.hot_loops.describe import describe_loops
from observations.origin import describe_origin
from observations.pop.analysis import analyse, not_recorded
from observations.pop.describe import describe_analysis
from observations.profiles.describe import describe_profile
from observations.profiles.profile import ProfileKind, profile_of
from observations.record import (
    DerivedFigure,
    Observation,
    Run,
    Summary,
    at,
    time_literal,
)
from observations.regions.describe import describe_regions
from observations.statistics import Span
from ontology.iris import Iris
from ontology.terms import QUDT, ST

_USED = {
    ST.minorFaults: "minor_faults",
    ST.majorFaults: "major_faults",
    ST.voluntarySwitches: "voluntary_switches",
    ST.involuntarySwitches: "involuntary_switches",
}
_SECONDS = {ST.userTime: "user_seconds", ST.systemTime: "system_seconds"}
_FIGURES = {
    ST.minimumValue: "minimum",
    ST.meanValue: "mean",
    ST.maximumValue: "maximum",
    ST.medianValue: "median",
    ST.percentile95: "p95",
    ST.totalValue: "total",
    ST.coveredTime: "covered",
}

# The PCP agent of PMU events.
_HARDWARE = "perfevent."

Properties = dict[URIRef, Value | Iterable[Value]]


def describe_observation(observation: Observation, iris: Iris) -> Triples:
    """Return all triples of an observation's graph."""
    triples, node = Triples(), iris.observation(observation.id)
    triples.node(
        node,
        ST.ObservationInterface,
        {
            **_request_properties(observation, iris),
            **_ran(observation.run),
            **_observed(observation.metrics),
            **_agreement(observation),
            ST.errorCode: observation.problem_code or None,
            ST.dashboard: dashboard_address(
                iris, observation.spec.host, observation.run.span
            ),
        },
        label=observation.spec.command[:200],
    )
    if observation.run.about:
        surroundings = iris.observation_part(observation.id, "surroundings")
        triples.link(node, {ST.ranIn: surroundings})
        triples.node(surroundings, ST.Surroundings, _about(observation.run.about))
    describe_origin(triples, iris, observation)
    for summary in observation.summaries:
        _summarise(triples, iris, observation, node, summary)
    for figure in observation.derived:
        _derive(triples, iris, (observation.id,), node, figure)
    if observation.spec.pop:
        recorded = observation.run.pop
        analysis = analyse(recorded) if recorded else not_recorded()
        describe_analysis(triples, iris, observation.id, node, analysis)
    if observation.spec.hot_loops:
        loops = analyse_loops(observation.run.hot_loops)
        describe_loops(triples, iris, observation.id, node, loops)
    if observation.spec.profile:
        kinds = [*ProfileKind] if observation.spec.off_cpu else [ProfileKind.ON_CPU]
        for kind in kinds:
            profile = profile_of(observation.run.profile, kind)
            describe_profile(triples, iris, observation.id, node, profile)
    if observation.regions:
        describe_regions(triples, iris, observation, node, _derive)
    return triples


def dashboard_address(iris: Iris, host: str, span: Span) -> Literal:
    """Return the address of a host's monitor dashboard for the time of a run.

    The start is rounded down and the end up to whole seconds, the resolution of the
    address.
    """
    first, last = math.floor(span.start_ms / 1000), math.ceil(span.end_ms / 1000)
    parameters = {"host": host, "from": _time(first), "to": _time(max(last, first + 1))}
    address = f"{iris.base.rstrip('/')}/dashboards/monitor?{urlencode(parameters)}"
    return Literal(address, datatype=XSD.anyURI)


def _time(seconds: int) -> str:
    return at(1000 * seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def _request_properties(observation: Observation, iris: Iris) -> Properties:
    spec = observation.spec
    threads = [iris.component(spec.host, "thread", str(cpu)) for cpu in spec.cpus]
    return {
        ST.ofHost: iris.host(spec.host),
        ST.ranOn: spec.host,
        ST.command: spec.command,
        ST.argumentVector: spec.vector,
        ST.workingDirectory: spec.cwd,
        ST.observationTag: spec.tags,
        ST.involvesThread: threads,
        ST.threadCount: len(threads) or None,
        ST.pinningPolicy: spec.policy,
        ST.observationPeriod: Literal(Decimal(spec.period_ms) / 1000),
        ST.runGroup: spec.group,
        ST.repetition: spec.repetition if spec.group else None,
        ST.requestedRuns: spec.repeat if spec.group else None,
        ST.passNumber: spec.pass_number or None,
        ST.requestedPasses: len(spec.passes) or None,
        ST.mayShareCounters: spec.multiplex or None,
        ST.requestedMetric: spec.metrics,
        ST.requestedRole: map(iris.role, spec.roles),
        ST.requestedEvent: spec.events,
        ST.addedVariable: spec.variables,
        ST.timeLimit: rounded(spec.timeout, 6),
    }


def _observed(metrics: Mapping[str, str]) -> Properties:
    """List all metrics, and separately those of the hardware and of the software."""
    hardware = [n for n in metrics if n.startswith(_HARDWARE)]
    software = [n for n in metrics if not n.startswith(_HARDWARE)]
    return {
        ST.observes: map(URIRef, metrics.values()),
        ST.observesHardware: [URIRef(metrics[name]) for name in hardware],
        ST.observesSoftware: [URIRef(metrics[name]) for name in software],
    }


def _agreement(observation: Observation) -> Properties:
    """Return how far the passes of a round differ, which its last pass records."""
    found = observation.agreement
    if found is None:
        return {}
    return {
        ST.durationSpread: rounded(found.duration, 6),
        ST.cpuTimeSpread: rounded(found.cpu_time, 6),
        ST.eventSpread: rounded(found.event, 6),
        ST.commonEvent: observation.spec.common or None,
    }


def _ran(run: Run) -> Properties:
    ended = run.ended or {}
    return {
        PROV.startedAtTime: time_literal(run.span.start_ms),
        PROV.endedAtTime: time_literal(run.span.end_ms),
        ST.duration: rounded(run.span.seconds, 6),
        ST.outcome: run.outcome,
        ST.exitStatus: ended.get("exit"),
        ST.endSignal: ended.get("signal"),
        ST.leftBehind: [one["name"] for one in ended.get("left_behind", [])],
        ST.outputSize: _printed(ended.get("output")),
        **_used(ended.get("rusage")),
    }


def _used(usage: Mapping[str, Any] | None) -> Properties:
    if usage is None:
        return {}
    return {
        **{term: rounded(usage[key], 6) for term, key in _SECONDS.items()},
        **{term: int(usage[key]) for term, key in _USED.items()},
        ST.peakResidentSize: _bytes(usage["max_rss_kib"]),
        ST.peakResidentSizeBound: _bytes(usage.get("max_rss_bound_kib")),
    }


def _bytes(kib: int | None) -> int | None:
    return None if kib is None else kib * 1024


def _printed(output: Mapping[str, Any] | None) -> int | None:
    return sum(stream["bytes"] for stream in output.values()) if output else None


def _about(about: Mapping[str, Any]) -> Properties:
    program = about.get("program") or {}
    settings = {**about["system"]}
    return {
        ST.kernelRelease: settings.pop("kernel", None),
        ST.kernelSetting: [*_pairs(settings), *about["kernel_arguments"]],
        ST.cpuGovernor: about["governors"],
        ST.programPath: program.get("path"),
        ST.programDigest: program.get("sha256"),
        ST.buildId: program.get("build_id"),
        ST.compiledBy: program.get("compilers", []),
        ST.linkedLibrary: program.get("libraries", []),
        ST.environmentVariable: _pairs(about["environment"]),
    }


def _pairs(values: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]


def _summarise(
    triples: Triples,
    iris: Iris,
    observation: Observation,
    node: URIRef,
    summary: Summary,
) -> None:
    instance = "~" if summary.instance is None else summary.instance
    part = iris.observation_part(observation.id, "summary", summary.metric, instance)
    host, figures = observation.spec.host, summary.figures
    triples.link(node, {ST.hasSummary: part})
    triples.node(
        part,
        ST.SeriesSummary,
        {
            ST.summarises: iris.telemetry(host, summary.metric, summary.instance),
            ST.ofMetric: URIRef(summary.metric_iri),
            ST.instname: summary.instance,
            ST.sampleCount: figures.samples,
            ST.sourceResolution: rounded(summary.resolution),
            ST.boundedRates: figures.bounded or None,
            ST.dutyCycle: rounded(summary.dutycycle, 6),
            **{term: rounded(getattr(figures, k)) for term, k in _FIGURES.items()},
        },
    )


def _derive(
    triples: Triples,
    iris: Iris,
    path: tuple[str, ...],
    node: URIRef,
    figure: DerivedFigure,
) -> None:
    """Add a figure of a run or a region; ``path`` is that of its node."""
    part = iris.observation_part(*path, "figure", figure.name)
    triples.link(node, {ST.hasFigure: part})
    about: Properties = {
        ST.figureName: figure.name,
        ST.fromRole: map(iris.role, figure.roles),
        QUDT.hasUnit: URIRef(figure.unit) if figure.unit else None,
        ST.absentReason: figure.reason,
        ST.countedInPass: figure.passes,
        ST.countedEvent: figure.events if figure.passes else (),
        ST.passSpread: rounded(figure.spread, 6),
    }
    if not figure.reason:
        about[ST.figureValue] = rounded(figure.value)
        about[ST.coveredTime] = rounded(figure.covered, 6)
        about[ST.dutyCycle] = rounded(figure.dutycycle, 6)
    triples.node(part, ST.DerivedFigure, about)
