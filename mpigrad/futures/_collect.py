"""Combines many futures into one."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from mpigrad._core.future import Future


def collect_all(futures: Iterable[Future]) -> Future:
    """Return a future of the list `futures`, which is completed when all of them are; it fails if one of them fails.

    If a remote call or a callback of `then` fails, it fails at once, with the same error. Errors given by `set_exception`
    do not end it early, as in PyTorch: they are raised when all futures are complete.

    >>> from mpigrad.futures import Future, collect_all
    >>> a, b = Future(), Future()
    >>> both = collect_all([a, b])
    >>> a.set_result(1); b.set_result(2)
    >>> [f.value() for f in both.wait()]
    [1, 2]
    """
    futures = _checked("collect_all", futures)
    everything: Future = Future()
    if not futures:
        everything.set_result([])
        return everything
    left = len(futures)
    lock = threading.Lock()

    def one_done(fut: Future) -> None:
        nonlocal left
        failed = fut._state == 2 and not getattr(fut, "_given_error", False)
        with lock:
            if not left:
                return  # another one has failed
            left = 0 if failed else left - 1
            if left:
                return
        first = fut if failed else next((f for f in futures if f._state == 2), None)
        if first is None:
            everything.set_result(futures)
        else:
            everything._set(2, first._value)

    for fut in futures:
        fut._add(one_done)  # runs no user code, so it may run on any thread
    return everything


def wait_all(futures: Iterable[Future]) -> list[Any]:
    """Wait, without a limit, for every future and return the list of their values.

    If a remote call or a callback of `then` fails, its error is raised at once. Errors given by `set_exception` are raised when
    all futures are complete: that of the first such future in the list (see `collect_all`).

    >>> from mpigrad.futures import Future, wait_all
    >>> a = Future(); a.set_result(3)
    >>> wait_all([a])
    [3]
    """
    return [fut.wait() for fut in collect_all(_checked("wait_all", futures)).wait()]


def _checked(name: str, futures: Any) -> list[Future]:
    if isinstance(futures, Iterable):
        found = list(futures)
        if all(isinstance(f, Future) for f in found):
            return found
    raise TypeError(f"{name}(): expected a sequence of mpigrad.futures.Future, but got {futures!r}")
