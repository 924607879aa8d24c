"""What both clients of Fuseki share: requests, limits, and what an answer means."""

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlencode

from core.stores.errors import (
    EXTENSION_ERRORS,
    AccountRefusedError,
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    IncompleteAnswerError,
    QuerySyntaxError,
    TooLargeError,
    UpdateRefusedError,
)
from core.stores.http_connection import FORM
from core.stores.scope import query_parameters

JSON_RESULTS = "application/sparql-results+json"
CSV_RESULTS = "text/csv"
N_TRIPLES = "application/n-triples"

# The reason of an error is cut instead of being refused.
REASON_BYTES = 64 * 1024
_WRONG_PATTERN = "pattern exception: java.util.regex.PatternSyntaxException: "
_CUT = b"##  Query cancelled due to timeout"
# The line that our extension of Fuseki ends a body with, also after rows.
_EXTENSION_ERROR = re.compile(rb"\n##  SuperTwin ([a-z-]+): (.*)  ##\n\Z")
_ENDS = {JSON_RESULTS: b"}", "application/sparql-results+xml": b"</sparql>"}
# Fuseki 5.6 fails with this when its reason for refusing a query is not plain ASCII.
_LOST_REASON = "Insufficient content written"
_REASON_LOST = (
    "its reason is lost since it quotes characters beyond ASCII; look for undeclared "
    "prefixes and stray characters"
)
# The answer to a read that was running when a compaction switched the files.
_SWITCHED = "Not in a transaction"
_BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN = 400, 401, 403
_NOT_FOUND, _NOT_ALLOWED, _FAILED, _UNAVAILABLE = 404, 405, 500, 503
_NO_DATASET = (_NOT_FOUND, _NOT_ALLOWED)
# The header of a query that joins samples with a newer state of their host.
WARNING = "SuperTwin-Warning"
# The header with the version of the dataset that a query read.
VERSION = "SuperTwin-Version"
# Asks for the requests that a query sends to the series store, instead of its result.
EXPLAIN = ("explain", "true")


@dataclass(frozen=True)
class Answer:
    """A whole HTTP answer.

    Our extension of Fuseki adds ``warning``, and the ``version`` of the dataset that
    the query read: every write gives the dataset another one.
    """

    status: int
    media_type: str
    content: bytes
    warning: str = ""
    version: str = ""

    @property
    def is_success(self) -> bool:
        """Return whether the server did what it was asked for."""
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """Return the body as text."""
        return self.content.decode("utf-8", "replace")


class SparqlDataset:
    """A dataset such as ``http://127.0.0.1:3030/twin``.

    ``timeout`` in seconds and ``max_bytes`` limit every answer.
    """

    def __init__(self, url: str, timeout: float, max_bytes: int) -> None:
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.max_bytes = max_bytes

    def query_form(
        self, sparql: str, media_type: str, graphs: Sequence[tuple[str, str]] = ()
    ) -> tuple[bytes, Mapping[str, str]]:
        """Return the body and headers of a query, which stops after the timeout.

        The query is limited to the scope of the request that asks it.
        """
        # Whole seconds: Fuseki ignores a fraction, and then never stops.
        seconds = str(math.ceil(self.timeout))
        form = (
            ("query", utf8(sparql)),
            *graphs,
            *query_parameters(),
            ("timeout", seconds),
        )
        # Plain text is for error reasons: without it, some of them are empty.
        accept = f"{media_type}, text/plain;q=0.01"
        return _encoded(form), {"Accept": accept, "Content-Type": FORM}

    def check_limits(self, size: int, deadline: float) -> None:
        """Raise TooLargeError or EndpointTimeoutError while an answer comes in.

        ``size`` is that of the bytes so far. ``deadline`` is monotonic: a timeout of
        each piece alone would not stop a slow stream.
        """
        if size > self.max_bytes:
            raise TooLargeError(
                f"Fuseki at {self.url} answers with more than {self.max_bytes} bytes; "
                "add a LIMIT, or raise SUPERTWIN_QUERY_MAX_BYTES"
            )
        if time.monotonic() >= deadline:
            raise self.too_slow()

    def received(self, status: int, content_type: str, content: bytes) -> Answer:
        """Return an answer; raises AccountRefusedError."""
        answer = Answer(status, content_type.partition(";")[0], content)
        if status in (_UNAUTHORIZED, _FORBIDDEN):
            raise AccountRefusedError(
                f"Fuseki at {self.url} refuses the account ({status}); fix "
                "SUPERTWIN_FUSEKI_USER and SUPERTWIN_FUSEKI_PASSWORD, or its _FILE"
            )
        return answer

    def body(self, answer: Answer, media_type: str) -> bytes:
        """Return the complete answer to a query; raises EndpointError.

        After an IncompleteAnswerError, the query may be sent again.
        """
        self._check_reported(answer)
        tail = answer.content[-400:].rstrip()
        if not answer.is_success and _SWITCHED in answer.text:
            raise IncompleteAnswerError(
                f"a compaction of {self.url} ended the request ({_SWITCHED}); ask again"
            )
        if not answer.is_success:
            raise self._failure(answer, "query")
        if answer.media_type != media_type:
            raise EndpointError(
                f"Fuseki at {self.url} answered with {answer.media_type!r} instead of "
                f"{media_type}; check the form of the query"
            )
        if _CUT in tail:
            raise self.too_slow()
        if not tail.endswith(_ENDS.get(media_type, b"")):
            raise self.cut_short()
        return answer.content

    def _check_reported(self, answer: Answer) -> None:
        """Raise the error of our extension, if the body ends with one."""
        found = _EXTENSION_ERROR.search(answer.content[-REASON_BYTES:])
        if found:
            kind = EXTENSION_ERRORS[found[1].decode()]
            raise kind(found[2].decode("utf-8", "replace"))

    def check_update(self, answer: Answer) -> None:
        """Raise EndpointError unless an update was carried out."""
        self._check_reported(answer)
        if answer.status == _BAD_REQUEST:
            raise self._failure(answer, "update")
        self.check_written(answer)

    def check_written(self, answer: Answer) -> None:
        """Raise EndpointError unless a write was carried out."""
        if answer.is_success:
            return
        if answer.status in _NO_DATASET and "Read-only" not in answer.text:
            raise self._failure(answer, "update")
        raise UpdateRefusedError(
            f"Fuseki at {self.url} refused to write ({answer.status}: "
            f"{one_line(answer.text)}); see log/fuseki.log"
        )

    def _failure(self, answer: Answer, what: str) -> EndpointError:
        status, reason = answer.status, one_line(answer.text)
        if status == _FAILED and _LOST_REASON in reason:
            status, reason = _BAD_REQUEST, _REASON_LOST
        if status == _BAD_REQUEST:
            return QuerySyntaxError(f"Fuseki cannot read the {what}: {reason}")
        if status == _UNAVAILABLE and "timed out" in reason:
            return self.too_slow()
        hint = "; is it a dataset of the graph store?" if status in _NO_DATASET else ""
        return EndpointError(
            f"Fuseki at {self.url} answered with status {status}: {reason}{hint}"
        )

    def cut_short(self) -> IncompleteAnswerError:
        """Return the error for an answer that is not complete."""
        return IncompleteAnswerError(
            f"Fuseki at {self.url} ended its answer before it was complete; ask again"
        )

    def too_slow(self) -> EndpointTimeoutError:
        """Return the error for an answer that is not complete in time."""
        return EndpointTimeoutError(
            f"Fuseki at {self.url} did not finish within {self.timeout:g} s; ask for "
            "less, or raise SUPERTWIN_QUERY_TIMEOUT"
        )

    def unreachable(self, reason: object) -> EndpointUnreachableError:
        """Return the error for a store that cannot be reached."""
        return EndpointUnreachableError(
            f"Fuseki does not answer at {self.url} ({reason}); see `make status`"
        )


@lru_cache(maxsize=8)  # the bridge asks the same again and again
def _encoded(form: tuple[tuple[str, str | bytes], ...]) -> bytes:
    return urlencode(form).encode()


def utf8(text: str) -> bytes:
    """Encode a query or an update; raises QuerySyntaxError."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise QuerySyntaxError(f"the text is not Unicode: {error.reason}") from error


def one_line(text: str) -> str:
    """Return the reason from the graph store's text, without the query's copy."""
    if "<title>" in text:
        text = text.partition("<title>")[2].partition("</title>")[0]
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    if lines[0] == "StackOverflowError":
        return "the query is nested too deeply"
    if wrong := [line for line in lines if _WRONG_PATTERN in line]:
        return (
            f"a regular expression is wrong: {wrong[-1].partition(_WRONG_PATTERN)[2]}"
        )
    reason = lines[-1] if lines[0] == "Error:" else " ".join(lines)
    return reason if len(reason) <= 500 else f"{reason[:500]} …"
