"""The hot loops of a run as triples."""

from collections.abc import Mapping

from rdflib import URIRef

from ingest.triples import Triples, Value, rounded
from observations.hot_loops.analysis import Bounds, HotFunction, HotLoop, LoopAnalysis
from ontology.iris import Iris
from ontology.terms import ST

_PART = "loops"

Properties = Mapping[URIRef, Value | list[str]]


def describe_loops(
    triples: Triples, iris: Iris, id_: str, node: URIRef, analysis: LoopAnalysis
) -> None:
    """Add the hot functions and loops of an observation."""
    part = iris.observation_part(id_, _PART)
    triples.link(node, {ST.hasLoopAnalysis: part})
    triples.node(part, ST.LoopAnalysis, _about(analysis))
    functions: dict[HotFunction, URIRef] = {}
    for number, function in enumerate(analysis.functions):
        one = iris.observation_part(id_, _PART, "function", str(number))
        functions[function] = one
        triples.link(part, {ST.hasHotFunction: one})
        triples.node(one, ST.HotFunction, _function(function))
    for number, loop in enumerate(analysis.loops):
        one = iris.observation_part(id_, _PART, "loop", str(number))
        triples.link(part, {ST.hasHotLoop: one})
        inside: Properties = {ST.inHotFunction: functions[loop.function]}
        triples.node(one, ST.HotLoop, {**_loop(loop), **inside})
        if loop.bounds:
            triples.link(one, _bounds(loop.bounds))
            _describe_ports(triples, iris, (id_, _PART, "loop", str(number)), one, loop)


def _about(analysis: LoopAnalysis) -> Properties:
    return {
        ST.sampledEvent: analysis.sampler or None,
        ST.samplesPerSecond: analysis.rate or None,
        ST.codeSamples: analysis.samples or None,
        ST.analysedBy: analysis.analyser or None,
        ST.analysedFor: analysis.cpu or None,
        ST.missingLoopFact: analysis.reason or None,
        ST.loopNote: analysis.note or None,
    }


def _function(one: HotFunction) -> Properties:
    return {
        ST.functionName: one.name or None,
        ST.binaryPath: one.binary,
        ST.binaryBuildId: one.build_id or None,
        ST.startAddress: one.start if one.end else None,
        ST.endAddress: one.end or None,
        ST.codeSamples: one.samples,
        ST.sampleShare: rounded(one.share),
        ST.missingLoopFact: one.reason or None,
    }


def _loop(one: HotLoop) -> Properties:
    file, first, last = one.source or (None, None, None)
    lines = [f"{n:8} {at:10x}: {text}" for n, at, text in one.listing]
    return {
        ST.startAddress: one.start,
        ST.endAddress: one.end,
        ST.codeSamples: one.samples,
        ST.sampleShare: rounded(one.share),
        ST.sourceFile: file,
        ST.firstSourceLine: first,
        ST.lastSourceLine: last,
        ST.loopInstructions: len(one.listing),
        ST.loopListing: "\n".join(lines),
        ST.loopNote: list(one.notes),
        ST.missingLoopFact: one.reason or None,
    }


def _bounds(one: Bounds) -> Mapping[URIRef, Value]:
    chains = one.chains and {
        ST.criticalPathCycles: rounded(one.chains.critical_path),
        ST.chainCycles: rounded(one.chains.carried),
    }
    return {
        ST.sequentialCycles: rounded(one.sequential),
        ST.predictedCycles: rounded(one.scheduled),
        ST.perfectCycles: rounded(one.perfect),
        ST.microOperations: rounded(one.micro_operations),
        ST.dispatchWidth: one.dispatch_width,
        ST.boundBy: one.limit,
        **(chains or {}),
    }


def _describe_ports(
    triples: Triples, iris: Iris, path: tuple[str, ...], node: URIRef, loop: HotLoop
) -> None:
    for name, cycles in loop.bounds.ports.items() if loop.bounds else ():
        one = iris.observation_part(*path, "port", name)
        triples.link(node, {ST.hasPortPressure: one})
        about: Properties = {ST.portName: name, ST.portCycles: rounded(cycles)}
        triples.node(one, ST.PortPressure, about)
