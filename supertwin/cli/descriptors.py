"""The standard descriptors of a command, of which its caller may have closed some."""

import os
import sys


def open_closed_descriptors() -> None:
    """Open /dev/null for each closed descriptor of 0, 1 and 2.

    Otherwise the next file to be opened gets the number, and is used as if it were
    standard input or output.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one. Commands are to inherit it.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    # Python has no stream for a descriptor that was closed when it started.
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
