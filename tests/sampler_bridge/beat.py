"""A program that beats every 10 ms and records when each beat was due and done.

At each beat, two processes wake each other twice, as the bridge, PMCD and its agent do
in a fetch, and write to a file.
"""

import os
import struct
import sys
import time
from pathlib import Path

EVERY_MS = 10


def main(path: Path) -> None:
    """Beat until the process is killed."""
    there, back = os.pipe(), os.pipe()
    if not os.fork():
        os.close(there[1])
        while os.read(there[0], 1):
            os.write(back[1], b".")
        os._exit(0)
    os.close(there[0])
    with path.open("ab", buffering=0) as beats:
        due = _now_ms() // EVERY_MS * EVERY_MS
        while True:
            time.sleep(max(due / 1000 - time.time(), 0))
            for _ in range(2):
                os.write(there[1], b".")
                os.read(back[0], 1)
            done = _now_ms()
            beats.write(struct.pack("qq", due, done))
            due = max(due, done // EVERY_MS * EVERY_MS) + EVERY_MS


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    main(Path(sys.argv[1]))
