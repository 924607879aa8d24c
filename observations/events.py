"""Validates runner events that come from outside: over HTTP, from a crate or a file.

Anything that a runner would not send is rejected, because its content becomes file
names, IRIs and times.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from observations.errors import RunnerEventError
from observations.event_models import EVENT
from observations.launch import RunnerEvent

STREAMS = ("stdout", "stderr")

Printed = Mapping[str, Mapping[str, Any]]


class EventLine(NamedTuple):
    """A line and the event in it."""

    text: bytes
    event: RunnerEvent


_FIRST, _LAST = ("started", "refused"), ("ended", "refused")


def event_of(line: bytes) -> RunnerEvent:
    """Parse a line; raises RunnerEventError if it is not a valid event of a runner."""
    try:
        found: RunnerEvent = orjson.loads(line)
        EVENT.validate_python(found)
    except orjson.JSONDecodeError as error:
        raise RunnerEventError(f"a line is not JSON: {error}") from None
    except ValidationError as error:
        raise RunnerEventError(
            f"a line is not an event of a runner: {first_error(error)}"
        ) from None
    return found


def check_order(last: RunnerEvent, events: Iterable[RunnerEvent]) -> None:
    """Raise RunnerEventError if an event precedes the start of its run, or it starts
    twice.

    ``last`` is the event before these; empty if there is none.
    """
    is_over = not last or last["event"] in _LAST
    for event in events:
        name = event["event"]
        if is_over and name not in _FIRST:
            raise RunnerEventError(f"{name!r} comes before its run has started")
        if name == "started" and not is_over:
            raise RunnerEventError("a run starts that has started already")
        is_over = name in _LAST


def kept_lines(text: bytes) -> Iterator[EventLine]:
    """Yield the lines of a file that hold an event; a full disk may truncate a line."""
    for line in filter(None, text.split(b"\n")):
        with suppress(RunnerEventError):
            yield EventLine(line, event_of(line))


def printed(events: Iterable[RunnerEvent]) -> Printed:
    """Return what was printed on each stream, even if the run was interrupted.

    For each stream: the number of ``bytes``, the first and the last of them in base64
    (``head``, ``tail``), and how many between them were ``cut``.
    """
    pieces: dict[str, list[bytes]] = {name: [] for name in STREAMS}
    for event in events:
        if event["event"] == "ended":
            return {name: event["output"][name] for name in STREAMS}
        if event["event"] == "output":
            pieces[event["stream"]].append(b64decode(event["data"]))
    return {name: _whole(b"".join(parts)) for name, parts in pieces.items()}


def printed_text(kept: Mapping[str, Any]) -> bytes:
    """Return the kept output of a stream; a line marks the place of a cut."""
    cut = kept["cut"]
    mark = b"\n[%d bytes were not kept]\n" % cut if cut else b""
    return b64decode(kept["head"]) + mark + b64decode(kept["tail"])


def _whole(text: bytes) -> Mapping[str, Any]:
    head = b64encode(text).decode()
    return {"bytes": len(text), "head": head, "tail": "", "cut": 0}


def first_error(error: ValidationError) -> str:
    """Return one line with the place of the first invalid value, and the reason."""
    found = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(step)[:60] for step in found["loc"])
    message = f"{place}: {found['msg'][:200]}" if place else found["msg"][:200]
    return " ".join(message.split())
