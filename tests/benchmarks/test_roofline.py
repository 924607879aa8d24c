"""The roofline model from rows of the saved queries, and its drawing."""

from typing import Any

import pytest
from defusedxml.ElementTree import fromstring

from benchmarks.drawing import svg
from benchmarks.errors import NoBenchmarkError
from benchmarks.roofline import Roofline, document, roofline

UNIT = "http://qudt.org/vocab/unit/"


def row(kernel: str, best: float, unit: str, **more: Any) -> dict[str, Any]:
    return {
        **{"threads": 2, "policy": "compact-cores", "at": "2026-11-01", "isa": "avx"},
        **{"precision": None, "level": None, "size": None, "value": 0.9 * best},
        **{"theory": None},
        **{"kernel": kernel, "best": best, "unit": UNIT + unit, "result": "urn:r"},
        **more,
    }


ROOFS = [
    row("clock", 3e9, "HZ"),
    row("load", 4e11, "BYTE-PER-SEC", level="L1"),
    row("2-loads-1-store", 5e11, "BYTE-PER-SEC", level="L1"),
    row("load", 1e11, "BYTE-PER-SEC", level="L2"),
    row("load", 2e10, "BYTE-PER-SEC", level="DRAM"),
    row("streaming-store", 3e10, "BYTE-PER-SEC", level="DRAM"),
    row("add", 5e10, "FLOPS", precision="double"),
    row("fma", 1e11, "FLOPS", precision="double"),
    row("fma", 2e11, "FLOPS", precision="single"),
]


def point(name: str, intensity: float, rate: float, threads: int = 2) -> dict[str, Any]:
    return {
        **{"name": name, "kind": "run", "threads": threads},
        **{"intensity": intensity, "rate": rate, "run": f"urn:{name}"},
    }


POINTS = [
    point("triad", 1 / 12, 1e9),
    point("dgemm", 50.0, 8e10),
    point("serial", 1.0, 1e9, threads=1),
]


@pytest.fixture
def model() -> Roofline:
    return roofline("n1", ROOFS, POINTS, None, "double")


def test_roofs_are_the_best_kernels_of_each_level(model: Roofline) -> None:
    found = [(roof.level, roof.bandwidth, roof.kernel) for roof in model.roofs]
    assert found == [
        ("L1", 5e11, "avx 2-loads-1-store"),
        ("L2", 1e11, "avx load"),
        ("DRAM", 2e10, "avx load"),
    ]
    assert model.ridge(model.memory) == pytest.approx(5.0)


def test_peaks_are_those_of_one_precision(model: Roofline) -> None:
    assert [peak.name for peak in model.peaks] == ["avx double fma", "avx double add"]
    single = roofline("n1", ROOFS, [], None, "single")
    assert [peak.rate for peak in single.peaks] == [2e11]


def test_points_are_compared_with_what_limits_them(model: Roofline) -> None:
    triad, dgemm = model.points
    assert (triad.name, triad.roof) == ("triad", "DRAM")
    assert triad.share == pytest.approx(0.6)
    assert (dgemm.name, dgemm.roof) == ("dgemm", "avx double fma")
    assert dgemm.share == pytest.approx(0.8)


def test_newest_thread_set_is_used_if_two_have_one_size() -> None:
    older = [
        one | {"policy": "compact", "at": "2026-10-01", "best": 1} for one in ROOFS
    ]
    model = roofline("n1", [*older, *ROOFS], [], 2, "double")
    assert (model.policy, model.peaks[0].rate) == ("compact-cores", 1e11)


@pytest.mark.parametrize(
    ("rows", "threads", "says"),
    [
        ([], None, "supertwin bench quick"),
        (ROOFS, 8, "measured on 2 threads, not on 8"),
        (ROOFS[:6], None, "no roofs of n1"),
    ],
)
def test_host_without_results_is_named(
    rows: list[dict[str, Any]], threads: int | None, says: str
) -> None:
    with pytest.raises(NoBenchmarkError, match=says) as caught:
        roofline("n1", rows, [], threads, "double")
    assert caught.value.code == "no-benchmark"


def test_document_has_rates_and_ridges(model: Roofline) -> None:
    found = document(model)
    assert found["roofs"][-1]["ridge"] == pytest.approx(5.0)
    assert found["peaks"][0]["name"] == "avx double fma"
    assert found["points"][0]["share"] == pytest.approx(0.6)


def test_drawing_has_a_line_for_each_roof_and_peak(model: Roofline) -> None:
    root = fromstring(svg(model))
    lines = [one.get("class") for one in root.iter("{http://www.w3.org/2000/svg}line")]
    assert (lines.count("roof"), lines.count("peak")) == (3, 2)
    circles = [*root.iter("{http://www.w3.org/2000/svg}circle")]
    assert len(circles) == 2
    for circle in circles:
        assert 0 < float(circle.get("cx", 0)) < 860
        assert 0 < float(circle.get("cy", 0)) < 540


def test_theory_is_a_dashed_line() -> None:
    rows = [*ROOFS, row("fma", 9e10, "FLOPS", precision="double", theory=1.5e11)]
    model = roofline("n1", rows, [], None, "double")
    assert document(model)["peaks"][1]["theory"] == 1.5e11
    assert 'class="theory"' in svg(model)
    assert 'class="theory"' not in svg(roofline("n1", ROOFS, [], None, "double"))


def test_names_in_the_drawing_are_escaped() -> None:
    points = [point("<script>alert('&')</script>", 1.0, 1e9)]
    text = svg(roofline("n1", ROOFS, points, None, "double"))
    assert "<script>" not in text
    fromstring(text)


def test_names_of_equal_peaks_do_not_overlap() -> None:
    twin = row("fma", 0.999e11, "FLOPS", precision="double", isa="sse")
    text = svg(roofline("n1", [*ROOFS, twin], [], None, "double"))
    root = fromstring(text)
    at = [
        (float(one.get("x", 0)), float(one.get("y", 0)))
        for one in root.iter("{http://www.w3.org/2000/svg}text")
        if "fma" in (one.text or "")
    ]
    (first, second) = at
    assert abs(first[1] - second[1]) > 12 or abs(first[0] - second[0]) > 150
