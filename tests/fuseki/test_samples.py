"""The functions of samples, on a real Fuseki and VictoriaMetrics."""

from itertools import permutations

import pytest

from tests.fuseki.samples import CPU0, CPU1, FREE, PROCESS, RELEASE, Samples

BOTH = f"VALUES ?t {{ {CPU0} {CPU1} }}"


def test_last_value_has_time_and_age(samples: Samples) -> None:
    ((age, time, value),) = samples.rows(
        f"{FREE} st:last (?value ?time ?age)", "?age ?time ?value"
    )
    assert (value, samples.second(time)) == (600.5, 600)
    assert 500 < age < 3600


def test_last_values_of_several_metrics_need_one_request(samples: Samples) -> None:
    telemetry = f"VALUES ?t {{ {CPU0} {CPU1} {FREE} {PROCESS} {RELEASE} }}"
    pattern = f"{telemetry} ?t st:last (?value)"
    values = {t.rpartition("telemetry/")[2]: v for t, v in samples.rows(pattern)}
    assert list(values.values()) == [6000, 6001, "6.2.0", 600.5, 600]
    # One more for each metric: these points are older than two minutes.
    assert len(samples.requests(pattern)) == 5


def test_last_value_of_a_text_metric_is_its_newest_text(samples: Samples) -> None:
    assert samples.rows(f"{RELEASE} st:last (?value)") == [["6.2.0"]]


def test_raw_samples_begin_after_the_start_and_include_the_end(
    samples: Samples,
) -> None:
    found = samples.rows(
        f"{CPU0} st:rawSamples ({samples.range(10, 13)} ?time ?value)", "?value ?time"
    )
    seconds = [(value, samples.second(time)) for value, time in found]
    assert seconds == [(110, 11), (120, 12), (130, 13)]


def test_range_without_raw_samples_has_no_rows(samples: Samples) -> None:
    call = f"st:rawSamples ({samples.range(-60, 0)} ?time ?value)"
    assert samples.rows(f"{FREE} {call}") == []
    assert samples.rows(f"{BOTH} OPTIONAL {{ ?t {call} }}", "?value") == [[None]] * 2


def test_raw_samples_of_texts_are_texts(samples: Samples) -> None:
    pattern = f"{RELEASE} st:rawSamples ({samples.range(299, 301)} ?time ?value)"
    assert samples.rows(pattern, "?value") == [["6.1.0"], ["6.2.0"]]


def test_csv_quotes_only_the_values_that_need_it(samples: Samples) -> None:
    pattern = r"""VALUES (?a ?b) {
      ("plain" <urn:x,y>) ("a \"quote\"" "two\nlines") ("" UNDEF)
      ("\u00fc\U0001F600" 1.5)
    } BIND(BNODE() AS ?node) BIND(BNODE() AS ?other)"""
    assert samples.text(pattern).encode() == (
        b"a,b,node,other\r\n"
        b'plain,"urn:x,y",_:b0,_:b1\r\n'
        b'"a ""quote""","two\nlines",_:b2,_:b3\r\n'
        b'"",,_:b4,_:b5\r\n'
        b"\xc3\xbc\xf0\x9f\x98\x80,1.5,_:b6,_:b7\r\n"
    )


def test_csv_has_values_that_are_longer_than_its_buffer(samples: Samples) -> None:
    pattern = " ".join(f"BIND(CONCAT(?a{n}, ?a{n}) AS ?a{n + 1})" for n in range(17))
    text = samples.text(f'BIND("x" AS ?a0) {pattern}')
    header, row, end = text.split("\r\n")
    assert header == ",".join(f"a{n}" for n in range(18)) and end == ""
    assert row == ",".join("x" * 2**n for n in range(18))


def test_function_may_be_written_before_the_pattern_that_binds_its_subject(
    samples: Samples,
) -> None:
    patterns = ["?t st:last (?value)", '?t st:instname "cpu0"', "?t a st:SWTelemetry"]
    orders = [" . ".join(each) for each in permutations(patterns)]
    assert [samples.rows(each, "?value") for each in orders] == [[[6000]]] * 6


def test_process_is_found_without_a_node(samples: Samples) -> None:
    pattern = f"{PROCESS} st:max ({samples.range(0, 60)} ?value)"
    assert samples.rows(pattern) == [[60]]


@pytest.mark.parametrize(
    ("function", "value"),
    [
        *(("avg", 35.5), ("min", 6), ("max", 65), ("sum", 2130)),
        *(("count", 60), ("rate", 1), ("increase", 60)),
    ],
)
def test_window_over_the_whole_range(
    samples: Samples, function: str, value: float
) -> None:
    pattern = f"{PROCESS} st:{function} ({samples.range(5, 65)} ?value)"
    assert samples.rows(pattern) == [[value]]


def test_quantile_and_deviation(samples: Samples) -> None:
    span = samples.range(0, 5)
    assert samples.rows(f"{PROCESS} st:quantile (0.5 {span} ?v)") == [[3]]
    ((deviation,),) = samples.rows(f"{PROCESS} st:stddev ({span} ?v)")
    assert deviation == pytest.approx(2**0.5)


def test_windows_by_step_end_at_multiples_of_the_step(samples: Samples) -> None:
    pattern = f'{CPU0} st:max ({samples.range(0, 60)} "20s" ?time ?value)'
    found = samples.rows(pattern, "?value ?time")
    assert [(v, samples.second(t)) for v, t in found] == [
        *((200, 20), (400, 40), (600, 60))
    ]


@pytest.mark.parametrize("step", ['"1m"', "60", '"PT1M"^^xsd:dayTimeDuration'])
def test_step_has_three_notations(samples: Samples, step: str) -> None:
    pattern = f"{CPU0} st:count ({samples.range(0, 600)} {step} ?time ?value)"
    assert samples.rows(pattern, "?value") == [[60]] * 10


def test_coverage_shows_windows_without_samples(samples: Samples) -> None:
    pattern = f"st:avg ({samples.range(0, 300)} 100 ?time ?value ?present ?expected)"
    columns = "?time ?present ?expected ?value"
    assert [row[1:3] for row in samples.rows(f"{CPU0} {pattern}", columns)] == [
        [100, 100]
    ] * 3
    # No plan samples it, so nothing is expected.
    found = [row[1:] for row in samples.rows(f"{FREE} {pattern}", columns)]
    assert found == [[100, None, 51], [0, None, None], [100, None, 251]]


def test_reason_of_missing_samples_comes_from_the_account(samples: Samples) -> None:
    call = (
        f"st:avg ({samples.range(300, 700)} 100 ?time ?value ?present ?expected ?why)"
    )
    found = samples.rows(f"{CPU1} {call}", "?time ?present ?expected ?why")
    assert [row[1:] for row in found] == [
        [100, 100, None],
        [50, 100, "late 50"],
        [100, 100, None],
        [0, 100, "no account"],
    ]


def test_rate_over_a_gap_is_absent(samples: Samples) -> None:
    pattern = f"{PROCESS} st:rate ({samples.range(590, 620)} 10 ?time ?value)"
    assert len(samples.rows(pattern)) == 1


def test_values_can_be_grouped_by_facts_of_the_graph(samples: Samples) -> None:
    found = samples.rows(
        f"""{BOTH} ?t st:max ({samples.range(0, 60)} 20 ?time ?value)
        BIND (STRAFTER(STR(?t), "user/") AS ?cpu) }} GROUP BY ?cpu #""",
        "?cpu (SUM(?value) AS ?sum)",
    )
    assert found == [["cpu0", 1200], ["cpu1", 1203]]


def test_bound_output_must_match(samples: Samples) -> None:
    pattern = f"{CPU0} st:rawSamples ({samples.range(0, 60)} ?time ?value)"
    found = samples.rows(f"VALUES ?time {{ {samples.at(7)} }} {pattern}", "?value")
    assert found == [[70]]


def test_time_of_the_query_is_now(samples: Samples) -> None:
    pattern = f'{PROCESS} st:count ("now-1h" "now" ?value)'
    assert samples.rows(pattern) == [[600]]
    later = f'BIND (NOW() AS ?now) {PROCESS} st:count ("now-1h" ?now ?value)'
    assert samples.rows(later, "?value") == [[600]]


def test_telemetry_is_found_whichever_graph_is_selected(samples: Samples) -> None:
    pattern = "GRAPH ?g { ?t a st:SWTelemetry } ?t st:last (?value)"
    assert len(samples.rows(pattern, "?t")) == 2
    inside = "GRAPH ?g { ?t a st:SWTelemetry . ?t st:last (?value) }"
    assert len(samples.rows(inside, "?t")) == 2


NUMBERS = f"VALUES ?n {{ {' '.join(map(str, range(200)))} }}"


@pytest.mark.parametrize(
    ("pattern", "rows", "requests"),
    [
        ("?t st:max (RANGE ?value)", 400, 1),
        ("OPTIONAL { ?t st:max (RANGE ?value) }", 400, 1),
        ("{ ?t st:max (RANGE ?value) } UNION { ?t st:min (RANGE ?value) }", 800, 2),
        ("OPTIONAL { ?t st:max (RANGE ?v) OPTIONAL { ?t st:min (RANGE ?w) } }", 400, 2),
    ],
)
def test_number_of_requests_does_not_depend_on_rows(
    samples: Samples, pattern: str, rows: int, requests: int
) -> None:
    pattern = f"{NUMBERS} {BOTH} {pattern.replace('RANGE', samples.range(0, 60))}"
    assert len(samples.rows(pattern)) == rows
    assert len(samples.requests(pattern)) == requests


def test_rows_of_a_subquery_need_one_request(samples: Samples) -> None:
    pattern = "{ SELECT ?t { ?t a st:SWTelemetry } LIMIT 9 } ?t st:last (?value)"
    assert len(samples.rows(pattern)) == 2


def test_optional_keeps_rows_without_a_value(samples: Samples) -> None:
    call = f"?t st:max ({samples.range(0, 60)} ?value) FILTER (?value > 600)"
    found = samples.rows(f"{BOTH} OPTIONAL {{ {call} }}", "DISTINCT *")
    assert found == [[CPU0.strip("<>"), None], [CPU1.strip("<>"), 601]]
    later = f"OPTIONAL {{ ?t st:max ({samples.range(900, 960)} ?value) }}"
    assert len(samples.rows(f"{BOTH} {later}", "?t")) == 2


@pytest.mark.parametrize(
    ("condition", "limits"),
    [
        ("?value > 30", [" > 30"]),
        ("30 < ?value && ?value <= 40.5", [" > 30", " <= 40.5"]),
        ("?value > 30 && ?time > 5", [" > 30"]),
        ("?value + 1 > 31", []),
    ],
)
def test_threshold_is_sent_to_the_series_store(
    samples: Samples, condition: str, limits: list[str]
) -> None:
    condition = condition.replace("?time > 5", "?time > " + samples.at(5))
    call = f'{PROCESS} st:max ({samples.range(0, 60)} "10s" ?time ?value)'
    pattern = f"{call} FILTER ({condition})"
    values = [value for _time, value in samples.rows(pattern, "?time ?value")]
    assert values == [v for v in (40, 50, 60) if v < 41 or "40.5" not in condition]
    (request,) = samples.requests(pattern)
    assert all(limit in request["query"] for limit in limits)
    assert (">" in request["query"]) == bool(limits)


def test_values_of_several_metrics_and_ranges(samples: Samples) -> None:
    ranges = " ".join(f"({samples.range(10 * n, 10 * n + 10)})" for n in range(20))
    pattern = f"""VALUES (?from ?to) {{ {ranges} }} VALUES ?t {{ {CPU0} {PROCESS} }}
      ?t st:count (?from ?to ?value)"""
    assert samples.rows(pattern, "?value") == [[10]] * 40
