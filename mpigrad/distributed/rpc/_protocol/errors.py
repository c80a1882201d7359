"""Errors across workers: the remote exception itself on the caller, with the remote traceback as its cause."""

from __future__ import annotations

import pickle
import traceback
from types import FunctionType
from typing import Any

from mpigrad import _cloud_pickle

from .worker_info import WorkerInfo

_RPC = __name__.partition("._protocol")[0]  # the package whose frames remote tracebacks leave out
LONGEST_TEXT = 1 << 16  # characters of an error's text

class RemoteTraceback(Exception):
    """The cause of an exception that came from another worker: which worker, and where it happened there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return self.text


def pack_error(worker: WorkerInfo, error: BaseException) -> bytes:
    """An exception as bytes: itself if it can be pickled, and always its text."""
    message = _safe_str(error)
    shown = _safe_repr(error) if len(message) <= LONGEST_TEXT else f"{type(error).__name__}({_cut(message)!r})"
    text = f"On {worker}:\n{_cut(shown)}\n{_traceback(error)}"
    return pickle.dumps((_pickled(error), type(error).__name__, _cut(message), text), 5)


def _cut(text: str) -> str:
    """A text that people can read; the exception itself travels whole."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ... ({len(text)} characters)"


def _traceback(error: BaseException) -> str:
    """The traceback as text, with the errors that led to this one; each error's own text is cut."""
    found = traceback.TracebackException(type(error), error, _user_part(error))
    seen, left = set(), [found]
    while left:
        each: Any = left.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            if isinstance(getattr(each, "_str", None), str):
                each._str = _cut(each._str)
            left += [each.__cause__, each.__context__, *(getattr(each, "exceptions", None) or ())]
    return "".join(found.format())


def _user_part(error: BaseException) -> Any:
    """The traceback without the frames of RPC itself."""
    trace = error.__traceback__
    while (
        trace is not None and trace.tb_next is not None and _RPC in trace.tb_frame.f_globals.get("__name__", "")
    ):
        trace = trace.tb_next
    return trace


def _safe_repr(error: BaseException) -> str:
    try:
        return repr(error)
    except Exception:
        return f"<{type(error).__name__} whose repr fails>"


def _safe_str(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return f"<{type(error).__name__} whose str fails>"


def _pickled(error: BaseException) -> bytes:
    """The exception's type, arguments and attributes; empty if they cannot travel."""
    try:
        cls, arguments, state = type(error), _arguments(error), dict(error.__dict__)
    except Exception:
        return b""
    state.pop("__notes__", None)
    for attempt in ((cls, arguments, state), (cls, arguments, {})):
        try:
            return _dumps(attempt)
        except Exception:
            continue
    return b""


def _arguments(error: BaseException) -> tuple[Any, ...]:
    """What to construct a built-in exception with; for those of users, their `args`, set without calling the
    constructor.
    """
    if _is_builtin(type(error)):
        reduced = error.__reduce__()
        if isinstance(reduced, tuple) and reduced[0] is type(error):
            return reduced[1]  # OSError keeps its file name apart from `args`
    return error.args


def _is_builtin(cls: type[BaseException]) -> bool:
    """Whether the constructor is a built-in one, which keeps what it is given in places of its own."""
    return not isinstance(cls.__init__, FunctionType)


def _dumps(obj: Any) -> bytes:
    try:
        return pickle.dumps(obj, 5)
    except Exception:
        return _cloud_pickle.dumps(obj)


def unpack_error(data: Any) -> BaseException:
    """The exception again; RuntimeError with the whole text if its type is not known here."""
    pickled, name, message, text = pickle.loads(data)
    try:
        cls, arguments, state = pickle.loads(pickled) if pickled else (None, (), {})
    except Exception:
        cls = None
    if cls is None or not issubclass(cls, Exception):
        error: BaseException = RuntimeError(f"{name}: {message}\n{text}")
    else:
        try:
            error = _remake(cls, arguments, state)
        except Exception as failure:
            error = RuntimeError(f"{name}: {message} (its type cannot be made again here: {failure})\n{text}")
    BaseException.__setattr__(error, "__cause__", RemoteTraceback(text))  # its class may refuse attributes
    return error


def _remake(cls: type[BaseException], arguments: tuple[Any, ...], state: dict[str, Any]) -> BaseException:
    """An exception with these arguments and attributes, whatever its constructor wants."""
    if _is_builtin(cls):
        error = cls(*arguments)
    else:
        error = cls.__new__(cls, *arguments)
        BaseException.__setattr__(error, "args", arguments)
    error.__dict__.update(state)
    return error


class WorkerGoneError(RuntimeError):
    """A call to a worker that has left, or that left before it answered."""


class RpcTimeoutError(RuntimeError, TimeoutError):
    """A call was not answered in time."""


class SendFailedError(RuntimeError):
    """A message could not be sent, so its receiver knows nothing of it."""
