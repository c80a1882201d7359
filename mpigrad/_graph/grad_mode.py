"""Grad modes: whether operations are recorded. Thread-local; set by context managers and decorators."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

Fn = TypeVar("Fn", bound=Callable[..., Any])


class _Mode(threading.local):
    """The modes of this thread. New threads start with the class attributes."""

    enabled = True  # record operations
    inference = False  # tensors made now can never be recorded later


MODE = _Mode()


class _Tracing:
    """Whether operators must avoid their fast paths: `detour`, the only attribute that they read, because it is
    checked on every operation.
    """

    on = False  # a watcher (profiler, anomaly detection) is registered
    inferring = 0  # how many threads are in inference mode
    detour = False  # `on`, or a thread in inference mode

    def update(self) -> None:
        """Recompute `detour`. Called under `detour_lock`."""
        self.detour = self.on or self.inferring > 0


TRACING = _Tracing()
detour_lock = threading.RLock()


def _set_inference(inference: bool) -> None:
    """Switch this thread's inference mode."""
    if MODE.inference is not inference:
        MODE.inference = inference
        with detour_lock:
            TRACING.inferring += 1 if inference else -1
            TRACING.update()


def current_modes() -> tuple[bool, bool]:
    """The modes of this thread, for `set_modes` on another one."""
    return MODE.enabled, MODE.inference


def set_modes(modes: tuple[bool, bool]) -> None:
    """Set the modes of this thread."""
    MODE.enabled = modes[0]
    _set_inference(modes[1])


def is_grad_enabled() -> bool:
    """Whether this thread records operations for gradients: True at first, False inside `no_grad` or
    `inference_mode`.

    >>> import mpigrad
    >>> mpigrad.is_grad_enabled()
    True
    """
    return MODE.enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside an `inference_mode` block.

    >>> import mpigrad
    >>> mpigrad.is_inference_mode_enabled()
    False
    """
    return MODE.inference


class _Switch:
    """A context manager that sets the modes and restores them; as a decorator it does so around each call."""

    def __init__(self, enabled: bool, inference: bool | None = None) -> None:
        self._new = (enabled, inference)
        # a stack, because one object may be entered several times, nested
        self._old: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._old.append((MODE.enabled, MODE.inference))
        self._set()

    def _set(self) -> None:
        enabled, inference = self._new
        MODE.enabled = enabled
        if inference is not None:
            _set_inference(inference)

    def __exit__(self, *error: object) -> None:
        self._restore(self._old.pop())

    @staticmethod
    def _restore(modes: tuple[bool, bool]) -> None:
        MODE.enabled, inference = modes
        _set_inference(inference)

    def _again(self) -> _Switch:
        # a new object for each call: one decorated function may run in several threads at once
        made = _Switch.__new__(_Switch)
        made._new, made._old = self._new, []
        return made

    def __call__(self, fn: Fn) -> Fn:
        if inspect.isgeneratorfunction(fn):
            return self._around_generator(fn)

        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return fn(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    def _around_generator(self, fn: Any) -> Any:
        """Set the modes only while the generator runs, not while its consumer does."""

        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            generator, sent = fn(*args, **kwargs), None
            while True:
                with self._again():
                    try:
                        made = generator.send(sent)
                    except StopIteration as end:
                        return end.value
                sent = yield made

        return wrapper


class no_grad(_Switch):
    """A context manager or decorator inside which no operations are recorded: results do not require grad.

    >>> import mpigrad
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> with mpigrad.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, fn: Any = None) -> Any:
        made = object.__new__(cls)
        if fn is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(fn)

    def __init__(self, fn: Any = None) -> None:
        super().__init__(False)


class enable_grad(_Switch):
    """A context manager or decorator inside which operations are recorded, even within `no_grad`.

    >>> import mpigrad
    >>> with mpigrad.no_grad(), mpigrad.enable_grad():
    ...     mpigrad.is_grad_enabled()
    True
    """

    __new__ = no_grad.__new__  # type: ignore[assignment]

    def __init__(self, fn: Any = None) -> None:
        super().__init__(True)


class set_grad_enabled(_Switch):
    """Switch recording on (`mode=True`) or off in this thread: at once when called, and back at the end of a `with`
    block.

    >>> import mpigrad
    >>> with mpigrad.set_grad_enabled(False):
    ...     mpigrad.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._before = (MODE.enabled, MODE.inference)
        self._set()

    def __enter__(self) -> None:
        self._old.append(self._before)
        self._set()

    def __call__(self, fn: Fn) -> Fn:
        self._restore(self._before)
        return super().__call__(fn)


class inference_mode(_Switch):
    """A context manager or decorator like `no_grad`; tensors created inside can never take part in recorded
    operations.

    It saves the bookkeeping for such tensors. `mode=False` switches it off inside.

    >>> import mpigrad
    >>> with mpigrad.inference_mode():
    ...     y = mpigrad.ones(2) * 2
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__()  # type: ignore[misc]
        return made(mode)

    def __init__(self, mode: Any = True) -> None:
        super().__init__(False if mode else MODE.enabled, bool(mode))


def raise_inference() -> None:
    """Raise PyTorch's error for saving a tensor that was created in inference mode."""
    raise RuntimeError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
        "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or "
        "use `mpigrad.no_grad()` instead of `mpigrad.inference_mode()`."
    )
