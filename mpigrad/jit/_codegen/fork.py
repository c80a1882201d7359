"""`jit.fork` and `jit.wait`: run a function concurrently, with the caller's grad mode and autograd context."""

from __future__ import annotations

from typing import Any

from mpigrad._core.future import Future, carried, start
from mpigrad._graph.grad_mode import MODE, set_grad_enabled

from .._ir.operators import special_form


@special_form
def fork(func: Any, *args: Any, **kwargs: Any) -> Future:
    """Start `func(*args, **kwargs)` on another thread and return the future of its result, for `wait`.

    It runs with the caller's grad mode and distributed autograd context.

    >>> import mpigrad
    >>> fut = mpigrad.jit.fork(mpigrad.add, mpigrad.ones(2), 1)
    >>> mpigrad.jit.wait(fut).tolist()
    [2.0, 2.0]
    """
    fut: Future = Future()
    enabled = MODE.enabled

    def call(_: Future) -> Any:
        with set_grad_enabled(enabled):
            return func(*args, **kwargs)

    in_context = carried(call)

    def run() -> None:
        try:
            result = in_context(fut)
        except BaseException as error:
            fut.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
        else:
            fut.set_result(result)

    start(run, f"jit-fork-{getattr(func, '__name__', '')}")
    return fut


@special_form
def wait(future: Future) -> Any:
    """Wait for a future that `fork` returned; returns its result or raises its error.

    >>> import mpigrad
    >>> mpigrad.jit.wait(mpigrad.jit.fork(mpigrad.ones, 1)).item()
    1.0
    """
    return future.wait()
