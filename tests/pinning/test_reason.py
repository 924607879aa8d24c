"""The sentences of a reason, one for each rule."""

from dataclasses import replace

import pytest

from pinning.choose import choose
from pinning.placement import PolicyFacts
from pinning.policy import read_policy
from pinning.tree import Tree

KNOWN = PolicyFacts(
    near={("gpu", "gpu0"): [8, 9, 24, 25]},
    cores={"p": range(8), "e": range(8, 16)},
    load=dict.fromkeys(range(32), 0.5),
)


@pytest.mark.parametrize(
    ("text", "count", "message"),
    [
        ("compact", 1, "1 thread on m0: CPU 0."),
        ("compact", 2, "Taken in the order of the topology tree: SMT siblings, then"),
        ("scatter", 2, "Taken spread over the topology tree in proportion to its"),
        ("idle", 2, "Taken the idlest cores first, by live load"),
        ("share:l3", 2, "All share the L3 cache of CPUs 0-1,16-17, the first with"),
        ("share:numa:of=5", 2, "All share NUMA domain 1, that of CPU 5."),
        ("per:socket=2+share:l3", 4, "2 on each of 2 sockets. Those of each share an "),
        ("per:numa=3", 3, "3 on each of 1 NUMA domain."),
        ("near:gpu=gpu0", 2, "Nearest to gpu gpu0 are CPUs 8-9,24-25."),
        ("exclude:3,1-2", 2, "CPUs 1-3 are excluded."),
        ("cores:e", 2, "Only efficiency cores."),
        ("likwid:S1:0", None, "They are what likwid-pin means by S1:0."),
    ],
)
def test_each_rule_has_a_sentence(
    tree: Tree, text: str, count: int | None, message: str
) -> None:
    reason = choose(tree, read_policy(text), count, KNOWN).reason
    assert message in reason.replace(tree.host, "m0")


@pytest.mark.parametrize("text", ["near:gpu=gpu0", "near:nic0", "share:socket"])
def test_word_that_restricts_nothing_is_warned_of(tree: Tree, text: str) -> None:
    all_near = {("gpu", "gpu0"): range(32), ("", "nic0"): range(32)}
    known = replace(KNOWN, near=all_near)
    policy = read_policy(text)
    socket = replace(tree, allowed=frozenset(range(8)))
    warning = f"Warning: {text} restricts nothing, since it means all CPUs of "
    assert warning in choose(socket, policy, 2, known).reason
    if policy.share:
        assert "Warning" not in choose(tree, policy, 2, known).reason


def test_word_that_restricts_is_not_warned_of(tree: Tree) -> None:
    assert "Warning" not in choose(tree, read_policy("near:gpu=gpu0"), 2, KNOWN).reason
