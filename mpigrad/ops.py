"""The counterpart of `torch.ops`: operators by namespace. Only those of the profiler exist here."""

from __future__ import annotations

from typing import Any

from .autograd.profiler import record_function


class profiler:
    """The profiler's operators, for Python and for scripted code: blocks whose time is recorded."""

    @staticmethod
    def _record_function_enter_new(name: str, args: str | None = None) -> record_function:
        """Start a labelled block of the profiler, and return it."""
        return record_function(name, args).__enter__()

    _record_function_enter = _record_function_enter_new  # the older name

    @staticmethod
    def _record_function_exit(record: record_function) -> None:
        """End a block that `_record_function_enter_new` started."""
        record.__exit__(None, None, None)

    @staticmethod
    def _call_end_callbacks_on_jit_fut(record: record_function, fut: Any) -> Any:
        """Extend a block until a future is done; returns a future with the same result that completes after the block."""
        record.run_callbacks_on_exit = False
        return record._end_with(fut)


for _name, _operator in vars(profiler).items():
    if isinstance(_operator, staticmethod):
        vars(_operator.__func__)["_jit_mark"] = "special"  # has a special lowering: see `mpigrad.jit._lower.calls`
