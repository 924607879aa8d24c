"""The profiles of a run as triples: their hot parts, with shares."""

from collections.abc import Callable, Mapping
from functools import partial

from rdflib import URIRef

from ingest.triples import Triples, Value, rounded
from observations.profiles.profile import (
    HOT_SHARE,
    Profile,
    ProfiledFunction,
    ProfileKind,
    Share,
)
from ontology.iris import Iris
from ontology.terms import ST

_PARTS = {ProfileKind.ON_CPU: "profile", ProfileKind.OFF_CPU: "off-cpu-profile"}
# Calls below these are left out: a deep recursion has as many as its depth.
_MOST_CALLS = 2_000

Properties = Mapping[URIRef, Value]
Functions = dict[ProfiledFunction, URIRef]


def describe_profile(
    triples: Triples, iris: Iris, id_: str, node: URIRef, profile: Profile
) -> None:
    """Add the files, functions and calls with at least 1 % of the samples or time."""
    named = partial(iris.observation_part, id_, _PARTS[profile.kind])
    part = named()
    triples.link(node, {ST.hasProfile: part})
    triples.node(part, ST.Profile, _about(profile))
    if profile.reason:
        return
    for number, ((path, build_id), share) in enumerate(profile.binaries().items()):
        if share.total >= HOT_SHARE:
            one = named("binary", str(number))
            triples.link(part, {ST.hasProfiledBinary: one})
            about = {ST.binaryPath: path, ST.binaryBuildId: build_id or None}
            triples.node(one, ST.ProfiledBinary, {**about, **_shares(share)})
    functions = _describe_functions(triples, named, profile)
    _describe_calls(triples, named, functions, profile)


def _about(profile: Profile) -> Properties:
    return {
        ST.profileKind: profile.kind,
        ST.sampledEvent: profile.sampler or None,
        ST.samplesPerSecond: profile.rate or None,
        ST.codeSamples: profile.samples or None,
        ST.waitCount: profile.waits or None,
        ST.waitingTime: rounded(profile.waited_ns / 1e9 or None),
        ST.lostSamples: None if profile.reason else profile.lost,
        ST.missingProfile: profile.reason or None,
        ST.profileNote: profile.note or None,
    }


def _shares(share: Share) -> Properties:
    return {ST.sampleShare: rounded(share.total), ST.ownShare: rounded(share.own)}


def _describe_functions(
    triples: Triples, named: Callable[..., URIRef], profile: Profile
) -> Functions:
    found: Functions = {}
    for number, (function, share) in enumerate(profile.functions().items()):
        if share.total >= HOT_SHARE:
            one = named("function", str(number))
            found[function] = one
            triples.link(named(), {ST.hasProfiledFunction: one})
            about: Properties = {
                ST.functionName: function.name,
                ST.binaryPath: function.binary,
                ST.binaryBuildId: function.build_id or None,
                ST.sourceFile: function.source or None,
                ST.firstSourceLine: function.line or None,
            }
            triples.node(one, ST.ProfiledFunction, {**about, **_shares(share)})
    return found


def _describe_calls(
    triples: Triples,
    named: Callable[..., URIRef],
    functions: Functions,
    profile: Profile,
) -> None:
    names: dict[tuple[int, ...], URIRef] = {(): named()}
    for path, call in profile.tree.walk(HOT_SHARE * profile.weight):
        if len(names) > _MOST_CALLS:
            return
        if path[:-1] not in names or not call.function:
            continue
        number = "-".join(map(str, path))
        one = named("call", number)
        names[path] = one
        triples.link(names[path[:-1]], {ST.hasProfiledCall: one})
        share = Share(call.samples / profile.weight, call.own / profile.weight)
        inside: Properties = {ST.callOf: functions[call.function]}
        triples.node(one, ST.ProfiledCall, {**inside, **_shares(share)})
