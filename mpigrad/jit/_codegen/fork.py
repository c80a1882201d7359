"""`jit.fork` and `jit.wait`: a scripted function running beside the caller, within the same autograd modes and context.

The RPC agent's pool runs it where there is one, a thread of its own elsewhere. The layers above are looked up by name
in what is already imported: a process without RPC has no agent and no distributed context to carry over.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from mpigrad._graph.grad_mode import MODE, set_grad_enabled
from mpigrad.futures import Future


def fork(func: Any, *args: Any, **kwargs: Any) -> Future:
    """Start `func(*args, **kwargs)` and return the future of its result.

    >>> import mpigrad
    >>> fut = mpigrad.jit.fork(mpigrad.add, mpigrad.ones(2), 1)
    >>> mpigrad.jit.wait(fut).tolist()
    [2.0, 2.0]
    """
    fut: Future = Future()
    enabled, context, agent = MODE.enabled, _context(), _agent()

    def run() -> None:
        try:
            with set_grad_enabled(enabled), _running(context):
                result = func(*args, **kwargs)
        except BaseException as error:
            fut.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
        else:
            fut.set_result(result)

    if agent is not None:
        agent.progress.pool.submit(run)
    else:
        threading.Thread(target=run, name=f"jit-fork-{getattr(func, '__name__', '')}", daemon=True).start()
    return fut


def wait(future: Future) -> Any:
    """Wait for what `fork` started and return its result.

    >>> import mpigrad
    >>> mpigrad.jit.wait(mpigrad.jit.fork(mpigrad.ones, 1)).item()
    1.0
    """
    return future.wait()


def _agent() -> Any:
    module = sys.modules.get("mpigrad.distributed.rpc._agent.current")
    return None if module is None else module.current.agent


def _context() -> Any:
    module = sys.modules.get("mpigrad.distributed.autograd._context.container")
    return None if module is None else module.CURRENT.context


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def _running(context: Any) -> Any:
    """Within the block the context is this thread's."""
    module = sys.modules.get("mpigrad.distributed.autograd._context.interceptor")
    return _Nothing() if module is None else module.Running(context)
