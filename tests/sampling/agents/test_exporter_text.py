"""Lines of exporters: what PCP's agent gets, and which lines are left out."""

from sampling.agents.exporter_text import (
    MOST_METRICS,
    MOST_SERIES,
    Families,
)

GOOD = """# HELP jobs_total Jobs, "all" of them
# TYPE jobs_total counter
jobs_total 7
# TYPE wait_seconds histogram
wait_seconds_bucket{le="0.1"} 3
wait_seconds_bucket{le="+Inf"} 4
wait_seconds_sum 0.5
wait_seconds_count 4
# TYPE room:heat gauge
room:heat{room="a b",side="\\"x\\""} 20.5 1700000000000
"""


def dropped(text: str, known: Families | None = None) -> dict[str, int]:
    known = known or Families()
    known.document(text)
    return dict(known.dropped)


def test_good_text_has_types_units_and_plain_instances() -> None:
    known = Families()
    text, series = known.document(GOOD)
    assert (series, dict(known.dropped)) == (6, {})
    assert text.splitlines() == [
        "# PCP5 jobs_total 0.0.0 double PM_INDOM_NULL counter none",
        '# HELP jobs_total Jobs, "all" of them',
        "jobs_total 7.0",
        "# PCP5 wait_seconds_bucket 0.0.0 double wait_seconds_bucket counter count",
        'wait_seconds_bucket{instname="le=0.1"} 3.0',
        'wait_seconds_bucket{instname="le=+Inf"} 4.0',
        "# PCP5 wait_seconds_sum 0.0.0 double PM_INDOM_NULL counter sec",
        "wait_seconds_sum 0.5",
        "# PCP5 wait_seconds_count 0.0.0 double PM_INDOM_NULL counter count",
        "wait_seconds_count 4.0",
        "# PCP5 room_heat 0.0.0 double room_heat instant none",
        'room_heat{instname="room=a_b,side=__x__"} 20.5',
    ]


def test_duplicate_series_keep_their_first_value() -> None:
    known = Families()
    text, series = known.document('a{x="1"} 1\na{x="1"} 2\na{x="2"} 3\n')
    assert (series, dict(known.dropped)) == (2, {"duplicate series": 1})
    assert 'a{instname="x=1"} 1.0' in text and "2.0" not in text


def test_bad_lines_do_not_lose_those_that_follow() -> None:
    text, series = Families().document("a 1\nb one\n<html>\nc{x=1} 1\nd 2\n")
    assert series == 2 and "a 1.0" in text and "d 2.0" in text
    assert dropped("a 1\nb one\n<html>\nc{x=1} 1\nd 2\n") == {"bad line": 3}


def test_name_without_a_value_is_a_bad_line() -> None:
    assert dropped('up\nroom1\nb.5\nc{x="1"}\n') == {"bad line": 4}


def test_long_runs_of_spaces_are_matched_in_linear_time() -> None:
    """In quadratic time, this would take hours and block all other exporters."""
    spaces = " " * 1_000_000
    text = f'a{spaces}1 1 1\nb{{{spaces}1\nc{{x="1"{spaces}1\nd{spaces}1\n'
    assert dropped(text) == {"bad line": 3}


def test_only_samples_of_a_counter_are_counters() -> None:
    text, _ = Families().document("# TYPE a counter\na_total 1\n")
    assert "# PCP5 a_total 0.0.0 double PM_INDOM_NULL counter none" in text
    text, _ = Families().document("# TYPE a gauge\na 2\na_total 1\n")
    assert "# PCP5 a_total 0.0.0 double PM_INDOM_NULL instant none" in text


def test_wrong_types_are_counted() -> None:
    assert dropped("# TYPE a speed\na 1\n") == {"unknown type": 1}
    assert dropped("# TYPE a gauge\n# TYPE a counter\na 1\n") == {"type changed": 1}


def test_metric_keeps_its_first_type_and_labels() -> None:
    known = Families()
    known.document("# TYPE a gauge\na 1\n")
    assert known.document("# TYPE a counter\na 2\n")[1] == 0
    assert known.dropped["type changed"] == 1
    known.document('# TYPE a gauge\na{x="1"} 2\n')
    assert known.dropped["labels changed"] == 1


def test_infinite_values_and_nan_are_absent() -> None:
    known = Families()
    text, series = known.document("a NaN\nb +Inf\nc 1\n")
    assert series == 1 and "c 1.0" in text
    assert not known.dropped


def test_numbers_of_metrics_and_series_are_limited() -> None:
    known = Families()
    _, series = known.document("".join(f"m{n} 1\n" for n in range(MOST_METRICS + 5)))
    assert series == MOST_METRICS
    known.document("another 1\n")
    assert known.dropped == {"too many metrics": 6}
    known = Families()
    # An exporter whose labels always change would fill PCP's table of names.
    for start in range(0, MOST_SERIES + 2000, 1000):
        names = range(start, start + 1000)
        known.document("".join(f'a{{id="{n}"}} 1\n' for n in names))
    assert known.dropped == {"too many series": 2000}


def test_long_names_and_labels_are_left_out() -> None:
    text = f'{"n" * 300} 1\nb{{x="{"y" * 300}"}} 1\n_c 1\n'
    assert dropped(text) == {"bad name": 2, "long labels": 1}
