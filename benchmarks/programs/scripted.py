"""Small functions of all kinds that scripted programs contain; `benchmarks.jit_calls` calls them in both forms."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035

import mpigrad
from mpigrad import Tensor


# -- operators -------------------------------------------------------------------------------------------------------
def plus(x, y):
    return x + y


def added(x, y):
    return mpigrad.add(x, y)


def doubled(x):
    return x * 2


def scaled(x, y):
    return x * 2 + y


def rectified(x):
    return mpigrad.relu(x)


def total(x):
    return x.sum()


def product(x, y):
    return x @ y


def layer(x, y):
    return mpigrad.relu(x @ y)


def reshaped(x):
    return x.reshape(9)


def first_row(x):
    return x[0]


def joined(x, y):
    return mpigrad.cat([x, y])


def normalised(x):
    return mpigrad.softmax(x, 0)


def both(x, y):
    return x + y, x - y


def statistics(x):
    return x.mean(), x.sum(), x.amax()


# -- control ---------------------------------------------------------------------------------------------------------
def by_flag(x, y, flag: bool):
    if flag:
        return x + y
    return x - y


def by_value(x, y):
    if bool(x.sum() > 0):
        out = x + y
    else:
        out = x - y
    return out


def repeated(x, n: int):
    for _ in range(n):
        x = x + 1.0
    return x


def offset(x, y: Optional[Tensor] = None):  # noqa: UP045
    if y is not None:
        x = x + y
    return x


def summed(xs: List[Tensor]):  # noqa: UP006
    out = xs[0]
    for x in xs:
        out = out + x
    return out


def looked_up(table: Dict[str, Tensor], key: str):  # noqa: UP006
    return table[key] + table["b"]


def of_pair(pair: Tuple[Tensor, Tensor]):  # noqa: UP006
    return pair[0] + pair[1]


def with_defaults(x, y, scale: float = 2.0, shift: int = 1):
    return (x + y) * scale + shift


def inner(x, y):
    return x + y


def outer(x, y):
    return inner(inner(x, y), y)


# -- numbers, strings, containers of them ----------------------------------------------------------------------------
def squares(n: int) -> int:
    out = 0
    for i in range(n):
        out = out + i * i
    return out


def sign_of(n: int) -> int:
    if n > 0:
        return 1
    elif n < 0:
        return -1
    return 0


def sum_of(xs: List[int]) -> int:  # noqa: UP006
    out = 0
    for x in xs:
        out = out + x
    return out


def mean_of(xs: List[float]) -> float:  # noqa: UP006
    out = 0.0
    for x in xs:
        out = out + x
    return out / len(xs)


def count_of(table: Dict[str, int], key: str) -> int:  # noqa: UP006
    return table[key]


def greeting(name: str) -> str:
    return "hello, " + name.upper()


def size_or(n: Optional[int]) -> int:  # noqa: UP045
    if n is None:
        return 0
    return n + 1


def area(sides: Tuple[int, int]) -> int:  # noqa: UP006
    return sides[0] * sides[1]


class Pair(NamedTuple):
    """Two tensors."""

    left: Tensor
    right: Tensor


def of_named(pair: Pair):
    return pair.left + pair.right


# -- modules ---------------------------------------------------------------------------------------------------------
class Shift(mpigrad.nn.Module):
    """Adds its parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = mpigrad.nn.Parameter(mpigrad.ones(3, 3))

    def forward(self, x):
        return x + self.weight

    @mpigrad.jit.export
    def twice(self, x):
        return x + x


class Net(mpigrad.nn.Module):
    """Two layers and a module inside."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.shift = mpigrad.nn.Linear(3, 3), mpigrad.nn.Linear(3, 3), Shift()

    def forward(self, x):
        return self.shift(self.second(mpigrad.relu(self.first(x))))
