"""A log that writes each kind of message at most once a minute."""

import logging
import time

_QUIET_S = 60.0
_MOST_KINDS = 1000


class OncePerMinute(logging.Filter):
    """Passes a message once a minute, with the number of suppressed ones."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written; it reports the number suppressed before it."""
        kind = (record.name, record.levelno, str(record.msg))
        now = time.monotonic()
        since, left_out = self._seen.get(kind, (-_QUIET_S, 0))
        if now - since < _QUIET_S:
            self._seen[kind] = (since, left_out + 1)
            return False
        if len(self._seen) >= _MOST_KINDS:
            self._seen.clear()
        self._seen[kind] = (now, 0)
        if left_out:
            record.msg = f"{record.getMessage()} (and {left_out} times before)"
            record.args = ()
        return True


def log_to_stderr() -> None:
    """Write warnings and worse to stderr."""
    handler = logging.StreamHandler()
    handler.addFilter(OncePerMinute())
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.WARNING, handlers=[handler], format=form)
