"""The API as the command line asks it, by Python's own library, which is quick."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from supertwin.access.local_api import LocalApi, read_local_api

_SECONDS = 60.0
_FAILURE = 500


class ApiAnswerError(click.ClickException):
    """A refusal of the API, which the user can mend."""

    exit_code = 2


class AwayError(click.ClickException):
    """No API answers, or it fails."""


class ApiClient:
    """One connection to the API of a state folder, opened again when it breaks.

    An API that was started anew has another key, which is looked up then. Methods raise
    ApiAnswerError and AwayError.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        local = read_local_api(home)
        if local is None:
            raise AwayError(
                f"no SuperTwin of yours runs in {home}: `make up` starts one"
            )
        self._local: LocalApi = local
        self._connection = self._new_connection(_SECONDS)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        """The JSON document that a request is answered with."""
        status, text = self._sent(method, path, body)
        if status == http.client.UNAUTHORIZED and self._is_another():
            status, text = self._sent(method, path, body)
        if status >= 400:
            raise _refusal(status, text)
        return json.loads(text) if text else None

    def close(self) -> None:
        """Leave the connection, which a next request opens again."""
        self._connection.close()

    def events(self, path: str) -> Iterator[Any]:
        """What a stream of events says, until it ends."""
        connection = self._new_connection(None)
        try:
            answer = self._answered(connection, "GET", path, None)
            if answer.status >= 400:
                raise _refusal(answer.status, answer.read())
            for line in answer:
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])
        except (OSError, http.client.HTTPException) as error:
            raise self._away(error) from None
        finally:
            connection.close()

    def _sent(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        try:
            answer = self._answered(self._connection, method, path, body)
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._is_another()
            raise self._away(error) from None

    def _is_another(self) -> bool:
        """Whether an API was started meanwhile, which is asked from now on."""
        local = read_local_api(self._home)
        if local is None or local == self._local:
            return False
        self._local = local
        self._connection.close()
        self._connection = self._new_connection(_SECONDS)
        return True

    def _answered(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
    ) -> http.client.HTTPResponse:
        headers = {
            "Authorization": f"Bearer {self._local.key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def _new_connection(self, seconds: float | None) -> http.client.HTTPConnection:
        place = urlsplit(self._local.url)
        return http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=seconds
        )

    def _away(self, error: Exception) -> AwayError:
        return AwayError(
            f"SuperTwin at {self._local.url} does not answer ({error}): `make status` "
            "tells more"
        )


def _refusal(status: int, text: bytes) -> click.ClickException:
    kind = AwayError if status >= _FAILURE else ApiAnswerError
    try:
        return kind(str(json.loads(text)["detail"]))
    except (ValueError, TypeError, KeyError):
        return kind(f"SuperTwin answered with {status}")
