"""Errors across workers: the caller gets the callee's exception, with the callee's traceback as its cause.

PyTorch raises a remote exception as a RuntimeError unless it is a ValueError or TypeError, and programs rely on that. Here the
exception of such another type is an instance of a class derived from both its own type and RuntimeError, so that `except`
clauses for either catch it. If its constructor needs more than a message, its text contains "Original exception on remote side
was", as in PyTorch. No function here may raise because of a user's exception class: its `__str__`, `__repr__` and
constructor may fail.
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

from .lost import Loss
from .worker_info import WorkerInfo

_RPC = ("mpigrad.distributed.rpc.", "mpigrad._core.rpc.")  # packages whose frames remote tracebacks leave out
LONGEST_TEXT = 1 << 16  # characters of an error's text that are sent and shown

class RemoteTraceback(Exception):
    """The cause of an exception from another worker; its text names that worker and contains the traceback there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return self.text


def pack_error(worker: WorkerInfo, error: BaseException) -> bytes:
    """Encode an exception for the caller: the exception if it can be pickled, and always its type, text and traceback as text."""
    return pickle.dumps((_pickled(error), type(error).__name__, _cut(safe_str(error)), _text(worker, error)), 5)


def print_error(worker: WorkerInfo, error: BaseException) -> None:
    """Print the error of a user's function, with its traceback, on this worker's stderr, as PyTorch does. Never raises."""
    with contextlib.suppress(Exception, SystemExit):  # there may be no stderr; the error's own methods may raise or exit
        print(_text(worker, error), file=sys.stderr)


def _text(worker: WorkerInfo, error: BaseException) -> str:
    message = safe_str(error)
    shown = _safe_repr(error) if len(message) <= LONGEST_TEXT else f"{type(error).__name__}({_cut(message)!r})"
    return f"On {worker}:\n{_cut(shown)}\n{_traceback(error)}"


def _cut(text: str) -> str:
    """Shorten a text to LONGEST_TEXT characters; the pickled exception itself is not cut."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ... ({len(text)} characters)"


def _traceback(error: BaseException) -> str:
    """Return the traceback as text, with those of causes and contexts. The message of each error is cut."""
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
    """Return the traceback of an error without the outer frames, those of RPC itself."""
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


def safe_str(error: BaseException) -> str:
    """Return the text of an exception; a substitute if its `__str__` fails."""
    try:
        return str(error)
    except Exception:
        return f"<{type(error).__name__} whose str fails>"


def _pickled(error: BaseException) -> bytes:
    """Pickle an exception's type, arguments and attributes, or without the attributes; empty bytes if neither can be pickled."""
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
    """Return the arguments with which `_remake` builds the exception: usually `args`; a built-in type may have more."""
    if _is_builtin(type(error)):
        reduced = _own_type(error).__reduce__(error)
        if isinstance(reduced, tuple) and reduced[0] is type(error):
            return reduced[1]  # OSError keeps its file name apart from `args`
    return error.args


def _is_builtin(cls: type[BaseException]) -> bool:
    """Return whether a class's `__init__` is written in C and so may keep arguments outside `args`, as OSError does.

    True also of a user's class that inherits such an `__init__`.
    """
    return not isinstance(cls.__init__, FunctionType)


def _dumps(obj: Any) -> bytes:
    try:
        return pickle.dumps(obj, 5)
    except Exception:
        return _cloud_pickle.dumps(obj)


def unpack_error(data: Any) -> BaseException:
    """Decode an exception of `pack_error`; a RuntimeError with the whole text if it cannot be constructed here."""
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
    """Construct an exception with these arguments and attributes, without calling a user's constructor."""
    if _is_builtin(cls):
        error = cls(*arguments)
    else:
        error = cls.__new__(cls, *arguments)
        BaseException.__setattr__(error, "args", arguments)
    error.__dict__.update(state)
    return error


def as_runtime_error(error: BaseException) -> BaseException:
    """Return an error that is also a RuntimeError.

    The error itself if it is one; otherwise an equal one of a class derived from its type and RuntimeError; if that
    cannot be made, a plain RuntimeError whose cause is the error.
    """
    if isinstance(error, RuntimeError) or not isinstance(error, Exception):
        return error
    try:
        cls: Any = type(error)
        made = _remake(_derived(cls, (), (RuntimeError,)), _arguments(error), dict(error.__dict__))
    except Exception:
        made = RuntimeError(f"{type(error).__name__}: {safe_str(error)}")
        made.__cause__ = error
        return made
    for name in ("__cause__", "__context__", "__traceback__"):
        BaseException.__setattr__(made, name, getattr(error, name))  # its class may refuse attributes
    return made


def copied(error: BaseException) -> BaseException:
    """Return a copy of the error, without its traceback: a traceback keeps the objects of its frames alive."""
    made = _remake(type(error), _arguments(error), dict(error.__dict__))
    BaseException.__setattr__(made, "__cause__", error.__cause__)
    return made


def _type_for_callers(cls: Any) -> type[BaseException]:
    """Return the class with which the caller raises an exception of type `cls`; see the module docstring."""
    simple = _made_from_text(cls)
    if simple and issubclass(cls, (RuntimeError, ValueError, TypeError)):
        return cls
    return _derived(cls, () if simple else (_Explained,), () if issubclass(cls, RuntimeError) else (RuntimeError,))


@functools.lru_cache(maxsize=256)
def _made_from_text(cls: type[BaseException]) -> bool:
    """Return whether the class can be called with a single string."""
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
    """A base of derived classes whose constructor needs more than a string: adds PyTorch's text to the message."""

    def __str__(self: Any) -> str:
        return f"{_own_type(self).__str__(self)} (Original exception on remote side was {BaseException.__repr__(self)})"


@functools.lru_cache(maxsize=256)
def _derived(cls: type[BaseException], before: tuple[type, ...], after: tuple[type, ...]) -> type[BaseException]:
    """Create a class with the name of `cls` whose bases are the classes `before`, `cls`, and the classes `after`."""
    space = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "_derived_from": cls, "__reduce__": _reduced}
    metaclass: Any = type(cls)
    return metaclass(cls.__name__, (*before, cls, *after), space)


def _own_type(error: BaseException) -> type[BaseException]:
    """Return the class that the exception had on the callee, if `_derived` has made its class."""
    return getattr(type(error), "_derived_from", type(error))


def _reduced(error: BaseException) -> Any:
    """Pickle an exception of a derived class as one of its original class: derived classes exist only in this process."""
    return _remake, (_own_type(error), _arguments(error), dict(error.__dict__))


class WorkerGoneError(RuntimeError):
    """Raised for a call to a worker that has left, before the call or before it has answered."""


class WorkerLostError(WorkerGoneError):
    """Raised for a call to a worker that was lost: its process has ended, or no longer answers.

    Whether the function has run is not known. The attributes say which worker it was: `name`, `rank`, `incarnation` (in a
    dynamic world, the first worker of a name has 1, one that takes its place 2, and so on; 0 in a static world) and `why`
    (how the loss was noticed, as text).

    >>> error = WorkerLostError("worker1 (rank 1) was lost")
    >>> isinstance(error, RuntimeError), error.rank
    (True, -1)
    """

    name: str = ""
    rank: int = -1
    incarnation: int = 0
    why: str = ""


def lost_error(loss: Loss) -> WorkerLostError:
    """Return the error for calls to a lost worker, with its attributes set."""
    worker = loss.worker
    life = f", incarnation {loss.incarnation}" if loss.incarnation else ""
    error = WorkerLostError(f"{worker.name} (rank {worker.id}{life}) was lost: {loss.why}")
    error.name, error.rank, error.incarnation, error.why = worker.name, worker.id, loss.incarnation, loss.why
    return error


class RpcTimeoutError(RuntimeError, TimeoutError):
    """Raised when a call was not answered within its timeout."""


class CreationTimedOutError(RpcTimeoutError):
    """Raised when an RRef is used, or sent, whose `remote` call timed out or could not be sent."""

    def __init__(self) -> None:
        super().__init__(
            "RRef creation via rpc.remote() timed out, and it is possible that the RRef on the owner node does not exist."
        )


class SendFailedError(RuntimeError):
    """Raised when a message could not be sent. The receiver has not seen it, so it may be sent again."""
