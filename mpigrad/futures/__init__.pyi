"""Futures, with the types of their values. The class itself is compiled and cannot be `Generic`; tools/check_types.py compares."""

from collections.abc import Callable, Generator
from types import GenericAlias
from typing import Any, Generic, TypeVar

from mpigrad._core.future import Future as _Future

_T = TypeVar("_T")
_S = TypeVar("_S")

class Future(_Future, Generic[_T]):
    """A value of the future: set once, with `set_result` or `set_exception`, by any thread."""

    def __init__(self, *, devices: list[Any] | None = None) -> None: ...
    def done(self) -> bool:
        """Return True when the value or the error is there."""
    def wait(self) -> _T:
        """Block until the value is there and return it, or raise the error."""
    def value(self) -> _T:
        """Return the value of a completed future without waiting, or raise its error."""
    def then(self, callback: Callable[[Future[_T]], _S]) -> Future[_S]:  # type: ignore[override]
        """Return the future of `callback(self)`, called once this one is completed (at once, if it is already)."""
    def add_done_callback(self, callback: Callable[[Future[_T]], None]) -> None:  # type: ignore[override]
        """Call `callback(self)` once this future is completed; an exception it raises is logged."""
    def set_result(self, result: _T) -> None:
        """Complete this future with a value: wakes its waiters, runs its callbacks."""
    def set_exception(self, result: BaseException) -> None:
        """Complete this future with an error, which `wait` and `value` raise."""
    def __class_getitem__(cls, item: Any, /) -> GenericAlias: ...
    def __await__(self) -> Generator[Any, None, _T]: ...

def collect_all(futures: list[Future[_T]]) -> Future[list[Future[_T]]]:
    """Return the future of the list itself, completed once all of its futures are."""

def wait_all(futures: list[Future[_T]]) -> list[_T]:
    """Wait for all futures and return the list of their values; raise the first error."""

__all__ = ["Future", "collect_all", "wait_all"]
