"""Decorators for functions that are called by RPC."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Fn = TypeVar("Fn", bound=Callable[..., Any])


def async_execution(fn: Fn) -> Fn:
    """Decorate a function that returns a `Future`: callers get the future's value when it is done, and no thread waits for it.

    Without the decorator, the thread that runs the function would be occupied until the result is there.

    >>> import mpigrad.distributed.rpc as rpc
    >>> from mpigrad.futures import Future
    >>> @rpc.functions.async_execution
    ... def later():
    ...     fut = Future()
    ...     fut.set_result(1)
    ...     return fut
    >>> later().wait()
    1
    """

    @wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    wrapper._wrapped_async_rpc_function = wrapper  # type: ignore[attr-defined]
    return wrapper  # type: ignore[return-value]
