"""The SPARQL that reads samples, and the notation of its times."""

import pytest

from core.stores.errors import SamplesError
from queries.errors import ParameterError
from queries.sample_calls import SampleCall
from queries.sample_times import time_ms, utc_text

IRI = "http://localhost:8000/twin/n1/telemetry/mem.util.free/~"
NOW = 1_795_000_000_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("now", NOW),
        ("now-1h", NOW - 3_600_000),
        ("now-1.5s", NOW - 1500),
        ("now-250ms", NOW - 250),
        ("0", 0),
        ("1795000000.0625", NOW + 62),
        ("2026-11-18T11:06:40Z", NOW),
        ("2026-11-18T11:06:40.001", NOW + 1),
        ("2026-11-18T12:06:40+01:00", NOW),
    ],
)
def test_times_have_the_notations_of_sparql(text: str, ms: int) -> None:
    assert time_ms(text, NOW, "from") == ms


@pytest.mark.parametrize(
    "text",
    [
        *("", "then", "now+1h", "now-1", "now-1M", "-5", "1e9", "nan", "2026-11-18"),
        *("2026-13-01T00:00:00Z", "1969-12-31T23:59:59Z", "9" * 12, "now-999999999y"),
        "2026-11-18T12:06:40 01:00",
    ],
)
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(SamplesError) as caught:
        time_ms(text, NOW, "from")
    assert str(caught.value).startswith("from ")


def test_lost_plus_of_a_time_zone_is_explained() -> None:
    with pytest.raises(SamplesError, match="%2B"):
        time_ms("2026-11-18T12:06:40 01:00", NOW, "to")


def test_time_is_written_with_milliseconds() -> None:
    assert utc_text(NOW + 1) == "2026-11-18T11:06:40.001Z"


def test_window_over_the_range_is_a_step_as_long_as_it() -> None:
    text = SampleCall("sum", NOW, NOW + 1500).sparql([IRI])
    assert "st:sum (1795000000.000 1795000001.500 1.500 ?time ?value)" in text


@pytest.mark.parametrize(
    ("step", "term"),
    [
        ("1m", '"1m"'),
        ("PT1M", '"PT1M"^^<http://www.w3.org/2001/XMLSchema#duration>'),
        ("60", '"60"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
        ('1m") } #', r'"1m\") } #"'),
    ],
)
def test_step_is_one_term(step: str, term: str) -> None:
    text = SampleCall("avg", 0, 1000, step).sparql([IRI])
    assert f" {term} ?time ?value)" in text


def test_telemetry_must_be_an_iri() -> None:
    with pytest.raises(ParameterError):
        SampleCall("last").sparql(["http://x/> } #"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"function": "median"}, "is not a function"),
        ({"function": "quantil"}, "did you mean quantile"),
        ({"function": "raw", "step": "1m"}, "takes no step"),
        ({"function": "last", "coverage": True}, "takes no coverage"),
        ({"function": "quantile"}, "belong together"),
        ({"function": "avg", "quantile": "0.5"}, "belong together"),
    ],
)
def test_arguments_must_fit(arguments: dict[str, str], said: str) -> None:
    with pytest.raises(SamplesError, match=said):
        SampleCall(**arguments)  # type: ignore[arg-type]
