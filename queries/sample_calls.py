"""The SPARQL that reads samples of telemetry with a function of samples."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.stores.errors import SamplesError
from ontology.terms import PREFIXES
from queries.binding import Param, serialise
from queries.sample_times import seconds_text
from queries.terms import iri_term, text_term

RAW, LAST, AVG, QUANTILE = "raw", "last", "avg", "quantile"
WINDOWS = (
    *(AVG, "min", "max", "sum", "count", "stddev", QUANTILE),
    *("rate", "increase"),
)
FUNCTIONS = (RAW, LAST, *WINDOWS)
COVERAGE = ("present", "expected", "why")

_PROPERTIES = {RAW: "rawSamples"}
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
_XSD = PREFIXES["xsd"]


@dataclass(frozen=True)
class SampleCall:
    """What to read: a function, its range (Unix milliseconds), and its other arguments.

    The range is that of ``rawSamples``: after ``start_ms``, up to ``end_ms``. An empty
    ``step`` is one window over the range. Raises SamplesError if the arguments do not
    fit the function; Fuseki checks their values.
    """

    function: str = RAW
    start_ms: int = 0
    end_ms: int = 0
    step: str = ""
    quantile: str = ""
    coverage: bool = False

    def __post_init__(self) -> None:
        name = self.function
        if name not in FUNCTIONS:
            raise _unknown(name)
        if name not in WINDOWS and (self.step or self.coverage):
            given = "step" if self.step else "coverage"
            raise SamplesError(
                f"fn={name} takes no {given}: leave it out, or use one of "
                f"{', '.join(WINDOWS)}"
            )
        if (name == QUANTILE) != bool(self.quantile):
            raise SamplesError(
                "fn=quantile and q, a number between 0 and 1, belong together: "
                "give both or neither"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the answer; ``number`` says whether a value is one."""
        if self.function in WINDOWS:
            return ("n", "time", "value", *(COVERAGE if self.coverage else ()))
        return ("n", "time", "value", "number")

    def sparql(self, telemetry: Sequence[str]) -> str:
        """Return the query; its column ``n`` is the place of an IRI in the list.

        Raises ParameterError for an invalid IRI.
        """
        rows = " ".join(f"({iri_term(iri)} {n})" for n, iri in enumerate(telemetry))
        name = _PROPERTIES.get(self.function, self.function)
        number = "BIND (isNumeric(?value) AS ?number)"
        return (
            f"PREFIX st: <{PREFIXES['st']}>\n"
            f"SELECT {' '.join(f'?{column}' for column in self.columns)} {{\n"
            f"  VALUES (?telemetry ?n) {{ {rows} }}\n"
            f"  ?telemetry st:{name} ({' '.join(self._arguments())})\n"
            f"  {number if 'number' in self.columns else ''}\n}}"
        )

    def _arguments(self) -> list[str]:
        if self.function == LAST:
            return ["?value", "?time"]
        ends = [seconds_text(self.start_ms), seconds_text(self.end_ms)]
        if self.function == RAW:
            return [*ends, "?time", "?value"]
        quantile = [_number_or_text(self.quantile)] if self.quantile else []
        outputs = [f"?{column}" for column in self.columns[1:]]
        return [*quantile, *ends, self._step_term(), *outputs]

    def _step_term(self) -> str:
        """A single window is a step as long as the range, so that it has a time too."""
        if not self.step:
            return seconds_text(self.end_ms - self.start_ms)
        if self.step.lstrip("-").startswith("P"):
            return f"{text_term(self.step)}^^<{_XSD}duration>"
        return _number_or_text(self.step)


def _number_or_text(text: str) -> str:
    """Write a number as a number; Fuseki says what is wrong with any other text."""
    if _NUMBER.fullmatch(text):
        return f"{text_term(text)}^^<{_XSD}decimal>"
    return serialise(Param("text", "string"), text)


def _unknown(name: str) -> SamplesError:
    near = difflib.get_close_matches(name, FUNCTIONS, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return SamplesError(
        f"fn={name[:40]!r} is not a function of samples; {hint}there are: "
        f"{', '.join(FUNCTIONS)}"
    )
