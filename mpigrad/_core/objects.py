"""Low-level operations on objects: C fields, reference counts, locks. This is the plain Python form.

`objects.pyx` replaces this module when it is compiled. Plain Python cannot tell reliably whether a reference is the only one, so
all such functions return False: gradients are copied where compiled modules reuse their memory.

`Mutex`, the lock of RPC and distributed autograd, is `threading.Lock` here. Compiled modules acquire and release it without
calling Python, at a tenth of the cost. Code that takes a lock for every message uses `acquire`, `try` and `finally` instead of
`with`, which looks up its methods by name. (In plain Python an interrupt between `acquire` and `try` would leave the lock held;
compiled modules do not handle signals there.)
"""

from __future__ import annotations

from threading import Lock as Mutex
from threading import get_ident as thread_id
from typing import Any

__all__ = ["Mutex", "new", "show", "sole", "sole_bases", "sole_item", "sole_part", "thread_id"]


def show(cls: type) -> None:
    """Make the C fields of a class accessible from Python (as `__slots__` are). Here they are slots already."""


def new(base: Any, cls: Any) -> Any:
    """Create an object of `cls` with the `__new__` of `base`, even if `cls` overrides it. C fields are None."""
    if not issubclass(cls, base):
        raise TypeError(f"{cls!r} is no subclass of {base!r}")
    return base.__new__(cls)


def sole(value: Any) -> bool:
    """Whether the caller's variable is the only reference to an object. Only for variables of compiled functions."""
    return False


def sole_part(owner: Any, name: str) -> bool:
    """Whether the attribute `name` of `owner` is the only reference to its value."""
    return False


def sole_item(items: tuple[Any, ...], place: int) -> bool:
    """Whether a tuple has the only reference to its item number `place`."""
    return False


def sole_bases(array: Any) -> bool:
    """Whether the base arrays of a view have no other references. Receive buffers of RPC count like arrays (`lends_memory`);
    for other kinds of memory it is not known who uses them, so the answer is False."""
    return False
