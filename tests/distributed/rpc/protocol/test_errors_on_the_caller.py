"""Exceptions on the caller: of their own type, and caught where PyTorch's callers catch them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from mpigrad.distributed.rpc._protocol.errors import (
    RemoteTraceback,
    as_runtime_error,
    pack_error,
    print_error,
    unpack_error,
)
from mpigrad.distributed.rpc._protocol.worker_info import WorkerInfo

HERE = WorkerInfo("worker0", 0)


class TwoError(Exception):
    """Its constructor wants more than a text."""

    def __init__(self, code: int, hint: str) -> None:
        super().__init__(f"code {code}: {hint}")
        self.code = code


class PlainError(Exception):
    """Its constructor takes a text."""


class Stubborn(type):
    """A metaclass that allows no further subclasses."""

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> Any:
        if Exception not in bases:
            raise TypeError("no subclasses")
        return super().__new__(cls, name, bases, space)


class FinalError(Exception, metaclass=Stubborn):
    """Nothing can be derived from it."""


def travelled(error: BaseException) -> Any:
    return unpack_error(pack_error(HERE, error))


@pytest.mark.parametrize("cls", [KeyError, OSError, PlainError, AttributeError, ZeroDivisionError])
def test_other_types_are_runtime_errors_too(cls: type[Exception]) -> None:
    got = travelled(cls("x"))
    assert isinstance(got, cls) and isinstance(got, RuntimeError)
    assert str(got) == str(cls("x")) and type(got).__name__ == cls.__name__
    assert isinstance(got.__cause__, RemoteTraceback)


@pytest.mark.parametrize("cls", [ValueError, TypeError, RuntimeError, NotImplementedError])
def test_types_that_torch_keeps_stay_as_they_are(cls: type[Exception]) -> None:
    assert type(travelled(cls("x"))) is cls


def test_a_constructor_that_wants_more_than_a_text() -> None:
    got = travelled(TwoError(3, "later"))
    assert isinstance(got, TwoError) and isinstance(got, RuntimeError) and got.code == 3
    assert "code 3: later" in str(got) and "Original exception on remote side was TwoError('code 3: later')" in str(got)
    bad = travelled(UnicodeDecodeError("utf8", b"x", 0, 1, "why"))
    assert isinstance(bad, RuntimeError) and isinstance(bad, UnicodeDecodeError) and bad.reason == "why"


def test_on_to_the_next_worker_it_is_the_same() -> None:
    once = travelled(TwoError(3, "later"))
    twice = travelled(once)
    assert type(twice) is type(once) and str(twice) == str(once)
    assert type(pickle.loads(pickle.dumps(once))) is TwoError


def test_a_type_that_does_not_exist_here() -> None:
    class Local(Exception):
        def __reduce__(self) -> Any:
            raise TypeError("stays here")

    Local.__module__ = "nowhere"
    got = travelled(Local("text", lambda: None, open))
    assert isinstance(got, RuntimeError)
    got = travelled(FinalError("no way"))
    assert type(got) is RuntimeError and "Original exception on remote side was" in str(got)
    assert "FinalError" in str(got) and "no way" in str(got)


def test_as_runtime_error() -> None:
    for error in (TwoError(1, "x"), KeyError("k"), ValueError("v"), FileNotFoundError(2, "gone", "file")):
        error.__cause__ = OSError("cause")
        got: Any = as_runtime_error(error)
        assert isinstance(got, type(error)) and isinstance(got, RuntimeError)
        assert str(got) == str(error) and got.__cause__ is error.__cause__
    same = RuntimeError("r")
    assert as_runtime_error(same) is same
    final = FinalError("no way")
    got = as_runtime_error(final)
    assert type(got) is RuntimeError and got.__cause__ is final and "no way" in str(got)


def test_print_error_writes_to_the_stderr_of_the_moment(capsys: Any) -> None:
    print_error(HERE, ValueError("seen"))
    text = capsys.readouterr().err
    assert "On WorkerInfo(id=0, name=worker0):\nValueError('seen')" in text


def test_worker_names_are_checked() -> None:
    for name in ("", "a b", "x" * 128):
        with pytest.raises(RuntimeError, match="Worker name must match"):
            WorkerInfo(name, 1)
    for arguments in ((3, 1), ("a", "b")):
        with pytest.raises(TypeError, match="incompatible constructor arguments"):
            WorkerInfo(*arguments)
