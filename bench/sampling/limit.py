"""The limit of PCP itself: a loop of bare pmFetch that decodes and keeps nothing."""

import ctypes
import time
from collections.abc import Sequence

import numpy as np

from core.linux.pmapi import Context, pmid_array
from sampling.sources.pcp_decode import decode


def fetches_a_second(address: str, metrics: Sequence[str], seconds: float) -> float:
    """How often a second all values of these metrics can be fetched, one by one."""
    with Context(address) as context:
        wanted = _pmids(context, metrics)
        context.fetch(wanted)  # the first fetch opens files
        number, began = 0, time.monotonic()
        while (took := time.monotonic() - began) < seconds:
            context.fetch(wanted)
            number += 1
    return number / took


def never_zero(address: str, metrics: Sequence[str], pids: Sequence[int]) -> list[str]:
    """The metrics that have a value above zero for every one of these processes.

    They only grow, or stay above zero for as long as a process sleeps.
    """
    with Context(address) as context:
        descs = [context.describe(name) for name in metrics]
        wide = np.array([desc.type in (2, 3) for desc in descs])
        result = context.fetch(_pmids(context, metrics))
        raw = decode(result.address, wide)
    counts = np.maximum(raw.counts, 0)
    ends = np.cumsum(counts)
    sound = []
    for name, end, count in zip(metrics, ends, counts, strict=True):
        there = slice(end - count, end)
        above = raw.instances[there][raw.bits[there] > 0]
        if np.isin(pids, above).all():
            sound.append(name)
    return sound


def _pmids(context: Context, metrics: Sequence[str]) -> "ctypes.Array[ctypes.c_uint]":
    return pmid_array([context.identifier(name) for name in metrics])
