"""Futures of PyTorch, which functions with `async_execution` may return."""

from __future__ import annotations

from typing import Any

from .._core.future import Future


def is_torch_future(value: Any) -> bool:
    """Whether a value is a `torch.futures.Future`; torch is not imported for it."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "add_done_callback")


def following(other: Any) -> Future:
    """A future that is completed when one of torch is, with its value or error."""
    made = Future()

    def done(fut: Any) -> None:
        try:
            made.set_result(fut.value())
        except BaseException as error:
            made.set_exception(error)

    other.add_done_callback(done)
    return made
