"""Operators by namespace, as programs name them that call operators of PyTorch's own libraries: those of the profiler."""

from __future__ import annotations

from typing import Any

from .autograd.profiler import record_function


class profiler:
    """The profiler's operators, for Python and for scripts."""

    @staticmethod
    def _record_function_enter_new(name: str, args: str | None = None) -> record_function:
        """Begin a block."""
        return record_function(name, args).__enter__()

    _record_function_enter = _record_function_enter_new  # the older name

    @staticmethod
    def _record_function_exit(record: record_function) -> None:
        """End a block."""
        record.__exit__(None, None, None)

    @staticmethod
    def _call_end_callbacks_on_jit_fut(record: record_function, fut: Any) -> Any:
        """Let a block last until a future is done; gives a future with the same result that comes after that."""
        record.run_callbacks_on_exit = False
        return record._end_with(fut)


for _name, _operator in vars(profiler).items():
    if isinstance(_operator, staticmethod):
        vars(_operator.__func__)["_jit_mark"] = "special"  # lowered in a way of its own: see `mpigrad.jit._lower.calls`
