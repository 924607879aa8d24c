"""PMUs and events from libpfm4: this machine's, and every model it knows."""

import ctypes
import json
import os
import re

import pytest

from ingest.errors import PmuError, SourceMissingError
from ingest.pmu.pfm import list_models, read_events, read_models, read_pfm
from ingest.pmu.pfm_library import UMASK, opened


def test_pmus_of_this_machine_are_read() -> None:
    pmus = {pmu["name"]: pmu for pmu in read_pfm()["pmus"]}
    # The kernel's generic PMU is present everywhere.
    generic = pmus["perf"]
    assert generic["type"] == "os"
    events = {event["name"]: event for event in generic["events"]}
    assert events["PERF_COUNT_HW_CPU_CYCLES"]["code"] == "0x0"
    assert events["PERF_COUNT_HW_INSTRUCTIONS"]["code"] == "0x1"
    assert {m["name"] for m in events["PERF_COUNT_HW_CACHE_L1D"]["umasks"]} >= {"READ"}


def test_names_and_codes_are_complete() -> None:
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


def test_repeated_reads_agree() -> None:
    assert read_pfm() == read_pfm()


def test_missing_library_is_reported() -> None:
    with pytest.raises(SourceMissingError) as caught:
        read_pfm("libpfm-that-is-not-there.so")
    assert str(caught.value).endswith("is not installed: apt-get install libpfm4")


def test_every_event_of_every_model_is_read() -> None:
    """The count comes from libpfm4's own iteration, not from ours."""
    models = list_models()
    read = {m["name"]: m for m in read_models([m["name"] for m in models])}
    assert len(read) == len(models) > 300
    with opened(inactive=True) as pfm:
        for info in pfm.pmus():
            model = read[info.name.decode()]
            assert len(model["events"]) == info.nevents == model["event_count"]
            masks = sum(
                attribute.type == UMASK
                for index, event in pfm.events(info)
                for attribute in pfm.attributes(index, event)
            )
            assert sum(len(e["umasks"]) for e in model["events"]) == masks


def test_encodings_match_the_vendor() -> None:
    # Intel: event select C0, umask 0; enable, interrupt, user and kernel bits in front.
    (model,) = read_models(["skx"])
    events = {event["name"]: event for event in model["events"]}
    masks = {m["name"]: m for m in events["INST_RETIRED"]["umasks"]}
    assert masks["ANY_P"]["encoding"] == ["0x5300c0"]
    fp = {m["name"]: m["encoding"] for m in events["FP_ARITH_INST_RETIRED"]["umasks"]}
    assert fp["512B_PACKED_DOUBLE"] == ["0x5340c7"]
    # An off-core event uses a second register.
    offcore = {m["name"]: m for m in events["OFFCORE_RESPONSE_0"]["umasks"]}
    assert len(offcore["ANY_DATA"]["encoding"]) == 2
    assert model["modifiers"]["u"]


def test_flags_and_registers_match_the_header() -> None:
    """A C program prints the values of libpfm4's header."""
    (model,) = read_models(["skx"])
    assert model["max_encoding"] == 2
    events = {event["name"]: event for event in model["events"]}
    loads = {m["name"]: m["flags"] for m in events["MEM_INST_RETIRED"]["umasks"]}
    assert loads["ALL_LOADS"] == ["precise"]
    fp = events["FP_ARITH_INST_RETIRED"]["umasks"]
    assert not any("precise" in mask["flags"] for mask in fp)
    retired = {m["name"]: m["flags"] for m in events["INST_RETIRED"]["umasks"]}
    assert retired["ANY_P"] == ["default"]
    (newer,) = read_models(["spr"])
    listed = {f for e in newer["events"] for m in e["umasks"] for f in m["flags"]}
    assert listed == {"default", "precise", "speculative", "non-speculative"}


def test_most_unit_masks_encode_alone() -> None:
    """The others need a second unit mask, such as a filter on a node."""
    models = read_models([m["name"] for m in list_models() if m["type"] == "core"])
    for model in models:
        entries = [m for e in model["events"] for m in e["umasks"]]
        assert all(mask["encoding"] for mask in entries), model["name"]


def test_joined_unit_masks_are_one_event() -> None:
    name = "LS_DISPATCH:LD_DISPATCH:LD_ST_DISPATCH"
    asked = {"amd64_fam19h_zen4": [name, "NOTHING"], "no_such_pmu": ["X"]}
    assert read_events(asked) == {
        "amd64_fam19h_zen4": [{"name": name, "encoding": ["0x530529"]}]
    }


def test_unknown_model_suggests_similar_ones() -> None:
    with pytest.raises(PmuError, match=r"no PMU 'skq': did you mean .*skx"):
        read_models(["skq"])


def test_encoding_absent_models_does_not_affect_the_process() -> None:
    """The environment and the shared library stay unchanged."""
    before = dict(os.environ)
    read_models(["skx"])
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    assert getenv(b"LIBPFM_ENCODE_INACTIVE") is None
    assert dict(os.environ) == before
    with opened() as pfm:
        present = {m.name.decode() for m in pfm.pmus() if m.is_present}
        absent = "skx" if "skx" not in present else "amd64_fam19h_zen4"
        event = "INST_RETIRED:ANY_P" if absent == "skx" else "RETIRED_INSTRUCTIONS"
        assert pfm.encoding(f"{absent}::{event}") == []


class PerfArgument(ctypes.Structure):
    """``pfm_perf_encode_arg_t``."""

    _fields_ = (
        ("attr", ctypes.c_void_p),
        ("fstr", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("idx", ctypes.c_int),
        ("cpu", ctypes.c_int),
        ("flags", ctypes.c_int),
    )


@pytest.mark.parametrize(
    "name",
    ["skl", "skx", "ivb_ep", "icl", "icx", "spr", "amd64_fam17h_zen2",
     "amd64_fam19h_zen3", "amd64_fam19h_zen4"],
)  # fmt: skip
def test_encodings_equal_what_perf_programs(name: str) -> None:
    """libpfm4's other call fills the kernel's structure, without perf's own bits."""
    (model,) = read_models([name])
    compared = 0
    with opened(inactive=True) as pfm:
        ask = pfm._pfm.pfm_get_os_event_encoding
        for event in model["events"]:
            for full, entry in [
                (event["name"], event),
                *((f"{event['name']}:{m['name']}", m) for m in event["umasks"]),
            ]:
                attributes = (ctypes.c_uint64 * 64)()  # perf_event_attr
                argument = PerfArgument(
                    ctypes.addressof(attributes), size=ctypes.sizeof(PerfArgument)
                )
                status = ask(f"{name}::{full}".encode(), 0x9, 1, ctypes.byref(argument))
                assert (status == 0) == bool(entry["encoding"]), full
                if status == 0:
                    code = int(entry["encoding"][0], 0)
                    # perf itself sets user, kernel, interrupt and enable.
                    assert attributes[1] == code & ~0x530000, full
                    compared += 1
    assert compared > 100
