"""`async_execution`, a decorator for functions that are called by RPC and answer later."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Fn = TypeVar("Fn", bound=Callable[..., Any])


def async_execution(fn: Fn) -> Fn:
    """Decorate a function that returns a `Future`: a remote call of it is answered with the future's value once that is set.

    For functions that wait for something, such as further calls: the thread that runs the function is free again as soon as
    it has returned the future. If it returns anything else, the caller gets a RuntimeError. When the decorated function is
    called without RPC, it just returns its future:

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
