"""The owner of a socket, as the kernel knows it."""

import os
import socket
import subprocess
import sys

from core.linux.sockets import socket_owner
from tests.servers import ENDS_WITH_US

_CONNECT = """
import os, socket, sys
os.setuid(int(sys.argv[1]))
with socket.create_connection(("127.0.0.1", int(sys.argv[2]))):
    sys.stdin.read()
"""


def test_owner_of_a_socket_is_the_user_who_opened_it() -> None:
    user = 65534 if os.getuid() == 0 else os.getuid()
    with socket.create_server(("127.0.0.1", 0)) as server:
        arguments = [str(user), str(server.getsockname()[1])]
        command = [*ENDS_WITH_US, sys.executable, "-c", _CONNECT, *arguments]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as client:
            connection, address = server.accept()
            with connection:
                assert socket_owner(address, server.getsockname()) == user
                assert socket_owner(server.getsockname(), address) == os.getuid()
            client.communicate()


def test_socket_that_does_not_exist_has_no_owner() -> None:
    assert socket_owner(("127.0.0.1", 1), ("127.0.0.1", 2)) is None
    assert socket_owner(("192.0.2.1", 1), ("127.0.0.1", 2)) is None


def test_listening_socket_is_not_taken_for_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert socket_owner(server.getsockname(), ("127.0.0.1", 1)) is None
