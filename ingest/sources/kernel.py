"""The kernel's command line without secrets."""

import re
import shlex
from pathlib import Path

from ingest.sources.files import read_text
from ingest.sources.machine import HERE, Machine

_CMDLINE = Path("proc/cmdline")
# Options with secret values: iSCSI and NFS passwords, tokens of installers, credentials
# passed to systemd.
_SECRET = re.compile(
    r"pass(w|phrase|[._-]|$)|pwd|secret|token|credential|(^|[._-])(key|keys|auth|psk|pin)([._-]|$)",
    re.IGNORECASE,
)
_USER_IN_URL = re.compile(r"(?<=//)[^/@\s]+@")
# dracut's netroot=iscsi:USER:PASSWORD@…, rd.iscsi…: everything before an @.
_USER_IN_ROOT = re.compile(r"^((?:net)?root=[a-z]+:)[^@]+@")
_HIDDEN = "***"


def read_kernel_options(machine: Machine = HERE) -> list[str]:
    """Read the options of the kernel's command line, in order.

    Raises ProbeSourceError.
    """
    return parse_kernel_options(read_text(machine.root / _CMDLINE))


def parse_kernel_options(text: str) -> list[str]:
    """Return each option once; passwords, keys and tokens become ``***``.

    Arguments after ``--`` go to init, not to the kernel, and are left out.
    """
    options = _split(text)
    if "--" in options:
        options = options[: options.index("--")]
    return list(dict.fromkeys(map(_public, options)))


def _split(text: str) -> list[str]:
    """Split at white space; on this command line only double quotes group words."""
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    lexer.quotes, lexer.escape = '"', ""
    try:
        return list(lexer)
    except ValueError:  # a quote that is never closed
        return text.split()


def _public(option: str) -> str:
    key, equals, value = option.partition("=")
    if equals and value and _SECRET.search(key):
        return f"{key}={_HIDDEN}"
    option = _USER_IN_ROOT.sub(rf"\g<1>{_HIDDEN}@", option)
    return _USER_IN_URL.sub(f"{_HIDDEN}@", option)
