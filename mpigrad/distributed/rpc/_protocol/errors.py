"""Errors across workers: the remote exception itself on the caller, with the remote traceback as its cause.

PyTorch's callers get a RuntimeError for most types: all but ValueError and TypeError, and for every type whose constructor wants
more than a text, whose message then says "Original exception on remote side was". Programs catch and compare that. So an
exception of such a type is an instance of a class derived from its own and from RuntimeError: both `except` clauses catch it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import pickle
import sys
import traceback
from types import FunctionType
from typing import Any

from mpigrad import _cloud_pickle

from .worker_info import WorkerInfo

_RPC = ("mpigrad.distributed.rpc.", "mpigrad._core.rpc.")  # packages whose frames remote tracebacks leave out
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
    return pickle.dumps((_pickled(error), type(error).__name__, _cut(_safe_str(error)), _text(worker, error)), 5)


def print_error(worker: WorkerInfo, error: BaseException) -> None:
    """Show an error of a user's function on this worker's stderr, as PyTorch does."""
    with contextlib.suppress(Exception, SystemExit):  # there may be no stderr; the error's own methods may raise or exit
        print(_text(worker, error), file=sys.stderr)


def _text(worker: WorkerInfo, error: BaseException) -> str:
    message = _safe_str(error)
    shown = _safe_repr(error) if len(message) <= LONGEST_TEXT else f"{type(error).__name__}({_cut(message)!r})"
    return f"On {worker}:\n{_cut(shown)}\n{_traceback(error)}"


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
        trace is not None
        and trace.tb_next is not None
        and trace.tb_frame.f_globals.get("__name__", "").startswith(_RPC)
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
        cls, arguments, state = _own_type(error), _arguments(error), dict(error.__dict__)
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
        reduced = _own_type(error).__reduce__(error)
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
        error: BaseException = RuntimeError(f"{name}: {message}\nOriginal exception on remote side was {text}")
    else:
        try:
            error = _remake(_type_for_callers(cls), arguments, state)
        except Exception as failure:
            error = RuntimeError(
                f"{name}: {message}\nFailed to create original exception type. Error msg was {failure} "
                f"Original exception on remote side was {text}"
            )
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


def as_runtime_error(error: BaseException) -> BaseException:
    """The error, as a RuntimeError too: one of a class derived from both types, or one with the error as its cause."""
    if isinstance(error, RuntimeError) or not isinstance(error, Exception):
        return error
    try:
        cls: Any = type(error)
        made = _remake(_derived(cls, (), (RuntimeError,)), _arguments(error), dict(error.__dict__))
    except Exception:
        made = RuntimeError(f"{type(error).__name__}: {_safe_str(error)}")
        made.__cause__ = error
        return made
    for name in ("__cause__", "__context__", "__traceback__"):
        BaseException.__setattr__(made, name, getattr(error, name))  # its class may refuse attributes
    return made


def copied(error: BaseException) -> BaseException:
    """The error again, without its traceback."""
    made = _remake(type(error), _arguments(error), dict(error.__dict__))
    BaseException.__setattr__(made, "__cause__", error.__cause__)
    return made


def _type_for_callers(cls: Any) -> type[BaseException]:
    """What an exception of the type `cls` is on the caller: see the top of this file."""
    simple = _made_from_text(cls)
    if simple and issubclass(cls, (RuntimeError, ValueError, TypeError)):
        return cls
    return _derived(cls, () if simple else (_Explained,), () if issubclass(cls, RuntimeError) else (RuntimeError,))


@functools.lru_cache(maxsize=256)
def _made_from_text(cls: type[BaseException]) -> bool:
    """Whether the constructor can be called with a text alone."""
    if issubclass(cls, (UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError)):
        return False
    if _is_builtin(cls):
        return True
    try:
        inspect.signature(cls).bind("")
    except (TypeError, ValueError):
        return False
    return True


class _Explained:
    """The text that PyTorch's callers know from exceptions that cannot be made from a text."""

    def __str__(self: Any) -> str:
        return f"{_own_type(self).__str__(self)} (Original exception on remote side was {BaseException.__repr__(self)})"


@functools.lru_cache(maxsize=256)
def _derived(cls: type[BaseException], before: tuple[type, ...], after: tuple[type, ...]) -> type[BaseException]:
    """A class named as `cls`, derived from it and from others."""
    space = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "_derived_from": cls, "__reduce__": _reduced}
    metaclass: Any = type(cls)
    return metaclass(cls.__name__, (*before, cls, *after), space)


def _own_type(error: BaseException) -> type[BaseException]:
    """The type that an exception was raised with."""
    return getattr(type(error), "_derived_from", type(error))


def _reduced(error: BaseException) -> Any:
    """Pickles as an exception of the type that it was raised with."""
    return _remake, (_own_type(error), _arguments(error), dict(error.__dict__))


class WorkerGoneError(RuntimeError):
    """A call to a worker that has left, or that left before it answered."""


class RpcTimeoutError(RuntimeError, TimeoutError):
    """A call was not answered in time."""


class CreationTimedOutError(RpcTimeoutError):
    """An RRef was used whose creation timed out or could not be sent."""

    def __init__(self) -> None:
        super().__init__(
            "RRef creation via rpc.remote() timed out, and it is possible that the RRef on the owner node does not exist."
        )


class SendFailedError(RuntimeError):
    """A message could not be sent, so its receiver knows nothing of it."""
