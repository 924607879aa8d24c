"""The roofline model from rows of the saved queries, and its drawing."""

import csv
import io
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring

from benchmarks.drawing import svg
from benchmarks.errors import NoBenchmarkError, PngError
from benchmarks.exports import csv_table, png
from benchmarks.roofline import Roofline, document
from benchmarks.roofline_rows import roofline

UNIT = "http://qudt.org/vocab/unit/"


def row(kernel: str, best: float, unit: str, **more: Any) -> dict[str, Any]:
    return {
        **{
            "threads": 2,
            "policy": "compact-cores",
            "at": "2026-11-01T09:00Z",
            "isa": "avx",
        },
        **{"precision": None, "level": None, "size": None, "value": 0.9 * best},
        **{"theory": None, "concern": None},
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
        **{"traffic": "DRAM", "at": "2026-11-02T10:00:00.5+01:00"},
    }


def requested(name: str, intensity: float, rate: float) -> dict[str, Any]:
    return point(name, intensity, rate) | {"traffic": "requested"}


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


@pytest.mark.parametrize(
    ("intensity", "rate", "moves"),
    [
        # Below main memory's roof, between it and a cache's, and above all of memory.
        (0.1, 1e9, [("up", "DRAM", 2.0), ("right", "DRAM", 50.0)]),
        (0.1, 4e9, [("up", "L2", 2.5), ("right", "L2", 10.0)]),
        (0.1, 6e10, [("up", "avx double fma", 5 / 3)]),
        # At main memory's roof, and a little over it.
        (0.1, 1.9e9, [("up", "L2", 100 / 19), ("right", "DRAM", 50.0)]),
        (0.1, 2.1e9, [("up", "L2", 100 / 21), ("right", "DRAM", 50.0)]),
        # Limited by memory, but below a peak that is lower than that.
        (4.0, 2e10, [("up", "avx double add", 2.5), ("right", "DRAM", 1.25)]),
        (50.0, 8e10, [("up", "avx double fma", 1.25)]),
        (50.0, 9.5e10, []),
        (50.0, 2e11, []),
    ],
)
def test_moves_lead_to_the_next_roof_and_its_ridge(
    intensity: float, rate: float, moves: list[tuple[str, str, float]]
) -> None:
    points = [point("p", intensity, rate)]
    (one,) = roofline("n1", ROOFS, points, None, "double").points
    assert [(move.direction, move.roof) for move in one.moves] == [
        (direction, roof) for direction, roof, _ in moves
    ]
    factors = [move.factor for move in one.moves]
    assert factors == pytest.approx([factor for _, _, factor in moves])


@pytest.mark.parametrize(
    ("rate", "says"),
    [
        (1e9, "fewer instructions that do not calculate"),
        (2e10, "vectorise for avx"),
        (6e10, "combine operations into fma"),
    ],
)
def test_move_to_a_peak_says_how_it_differs_from_the_one_below(
    rate: float, says: str
) -> None:
    scalar = row("add", 1e10, "FLOPS", precision="double", isa="scalar")
    points = [point("p", 50.0, rate)]
    (one,) = roofline("n1", [*ROOFS, scalar], points, None, "double").points
    assert says in one.moves[0].text


def test_newest_thread_set_is_used_if_two_have_one_size() -> None:
    older = [
        one | {"policy": "compact", "at": "2026-10-01T09:00Z", "best": 1}
        for one in ROOFS
    ]
    model = roofline("n1", [*older, *ROOFS], [], 2, "double")
    assert (model.policy, model.peaks[0].rate) == ("compact-cores", 1e11)


@pytest.mark.parametrize(
    ("rows", "threads", "says"),
    [
        ([], None, "supertwin bench quick --host n1"),
        (
            ROOFS,
            8,
            "on 2 threads, not on 8: `supertwin bench carm --host n1 --threads 8`",
        ),
        (ROOFS[:6], None, "no roofs of n1"),
    ],
)
def test_host_without_results_is_named(
    rows: list[dict[str, Any]], threads: int | None, says: str
) -> None:
    with pytest.raises(NoBenchmarkError, match=says) as caught:
        roofline("n1", rows, [], threads, "double")
    assert caught.value.code == "no-benchmark"


def test_limits_and_points_have_times_and_concerns() -> None:
    noise = "other programs used 51% of its CPUs"
    rows = [one | {"concern": noise} if one["level"] == "L2" else one for one in ROOFS]
    found = document(roofline("n1", rows, POINTS, None, "double"))
    assert [roof["concern"] for roof in found["roofs"]] == ["", noise, ""]
    assert {peak["at"] for peak in found["peaks"]} == {"2026-11-01T09:00:00Z"}
    assert {one["at"] for one in found["points"]} == {"2026-11-02T09:00:00Z"}
    table = csv_table(roofline("n1", rows, POINTS, None, "double"))
    of_roof, of_run = [*csv.DictReader(io.StringIO(table))][1::7]
    assert (of_roof["time"], of_roof["concern"]) == ("2026-11-01T09:00:00Z", noise)
    assert (of_run["time"], of_run["concern"]) == ("2026-11-02T09:00:00Z", "")


@pytest.mark.parametrize(("rate", "is_exceeded"), [(2.009e9, False), (2.02e9, True)])
def test_model_tells_whether_a_point_is_above_its_limit(
    rate: float, is_exceeded: bool
) -> None:
    points = [point("p", 0.1, rate)]
    model = roofline("n1", ROOFS, points, None, "double")
    assert model.is_exceeded == is_exceeded


def test_one_thread_is_singular() -> None:
    rows = [one | {"threads": 1} for one in ROOFS]
    assert "n1, 1 thread (" in svg(roofline("n1", rows, [], None, "double"))
    assert "n1, 2 threads (" in svg(roofline("n1", ROOFS, [], None, "double"))


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


def test_bytes_that_cores_request_are_limited_by_the_fastest_cache() -> None:
    points = [requested("a", 0.08, 8e9), requested("b", 50.0, 8e10)]
    model = roofline("n1", ROOFS, points, None, "double")
    first, second = model.points
    assert (first.roof, first.share) == ("L1", pytest.approx(0.2))
    assert [(one.direction, one.roof) for one in first.moves] == [
        ("up", "L1"),
        ("right", "L2"),
    ]
    assert second.roof == "avx double fma"
    assert document(model)["points"][0]["traffic"] == "requested"
    rows = [*csv.DictReader(io.StringIO(csv_table(model)))]
    assert [one["traffic"] for one in rows[-2:]] == ["requested"] * 2
    assert {one["traffic"] for one in rows[:-2]} == {""}


def test_marker_of_requested_bytes_is_a_diamond() -> None:
    points = [requested("carm", 0.1, 1e10), point("dram", 0.1, 1e9)]
    root = fromstring(svg(roofline("n1", ROOFS, points, None, "double")))
    (diamond,) = root.iter("{http://www.w3.org/2000/svg}path")
    (circle,) = root.iter("{http://www.w3.org/2000/svg}circle")
    assert diamond.get("class") == "point run requested"
    assert circle.get("class") == "point run"
    assert "operations per byte that its cores request" in str(diamond[0].text)


def test_names_of_roofs_do_not_cover_the_axis(model: Roofline) -> None:
    names = {
        str(one.text): one
        for one in fromstring(svg(model)).iter("{http://www.w3.org/2000/svg}text")
        if "GB/s" in str(one.text)
    }
    assert len(names) == 3
    for name, one in names.items():
        if one.get("text-anchor") == "end":
            assert float(one.get("x", 0)) - 7 * len(name) > 70
        else:
            assert float(one.get("x", 0)) > 70


def test_theory_is_a_dashed_line() -> None:
    rows = [*ROOFS, row("fma", 9e10, "FLOPS", precision="double", theory=1.5e11)]
    model = roofline("n1", rows, [], None, "double")
    assert document(model)["peaks"][1]["theory"] == 1.5e11
    assert 'class="theory"' in svg(model)
    assert 'class="theory"' not in svg(roofline("n1", ROOFS, [], None, "double"))


def test_memory_has_a_theory_and_a_remote_roof() -> None:
    memory = row("load", 3e10, "BYTE-PER-SEC", level="DRAM", theory=4e10)
    remote = row("load", 1e10, "BYTE-PER-SEC", level="remote DRAM")
    points = [point("p", 0.1, 5e8)]
    model = roofline("n1", [remote, *ROOFS, memory], points, None, "double")
    levels = [roof.level for roof in model.roofs]
    assert levels == ["L1", "L2", "DRAM", "remote DRAM"]
    assert (model.memory.bandwidth, model.memory.theory) == (3e10, 4e10)
    assert "theory 40.0 GB/s" in svg(model)
    assert "first touch" in model.points[0].moves[0].text


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


def test_table_has_units_for_roofs_ridges_peaks_and_points(model: Roofline) -> None:
    rows = [*csv.DictReader(io.StringIO(csv_table(model)))]
    assert [one["kind"] for one in rows] == [
        *(["roof"] * 3 + ["ridge"] * 3 + ["peak"] * 2 + ["run"] * 2)
    ]
    assert {one["unit"] for one in rows if one["kind"] == "roof"} == {"B/s"}
    assert {one["unit"] for one in rows if one["kind"] != "roof"} == {"FLOP/s"}
    ridge, triad = rows[5], rows[8]
    assert (ridge["name"], float(ridge["intensity (FLOP/B)"])) == ("DRAM", 5.0)
    assert float(triad["share of limit"]) == pytest.approx(0.6)
    assert "up 1.67x to DRAM" in triad["moves"]


def test_drawing_becomes_a_picture(model: Roofline) -> None:
    assert png(model)[:8] == b"\x89PNG\r\n\x1a\n"


def test_picture_without_its_program_names_the_package(
    model: Roofline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PngError, match="apt-get install librsvg2-bin") as caught:
        png(model)
    assert caught.value.code == "no-png"
