"""Parses the place of a remote module, such as "worker1/cuda:0"."""

from __future__ import annotations

import re

from mpigrad._array.device import device as as_device

_KINDS = re.compile(r"(cpu|cuda)(:\d+)?$")


def parse(remote_device: str) -> tuple[str | int, str]:
    """Return the worker (name or rank) and the device of a place such as "worker1/cuda:0", "worker1" or "rank:1/cpu".

    TypeError or ValueError if it cannot be parsed. Without a device, "cpu".

    >>> parse("worker1/cpu"), parse("rank:2")
    (('worker1', 'cpu'), (2, 'cpu'))
    """
    if not isinstance(remote_device, str):
        raise TypeError(f"Invalid type for remote_device: {type(remote_device)}")
    worker, slash, place = remote_device.partition("/")
    if not worker or "/" in place:
        raise _unreadable(remote_device)
    if not slash and _KINDS.match(worker):
        raise ValueError(f"remote_device {remote_device!r} names no worker: write '<workername>/{remote_device}'")
    device = str(as_device(place)) if slash else "cpu"
    if not worker.startswith("rank:"):
        return worker, device
    if not worker[5:].isdigit():
        raise _unreadable(remote_device)
    return int(worker[5:]), device


def _unreadable(remote_device: str) -> ValueError:
    return ValueError(
        f"Could not parse remote_device: {remote_device}. The valid format is '<workername>/<device>' or "
        "'rank:<rank>/<device>' or '<device>'"
    )
