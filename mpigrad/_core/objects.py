"""What Python has no form for: objects with C fields, who holds an object, locks. This is the plain form.

`objects.pyx` is compiled in this module's place. Plain Python cannot count holders exactly, so nothing is known to have
only one: gradients are copied where compiled modules take them over.

`Mutex`, the lock for the way of calls and passes, is `threading.Lock` here. Compiled modules take and leave theirs
without going through Python, with a tenth of the steps. They write `acquire`, `try` and `finally` where a lock is taken
for every message: `with` looks for methods by name. (An interrupt whose handler raises can come between `acquire` and
`try` in plain Python, where it would leave the lock taken; compiled modules look for signals in neither place.)
"""

from __future__ import annotations

from threading import Lock as Mutex
from threading import get_ident as thread_id
from typing import Any

__all__ = ["Mutex", "new", "show", "sole", "sole_bases", "sole_item", "sole_part", "thread_id"]


def show(cls: type) -> None:
    """Let Python read and write the C fields of a class (`__slots__`) as fast as slots. Here they are slots."""


def new(base: Any, cls: Any) -> Any:
    """An object of `cls`, made as `base` makes them, whatever `cls` has for `__new__`. Its C fields are None."""
    if not issubclass(cls, base):
        raise TypeError(f"{cls!r} is no subclass of {base!r}")
    return base.__new__(cls)


def sole(value: Any) -> bool:
    """Whether the caller's variable is the only reference to an object. For variables of compiled functions."""
    return False


def sole_part(owner: Any, name: str) -> bool:
    """Whether an attribute is the only reference to its value."""
    return False


def sole_item(items: tuple[Any, ...], place: int) -> bool:
    """Whether a tuple is the only one to refer to one of its items."""
    return False


def sole_bases(array: Any) -> bool:
    """Whether the arrays of which a view is made have no other holder. Memory that RPC received into counts like an array,
    since it says so (`lends_memory`); of anything else it is not known who uses it."""
    return False
