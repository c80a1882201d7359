"""Anomaly detection: on an error or a NaN in the backward pass, show where the forward operation was called."""

from __future__ import annotations

import os
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from .._array.device import array_module
from .._core.node import AccumulateGrad, Node
from .._graph.tracing import unwatch, watch
from .._tensor import Tensor


class _Anomaly:
    """The watcher: saves the stack of each forward operation and checks the results of nodes."""

    def __init__(self) -> None:
        self.on = False
        self.check_nan = True
        self.running = threading.local()

    def switch(self, mode: bool, check_nan: bool) -> None:
        if mode and not self.on:
            watch(self)
        elif self.on and not mode:
            unwatch(self)
        self.on, self.check_nan = mode, check_nan

    def operator(self, name: str, inputs: Any) -> Any:
        return nullcontext()

    def recorded(self, node: Node) -> None:
        import traceback  # imported late, to keep `import mpigrad` fast

        node.stack = "".join(traceback.format_list(_outside(traceback.extract_stack(sys._getframe(1)))))
        # recorded while a node runs: this is a graph of gradients (create_graph=True)
        above = getattr(self.running, "node", None)
        if above is not None:
            _PARENTS[node] = above

    @contextmanager
    def node(self, node: Node) -> Iterator[None]:
        before = getattr(self.running, "node", None)
        self.running.node = node
        try:
            yield
        except BaseException as error:
            if not getattr(error, "_mpigrad_shown", False):
                # the error passes through all nested nodes on its way up: show the innermost only
                error._mpigrad_shown = True  # type: ignore[attr-defined]
                show(node)
            raise
        finally:
            self.running.node = before

    def ran(self, node: Node, results: Any, F: Any) -> None:
        if not self.check_nan or isinstance(node, AccumulateGrad):
            return
        for place, value in enumerate(results):
            if value is not None and _has_nan(value._array if isinstance(value, Tensor) else value):
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {place}th output.")


ANOMALY = _Anomaly()
_PARENTS: Any = weakref.WeakKeyDictionary()  # a node recorded during a backward pass -> the node that was running


_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _outside(frames: list[Any]) -> list[Any]:
    """A stack without the frames of this library at its end."""
    while frames and frames[-1].filename.startswith(_HERE):
        frames.pop()
    return frames


def _has_nan(array: Any) -> bool:
    if getattr(array, "is_sparse_array", False):
        array = array.values
    if array.dtype.kind not in "fcV":
        return False
    return bool(array_module(array).isnan(array).any())


def show(node: Node) -> None:
    """Warn with the stack of the forward call that recorded `node`, and of the nodes during whose backward it was recorded."""
    stack = getattr(node, "stack", None)
    if stack is None:
        _warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information."
        )
    else:
        _warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{stack}")
    above = _PARENTS.get(node)
    while above is not None:
        stack = getattr(above, "stack", None)
        if stack is None:
            _warn(f"\n\nPrevious calculation was induced by {above.name()}. No forward pass information is available.")
            return
        _warn(
            f"\n\nPrevious calculation was induced by {above.name()}. Traceback of forward call that induced the "
            f"previous calculation:\n{stack}"
        )
        above = _PARENTS.get(above)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=2)


class detect_anomaly:
    """A context manager that finds errors of backward passes: it warns with the stack of the forward operation that
    caused them.

    With `check_nan` (default) a node that returns NaN raises a RuntimeError. The forward pass must run inside, too,
    so that its stacks are saved. This is slow; a warning says so.

    >>> import mpigrad, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # the warning that it is slow
    ...     with mpigrad.autograd.detect_anomaly():
    ...         x = mpigrad.tensor(2.0, requires_grad=True)
    ...         (x * x).backward()
    >>> x.grad
    tensor(4.)
    """

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )
        self.check_nan = check_nan
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((ANOMALY.on, ANOMALY.check_nan))
        ANOMALY.switch(True, self.check_nan)

    def __exit__(self, *error: Any) -> None:
        ANOMALY.switch(*self._before.pop())


class set_detect_anomaly:
    """Switch anomaly detection on or off, as a function or as a context manager; see `detect_anomaly`. `check_nan`:
    look for NaNs.

    >>> import mpigrad
    >>> with mpigrad.autograd.set_detect_anomaly(True):
    ...     mpigrad.autograd.anomaly_mode.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (ANOMALY.on, ANOMALY.check_nan)
        ANOMALY.switch(mode, check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: Any) -> None:
        ANOMALY.switch(*self._before)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection (`detect_anomaly`) is on."""
    return ANOMALY.on


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection (`detect_anomaly`) on or off; `check_nan`: also raise an error when a node returns NaN."""
    ANOMALY.switch(enabled, check_nan)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection looks for NaNs; meaningful only while it is on."""
    return ANOMALY.check_nan


__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_anomaly_enabled", "set_detect_anomaly"]
