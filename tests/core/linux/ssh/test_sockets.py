"""Remote socket names that ssh takes literally, and others."""

import pytest

from core.linux.ssh.errors import SocketNameError
from core.linux.ssh.sockets import plain_socket

PLAIN = [
    "/run/pcp/pmcd.socket",
    "/home/ana@example.org/.supertwin/n~20~2B-0a1b2c3d/run/pmcd.socket",
    "/home/jörg/run/pmcd.socket",
]
OTHERS = [
    "",
    "run/pmcd.socket",
    "~/pmcd.socket",
    "/home/${SUPERTWIN_STORE_PASSWORD}/pmcd.socket",
    "/home/$HOME/pmcd.socket",
    "/home/%h/pmcd.socket",
    "/home/a:/run/b",
    "/home/a b",
    "/home/a\n",
    "/home/\x1b[31m",
    "/" + "x" * 107,
]


@pytest.mark.parametrize("path", PLAIN)
def test_plain_socket_names_are_kept(path: str) -> None:
    assert plain_socket(path) == path


@pytest.mark.parametrize("path", OTHERS)
def test_ambiguous_socket_name_is_refused(path: str) -> None:
    with pytest.raises(
        SocketNameError, match="is not a socket that ssh can lead to"
    ) as no:
        plain_socket(path)
    assert str(no.value).isprintable()
