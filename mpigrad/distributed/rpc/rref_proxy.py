"""`RRefProxy`: calls methods of an RRef's value on its owner. Returned by `rref.rpc_sync()`, `rpc_async()` and `remote()`."""

from __future__ import annotations

import copy
import functools
from typing import Any

from mpigrad._core.future import Future
from mpigrad._core.rpc.calls import name_of
from mpigrad._core.rpc.rref import RRef, install_proxy, remote, value_of

from . import api
from ._protocol import extensions
from .constants import UNSET_RPC_TIMEOUT as UNSET_RPC_TIMEOUT
from .functions import async_execution


def _local_invoke(number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return getattr(value_of(number), name)(*args, **kwargs)


@async_execution
def _local_invoke_async_execution(number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return getattr(value_of(number), name)(*args, **kwargs)


class RRefProxy:
    """Calls methods of an RRef's value on its owner; `rref.rpc_sync()`, for example, returns one.

    `proxy.method(*args)` makes the call.

    Args:
        rref: the reference to the value.
        rpc_api: what a method call returns: "rpc_sync" the result, "rpc_async" a `Future` of it, "remote" an `RRef` to it.
        timeout: that of the call, in seconds, 0 for no limit, -1 for `rpc_timeout` of the options of `init_rpc`.
    """

    def __init__(self, rref: RRef, rpc_api: str, timeout: float) -> None:
        self.rref, self.rpc_api, self.rpc_timeout = rref, rpc_api, timeout

    def __getattr__(self, name: str) -> Any:
        return functools.partial(self._call, name)

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        rref, arguments = self.rref, (self.rref._record.number, name, args, kwargs)
        if self.rpc_api == "rpc_async":
            return self._call_once_known(name, arguments)
        invoke = _invoker(rref._get_type(timeout=self.rpc_timeout), name)
        if self.rpc_api == "rpc_sync":
            return api.rpc_sync(rref.owner(), invoke.for_value_of(rref), arguments, None, self.rpc_timeout)
        made = remote(rref.owner(), invoke, arguments, None, self.rpc_timeout)
        made._get_future()._add(lambda fut: rref)  # a callback that only keeps the RRef alive until the call is done
        return made

    def _call_once_known(self, name: str, arguments: tuple[Any, ...]) -> Future:
        """Start the call when the type of the value is known, and return a Future of its result.

        The type says whether the method is marked with `async_execution`, and so how it has to be called. If it is not
        known yet, the owner is asked, and the call starts when it has answered; this thread does not wait.
        """
        known, result = self.rref._get_type(timeout=self.rpc_timeout, blocking=False), Future()
        if known.done() and known._state == 1 and hasattr(known.value(), name):  # errors go the other way, into the future
            return self._send(known, name, arguments)
        interceptor, collected = extensions.interceptor, _collected()
        context = None if interceptor is None else interceptor.current.context

        def go_on(fut: Future) -> None:
            try:
                if interceptor is None or context is None:
                    sent = self._send(fut, name, arguments)
                else:
                    with interceptor.running(context):
                        sent = self._send(fut, name, arguments)
                sent._add(lambda answer: _pass_on(answer, result))
            except Exception as error:
                result._set(2, error)

        known.add_done_callback(go_on)
        if collected is not None:
            collected.append(result)
        return result

    def _send(self, known: Future, name: str, arguments: tuple[Any, ...]) -> Future:
        rref = self.rref
        future = api.rpc_async(rref.owner(), _invoker(known.value(), name), arguments, None, self.rpc_timeout)
        future._add(lambda fut: rref)  # keeps the RRef alive until the call is done
        return future


class _MethodCall:
    """What is sent to call a method of a value on its owner: a function of this module, shown under the method's name.

    `function` is `_local_invoke` or its variant for `async_execution`; errors, traces and tables show `method`.
    """

    def __init__(self, function: Any, method: str) -> None:
        self._function, self._wire_name = function, name_of(function)
        self.__module__, self.__qualname__ = function.__module__, method
        self.__name__ = method.rpartition(".")[2]
        self.rref: RRef | None = None
        if hasattr(function, "_wrapped_async_rpc_function"):
            self._wrapped_async_rpc_function = function

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    def for_value_of(self, rref: RRef) -> _MethodCall:
        """Return a copy that refers to the RRef, and so keeps it alive while the call is pending.

        Otherwise a caller that was interrupted could drop the last reference before the call has run.
        """
        made = copy.copy(self)
        made.rref = rref
        return made


@functools.lru_cache(1024)
def _invoker(kind: Any, name: str) -> Any:
    """Return the `_MethodCall` for the method `name` of values of type `kind`; AttributeError if the type has no such method."""
    later = hasattr(getattr(kind, name), "_wrapped_async_rpc_function")
    return _MethodCall(_local_invoke_async_execution if later else _local_invoke, f"{kind.__qualname__}.{name}")


def _pass_on(answer: Future, result: Future) -> None:
    if answer._state == 2:
        result._set(2, answer._value)
    else:
        result.set_result(answer._value)


def _collected() -> list[Future] | None:
    """Return the list in which this thread collects futures inside `_wait_all`; None outside of it."""
    return getattr(api._thread_local_var, "future_list", None)


install_proxy(RRefProxy)
