"""Named tuples and enums in scripted code: made, read, passed and returned as the classes they are."""

from __future__ import annotations

import io
from collections import namedtuple
from enum import Enum, IntEnum
from typing import NamedTuple

import pytest

import mpigrad
from mpigrad import Tensor
from mpigrad.jit.frontend import NotSupportedError
from mpigrad.testing import FileCheck

Untyped = namedtuple("Untyped", ["first", "second"])


class Step(NamedTuple):
    loss: Tensor
    number: int
    rate: float = 0.5


class Other(NamedTuple):
    loss: Tensor
    number: int
    rate: float


class Mode(Enum):
    MEAN = "mean"
    SUM = "sum"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    ONE = 1
    TWO = "two"


def make(x, n: int) -> Step:
    return Step(x * 2, number=n)


def read(step: Step) -> Tensor:
    loss, number, rate = step
    return step.loss * step.number + step[1] + rate + loss


def keep(steps: list[Step]) -> list[Tensor]:
    return [each.loss for each in steps]


def untyped(x):
    pair = Untyped(x, x + 1)
    return pair.first + pair.second


def reduced(x, mode: Mode):
    if mode == Mode.MEAN:
        return x.mean()
    return x.sum()


def described(mode: Mode, level: Level) -> str:
    return mode.name + mode.value + str(level.value + Level.HIGH.value)


def test_named_tuples_are_made_and_read() -> None:
    scripted = mpigrad.jit.script(make)
    found = scripted(mpigrad.ones(2), 3)
    assert type(found) is Step and found.loss.tolist() == [2.0, 2.0] and found[1:] == (3, 0.5)
    assert mpigrad.jit.script(read)(found).tolist() == read(found).tolist() == [11.5, 11.5]
    assert [each.item() for each in mpigrad.jit.script(keep)([Step(mpigrad.ones(()), 1)])] == [1.0]
    assert mpigrad.jit.script(untyped)(mpigrad.ones(1)).item() == 3.0
    FileCheck().check("NamedTuple(loss : Tensor, number : int, rate : float) = prim::TupleConstruct").run(scripted.graph)
    FileCheck().check("Step(").run(scripted.code)


def test_gradients_go_through_named_tuples() -> None:
    x = mpigrad.ones(2, requires_grad=True)
    mpigrad.jit.script(read)(mpigrad.jit.script(make)(x, 3)).sum().backward()
    assert x.grad.tolist() == [8.0, 8.0]


def test_named_tuples_are_saved_with_their_fields() -> None:
    file = io.BytesIO()
    mpigrad.jit.save(mpigrad.jit.script(make), file)
    file.seek(0)
    found = mpigrad.jit.load(file)(mpigrad.ones(1), 3)
    assert found._fields == ("loss", "number", "rate") and found.number == 3


def test_enums_are_compared_and_read() -> None:
    scripted = mpigrad.jit.script(reduced)
    assert scripted(mpigrad.ones(4), Mode.MEAN).item() == 1.0 and scripted(mpigrad.ones(4), Mode.SUM).item() == 4.0
    FileCheck().check("Enum<__mpigrad__.tests.jit.test_named.Mode>").run(scripted.graph)
    assert mpigrad.jit.script(described)(Mode.SUM, Level.LOW) == "SUMsum3"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected a value of type 'Step' for argument 'step' but instead found type 'tuple'"):
        mpigrad.jit.script(read)((mpigrad.ones(1), 1, 0.5))
    with pytest.raises(RuntimeError, match="Expected a value of type 'Mode' for argument 'mode' but instead found type 'Level'"):
        mpigrad.jit.script(reduced)(mpigrad.ones(1), Level.LOW)

    def other_class(x) -> Step:
        return Other(x, 1, 0.5)

    def no_such_field(step: Step):
        return step.nothing

    def missing(x):
        return Step(x)

    def mixed(x, mode: Mixed):
        return x

    with pytest.raises(RuntimeError, match="type Step but is actually of type Other"):
        mpigrad.jit.script(other_class)
    with pytest.raises(RuntimeError, match="'Step' object has no attribute or method 'nothing'|cannot be used as a value"):
        mpigrad.jit.script(no_such_field)
    with pytest.raises(RuntimeError, match="Argument number not provided"):
        mpigrad.jit.script(missing)
    with pytest.raises(NotSupportedError, match="all int, all float or all str"):
        mpigrad.jit.script(mixed)
    with pytest.raises(RuntimeError, match="Could not save the enum Mode"):
        mpigrad.jit.save(mpigrad.jit.script(reduced), io.BytesIO())
