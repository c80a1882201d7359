"""The connection between pytest and its ranks: strangers that connect do not end the session."""

from __future__ import annotations

import socket

import pytest

from mpigrad.testing._ranks.link import Door, connect


@pytest.mark.parametrize("said", [b"GET / HTTP/1.0\n", b"\xff\xfe\n", b'"\xc3\xa9"\n', b"3\n", b""], ids=str)
def test_a_stranger_is_turned_away(said: bytes) -> None:
    door = Door()
    with socket.create_connection((door.host, door.port)) as stranger:
        stranger.sendall(said)
        stranger.shutdown(socket.SHUT_WR)
        rank = connect(door.host, door.port, door.key)
        link = door.accept(lambda: True)
        assert link is not None
        rank.send({"finished": 1})
        assert link.receive() == {"finished": 1}
        for each in (rank, link, door):
            each.close()
