"""`WorkerInfo`, the name and id of a worker, and the rules for names."""

from __future__ import annotations

import re
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9\-_:]+\Z")
MAX_NAME_LENGTH = 128


class WorkerInfo:
    """Name and id (rank) of a worker. RPC creates these objects; users get them from `get_worker_info`.

    Two objects are equal if both name and id are. Creating one with an invalid name raises a TypeError or RuntimeError.

    >>> WorkerInfo("worker1", 1)
    WorkerInfo(id=1, name=worker1)
    """

    __slots__ = ("id", "name")

    def __init__(self, name: str, id: int) -> None:
        if not isinstance(name, str) or not hasattr(id, "__index__"):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                f"    1. mpigrad.distributed.rpc.WorkerInfo(name: str, id: int)\n\nInvoked with: {name!r}, {id!r}"
            )
        self.name = check_name(name)
        self.id = id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkerInfo) and other.id == self.id and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"

    def __reduce__(self) -> tuple[type[WorkerInfo], tuple[str, int]]:
        return WorkerInfo, (self.name, self.id)


def check_name(name: object) -> str:
    """Return the name of a worker if it is valid; otherwise raise a TypeError or RuntimeError with the rule."""
    if not isinstance(name, str):
        raise TypeError(f"Argument name must be a str, but got {name!r} of type {type(name).__name__}")
    if not _NAME.match(name) or len(name) >= MAX_NAME_LENGTH:
        raise RuntimeError(
            "Worker name must match ^[A-Za-z0-9-_:]*$, and must be non-empty and shorter than "
            f"{MAX_NAME_LENGTH} chars, but got {name}"
        )
    return name


# Types of the arguments of calls. `args` is not checked against `func`: type checkers cannot match a tuple with parameters.
To = str | int | WorkerInfo
Args = tuple[Any, ...] | list[Any] | None
Kwargs = dict[str, Any] | None
