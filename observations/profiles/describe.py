"""The profile of a run as triples: its binaries, functions and hot calls."""

from collections.abc import Collection

from rdflib import URIRef

from ingest.triples import Triples, rounded
from observations.profiles.profile import Profile
from ontology.iris import Iris
from ontology.terms import ST

_PART = "profile"
# The graph has functions and calls with at least this share of the samples.
_LEAST_SHARE, _MOST_CALLS, _MOST_FUNCTIONS = 0.01, 500, 200


def describe_profile(
    triples: Triples, iris: Iris, id_: str, node: URIRef, profile: Profile
) -> None:
    """Add the binaries of a profile, and the hot part of its functions and calls."""
    part = iris.observation_part(id_, _PART)
    triples.link(node, {ST.hasStackProfile: part})
    triples.node(
        part,
        ST.StackProfile,
        {
            ST.profiledEvent: profile.sampler or None,
            ST.stacksPerSecond: profile.rate or None,
            ST.stackSamples: profile.samples or None,
            ST.lostStacks: profile.lost if profile.samples else None,
            ST.profileNote: list(profile.notes),
            ST.missingProfileFact: profile.reason or None,
        },
    )
    if profile.samples:
        binaries = _describe_binaries(triples, iris, id_, part, profile)
        functions = _describe_functions(triples, iris, id_, part, profile, binaries)
        _describe_calls(triples, iris, id_, part, profile, functions)


def _describe_binaries(
    triples: Triples, iris: Iris, id_: str, part: URIRef, profile: Profile
) -> list[URIRef]:
    nodes = []
    counts = zip(profile.binary_samples(), profile.binary_totals(), strict=True)
    for number, (own, total) in enumerate(counts):
        one, about = (
            iris.observation_part(id_, _PART, "binary", str(number)),
            profile.binaries[number],
        )
        nodes.append(one)
        triples.link(part, {ST.hasProfiledBinary: one})
        triples.node(
            one,
            ST.ProfiledBinary,
            {
                ST.profiledPath: about.path,
                ST.profiledBuildId: about.build_id or None,
                ST.ownShare: rounded(own / profile.samples),
                ST.totalShare: rounded(total / profile.samples),
                ST.missingProfileFact: about.reason or None,
            },
        )
    return nodes


def _describe_functions(
    triples: Triples,
    iris: Iris,
    id_: str,
    part: URIRef,
    profile: Profile,
    binaries: list[URIRef],
) -> dict[int, URIRef]:
    own, total, nodes = profile.own_samples(), profile.total_samples(), {}
    lines = _hottest_lines(profile)
    for at in _hot(total, profile.samples, _MOST_FUNCTIONS):
        function = profile.functions[at]
        nodes[at] = one = iris.observation_part(id_, _PART, "function", str(at))
        triples.link(part, {ST.hasProfiledFunction: one})
        triples.node(
            one,
            ST.ProfiledFunction,
            {
                ST.profiledName: profile.title(at),
                ST.inProfiledBinary: binaries[function.binary],
                ST.profiledFile: function.file or None,
                ST.hottestLine: lines.get(at),
                ST.ownShare: rounded(own[at] / profile.samples),
                ST.totalShare: rounded(total[at] / profile.samples),
            },
        )
    return nodes


def _describe_calls(
    triples: Triples,
    iris: Iris,
    id_: str,
    part: URIRef,
    profile: Profile,
    functions: dict[int, URIRef],
) -> None:
    """Add the calls with a large share; the callers of each are among them."""
    hot = _hot(profile.totals, profile.samples, _MOST_CALLS)
    for at in sorted(one for one in hot if profile.nodes[one].function in functions):
        call = profile.nodes[at]
        one = iris.observation_part(id_, _PART, "call", str(at))
        caller = iris.observation_part(id_, _PART, "call", str(call.caller))
        triples.link(part, {ST.hasCallNode: one})
        triples.node(
            one,
            ST.CallNode,
            {
                ST.callsFunction: functions[call.function],
                ST.calledFrom: caller if call.caller >= 0 else None,
                ST.callLine: call.line or None,
                ST.ownShare: rounded(call.samples / profile.samples),
                ST.totalShare: rounded(profile.totals[at] / profile.samples),
            },
        )


def _hot(counts: list[int], samples: int, most: int) -> Collection[int]:
    """Return the positions of the largest counts; of equal ones the first."""
    hot = [at for at, count in enumerate(counts) if count >= _LEAST_SHARE * samples]
    return sorted(hot, key=lambda at: (-counts[at], at))[:most]


def _hottest_lines(profile: Profile) -> dict[int, int]:
    """Return the line of each function with most of its own samples, if known."""
    counts: dict[tuple[int, int], int] = {}
    for node in profile.nodes:
        key = (node.function, node.line)
        counts[key] = counts.get(key, 0) + node.samples
    found: dict[int, int] = {}
    for (function, line), _ in sorted(counts.items(), key=lambda one: (one[1], one[0])):
        if line:
            found[function] = line
    return found
