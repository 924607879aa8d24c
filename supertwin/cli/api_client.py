"""The command line's client of the API."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from api.access.local_api import LocalApi, read_local_api
from core.errors import PROBLEM_TYPES, NotRunningError, SuperTwinError, UserError
from core.stores.http_connection import BROKEN, HttpConnection, lines

_SECONDS = 60.0
_UNAUTHORIZED, _REFUSED, _FAILURE = 401, 400, 500
_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}


class ApiAnswerError(UserError):
    """The API refuses a request without a code of its own."""

    code = "api-refused"


class ApiUnavailableError(SuperTwinError):
    """The API does not answer, or fails without a code of its own."""

    code = "api-away"


class ApiClient:
    """One connection to the API of a state folder, reopened when it breaks.

    A restarted API has another key, which is then read again. Methods raise
    ApiAnswerError and ApiUnavailableError; without a running API, NotRunningError is
    raised.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        local = read_local_api(home)
        if local is None:
            raise NotRunningError(
                f"no SuperTwin of yours runs in {home}: `make up` starts one"
            )
        self._local, self._connection = local, _connection(local)

    def ask(
        self, method: str, path: str, body: bytes = b"", *, queues: bool = False
    ) -> Any:
        """Send a request and return the JSON document of its answer.

        With ``queues``, wait for the answer without a time limit; if the API dies
        meanwhile, the connection ends.
        """
        status, text = self._sent(method, path, body, queues)
        if status == _UNAUTHORIZED and self._is_another():
            status, text = self._sent(method, path, body, queues)
        if status >= _REFUSED:
            raise _refusal(status, text)
        return json.loads(text) if text else None

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self._connection.close()

    def events(self, path: str) -> Iterator[Any]:
        """Yield the events of a stream until it ends."""
        local = self._local
        with closing(_connection(local)) as connection:
            try:
                answer = connection.request("GET", path, headers=_HEADERS)
                if answer.status >= _REFUSED:
                    raise _refusal(answer.status, answer.read())
                for line in lines(answer):
                    if line.startswith(b"data:"):
                        yield json.loads(line[5:])
            except BROKEN as error:
                raise _away(local, error) from None

    def _sent(
        self, method: str, path: str, body: bytes, queues: bool
    ) -> tuple[int, bytes]:
        local, seconds = self._local, None if queues else _SECONDS
        try:
            answer = self._connection.request(method, path, body, _HEADERS, seconds)
            text = answer.read()
        except BROKEN as error:
            self._connection.close()
            self._is_another()
            raise _away(local, error) from None
        return answer.status, text

    def _is_another(self) -> bool:
        """Whether another API has been started; if so, use that one from now on."""
        local = read_local_api(self._home)
        if local is None or local == self._local:
            return False
        self._connection.close()
        self._local, self._connection = local, _connection(local)
        return True


def _connection(local: LocalApi) -> HttpConnection:
    return HttpConnection(local.url, f"Bearer {local.key}", _SECONDS)


def _away(local: LocalApi, error: Exception) -> ApiUnavailableError:
    reason = str(error).strip()
    return ApiUnavailableError(
        f"SuperTwin at {local.url} does not answer ({reason}): see `make status`"
    )


def _refusal(status: int, text: bytes) -> SuperTwinError:
    kind = ApiUnavailableError if status >= _FAILURE else ApiAnswerError
    try:
        problem = json.loads(text)
        return kind(str(problem["detail"]), code=_code(problem))
    except (ValueError, TypeError, KeyError, AttributeError):
        return kind(f"SuperTwin answered with {status}")


def _code(problem: Any) -> str:
    """The code of a problem; empty for one of another server, such as `about:blank`."""
    type_ = str(problem.get("type", ""))
    return type_.removeprefix(PROBLEM_TYPES) if type_.startswith(PROBLEM_TYPES) else ""
