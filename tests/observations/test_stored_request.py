"""Stored requests that are refused, wherever they are read."""

import json

import pytest

from observations.environment import is_secret
from observations.record import RunRequest, RunSpec
from observations.stored_request import without_values
from tests.bad_requests import BAD_REQUESTS


@pytest.mark.parametrize("text", BAD_REQUESTS, ids=lambda text: repr(text[:40]))
def test_invalid_request_is_refused_in_one_line(text: bytes) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        without_values(text, is_secret)
    assert "\n" not in str(refused.value)


def test_unknown_members_are_dropped() -> None:
    request = b'{"argv": ["true"], "timeout": null, "more": [1]}'
    found = without_values(request, is_secret)
    assert found == {"argv": ["true"], "timeout": None}


def test_recorder_is_kept() -> None:
    request = RunRequest(RunSpec("n1", ("true",), pop=True)).request()
    found = without_values(json.dumps(request).encode(), is_secret)
    assert found["pop"] == request["pop"]
    assert {*found["pop"]["sources"]} == {"ompt", "recorder"}
    assert "pop" not in RunRequest(RunSpec("n1", ("true",))).request()
    spec = RunSpec("n1", ("true",), regions=True)
    event = {"name": "msr::tsc", "device": "msr", "event": "tsc"}
    request = RunRequest(spec).request([event])
    assert without_values(json.dumps(request).encode(), is_secret) == request
    event["device"] = "../msr"
    text = json.dumps(RunRequest(spec).request([event])).encode()
    with pytest.raises(ValueError, match="regions.events"):
        without_values(text, is_secret)
    for pop in ({}, {"sources": {"../x": ""}}, {"sources": {"x": 1}}):
        text = json.dumps({"argv": ["true"], "pop": pop}).encode()
        with pytest.raises(ValueError, match="pop.sources"):
            without_values(text, is_secret)
