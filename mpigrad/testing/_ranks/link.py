"""The connection between pytest and its job of ranks: values as lines of JSON, over TCP."""

from __future__ import annotations

import hmac
import json
import secrets
import select
import socket
from collections.abc import Callable
from typing import Any

from mpigrad._launch.allocation import current_allocation

TICK = 0.2


class Link:
    """One end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = b""

    def send(self, value: Any) -> None:
        """Send a value to the other end."""
        self._connection.sendall(json.dumps(value).encode() + b"\n")

    def receive(self, goes_on: Callable[[], bool] = lambda: True) -> Any:
        """The next value; None if the connection is closed or `goes_on` returns False."""
        while b"\n" not in self._received:
            if select.select([self._connection], [], [], TICK)[0]:
                data = self._connection.recv(1 << 16)
                if not data:
                    return None
                self._received += data
            elif not goes_on():
                return None
        line, _, self._received = self._received.partition(b"\n")
        return json.loads(line)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


class Door:
    """The listening end, to which the first rank of a job connects; the rank must know the key."""

    def __init__(self) -> None:
        allocation = current_allocation()
        several = allocation is not None and allocation.nodes > 1
        self._server = socket.create_server(("" if several else "127.0.0.1", 0))
        self.host = socket.gethostname() if several else "127.0.0.1"
        self.port: int = self._server.getsockname()[1]
        self.key = secrets.token_hex(16)

    def accept(self, goes_on: Callable[[], bool]) -> Link | None:
        """The link to the rank that connects; None if `goes_on` returns False."""
        while goes_on():
            if select.select([self._server], [], [], TICK)[0]:
                link = Link(self._server.accept()[0])
                try:
                    told = link.receive(goes_on)
                except (ValueError, OSError):  # not one of our ranks: a scan of ports, for example
                    told = None
                if isinstance(told, str) and hmac.compare_digest(told.encode(), self.key.encode()):
                    return link
                link.close()
        return None

    def close(self) -> None:
        """Stop listening."""
        self._server.close()


def connect(host: str, port: int, key: str) -> Link:
    """Connect to the process that opened a `Door`; returns the link."""
    link = Link(socket.create_connection((host, port)))
    link.send(key)
    return link
