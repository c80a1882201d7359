"""Decorators for functions that are called by RPC."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Fn = TypeVar("Fn", bound=Callable[..., Any])


def async_execution(fn: Fn) -> Fn:
    """Decorate a function that returns a `Future`: a remote call of it is answered with the future's value once that is set.

    The thread that runs the function is free again as soon as it returns; without the decorator a function that has to wait
    for something occupies its thread meanwhile. RuntimeError on the caller if the function returns no Future. A local call just
    returns the future:

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
