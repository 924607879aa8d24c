"""PMUs and events of this machine, as libpfm4 has them."""

import json
import re

import pytest

from ingest.errors import SourceMissingError
from ingest.pfm import read_pfm


def test_this_machine() -> None:
    pmus = {pmu["name"]: pmu for pmu in read_pfm()["pmus"]}
    # The kernel's own is present everywhere.
    generic = pmus["perf"]
    assert generic["type"] == "os"
    events = {event["name"]: event for event in generic["events"]}
    assert events["PERF_COUNT_HW_CPU_CYCLES"]["code"] == "0x0"
    assert events["PERF_COUNT_HW_INSTRUCTIONS"]["code"] == "0x1"
    assert {m["name"] for m in events["PERF_COUNT_HW_CACHE_L1D"]["umasks"]} >= {"READ"}


def test_names_and_codes_are_whole() -> None:
    pmus = read_pfm()["pmus"]
    assert json.loads(json.dumps(pmus)) == pmus
    for pmu in pmus:
        names = [event["name"] for event in pmu["events"]]
        assert len(names) == len(set(names))
        assert pmu["description"]
        for event in pmu["events"]:
            for named in (event, *event["umasks"]):
                assert named["name"]
                assert re.fullmatch("0x[0-9a-f]+", named["code"])


def test_a_second_reading_is_the_same() -> None:
    assert read_pfm() == read_pfm()


def test_no_library() -> None:
    with pytest.raises(SourceMissingError) as caught:
        read_pfm("libpfm-that-is-not-there.so")
    assert str(caught.value).endswith("is not installed: apt-get install libpfm4")
