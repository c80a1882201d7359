"""`RRefProxy`: calls methods of the value that an RRef refers to, on its owner."""

from __future__ import annotations

import functools
from typing import Any

from ._rref_calls import value_of
from .functions import async_execution


def _local_invoke(number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return getattr(value_of(number), name)(*args, **kwargs)


@async_execution
def _local_invoke_async_execution(number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return getattr(value_of(number), name)(*args, **kwargs)


class RRefProxy:
    """What `rref.rpc_sync()`, `rref.rpc_async()` and `rref.remote()` give: its attributes are the value's methods."""

    def __init__(self, rref: Any, rpc_api: Any, timeout: float) -> None:
        self.rref, self.rpc_api, self.rpc_timeout = rref, rpc_api, timeout

    def __getattr__(self, name: str) -> Any:
        return functools.partial(self._call, name)

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        from . import _rref_calls, api

        rref, kind = self.rref, self.rpc_api
        method = getattr(rref._get_type(timeout=self.rpc_timeout), name)
        invoke = _local_invoke_async_execution if hasattr(method, "_wrapped_async_rpc_function") else _local_invoke
        if kind == "remote":
            made = _rref_calls.remote(
                rref.owner(), invoke, (rref._record.number, name, args, kwargs), None, self.rpc_timeout
            )
            made._get_future()._add(lambda fut: rref)
            return made
        arguments = (rref._record.number, name, args, kwargs)
        if kind == "rpc_sync":
            return api.rpc_sync(rref.owner(), invoke, arguments, None, self.rpc_timeout)
        future = api.rpc_async(rref.owner(), invoke, arguments, None, self.rpc_timeout)
        future._add(lambda fut: rref)
        return future
