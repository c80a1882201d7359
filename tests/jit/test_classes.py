"""Classes that were scripted: made, read, changed and called in scripts; the class and its instances stay Python's."""

# ruff: noqa: UP045 (what is scripted here is the test)

from __future__ import annotations

import io
from typing import Optional

import pytest

import mpigrad
from mpigrad import Tensor
from mpigrad.testing import FileCheck


@mpigrad.jit.script
class Counter:
    limit: Optional[int]

    def __init__(self, start: int, weight: Tensor) -> None:
        self.value = start
        self.weight = weight
        self.limit = None
        self.seen: list[int] = []

    def add(self, by: int = 1) -> int:
        self.value += by
        self.seen.append(self.value)
        return self.value

    def twice(self) -> int:
        return self.add() + self.add(10)

    def joined(self, other: Counter) -> Counter:
        return Counter(self.value + other.value, self.weight + other.weight)

    def scaled(self, x: Tensor) -> Tensor:
        return x * self.weight

    @property
    def size(self) -> int:
        return len(self.seen)

    @staticmethod
    def doubled(n: int) -> int:
        return 2 * n

    @mpigrad.jit.ignore
    def python_only(self) -> str:
        return f"{self!r:>20}"


@mpigrad.jit.script
class Grid:
    def __init__(self, cells: list[int]) -> None:
        self.cells = cells

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, place: int) -> int:
        return self.cells[place]

    def __setitem__(self, place: int, value: int) -> None:
        self.cells[place] = value

    def __contains__(self, value: int) -> bool:
        return value in self.cells

    def __add__(self, other: Grid) -> Grid:
        return Grid(self.cells + other.cells)

    def __neg__(self) -> Grid:
        return Grid([-each for each in self.cells])

    def __lt__(self, other: Grid) -> bool:
        return len(self.cells) < len(other.cells)

    def __call__(self, by: int) -> int:
        return self.cells[0] * by


@mpigrad.jit.script
class Empty:
    pass


def use(start: int, x: Tensor) -> tuple[int, int, int, int, list[int], Tensor]:
    first = Counter(start, x)
    second = first.joined(first)
    second.value = 7
    total = first.add() + first.add(by=3) + first.twice()
    return total, second.value, first.size, Counter.doubled(first.value) + first.doubled(1), first.seen, second.scaled(x)


def operators(cells: list[int]) -> tuple[int, int, bool, bool, int, list[int]]:
    a = Grid(cells)
    b = -(a + a)
    b[1] = 100
    return len(b), b[0], 100 in b, a < b, b(2), b.cells


def test_a_script_does_with_objects_what_python_does() -> None:
    x = mpigrad.tensor([1.0, 2.0])
    wanted, found = use(3, x), mpigrad.jit.script(use)(3, x)
    assert found[:-1] == wanted[:-1]
    assert found[-1].tolist() == wanted[-1].tolist() == [2.0, 8.0]
    FileCheck().check("prim::CreateObject").check("prim::CallMethod").check("prim::SetAttr").run(mpigrad.jit.script(use).graph)


def test_operators_of_python_call_the_methods_of_a_class() -> None:
    assert mpigrad.jit.script(operators)([1, 2, 3]) == operators([1, 2, 3])


def test_objects_are_arguments_results_and_members_of_containers() -> None:
    @mpigrad.jit.script
    def total(each: list[Counter], named: dict[str, Counter], maybe: Optional[Counter] = None) -> tuple[int, Counter]:
        count = 0
        for one in each:
            count += one.value
        if maybe is not None:
            count += maybe.value
        return count + named["a"].value, named["a"]

    counters = [Counter(n, mpigrad.ones(1)) for n in (1, 2)]
    count, same = total(counters, {"a": counters[1]}, counters[0])
    assert (count, same) == (6, counters[1])
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'List\[__mpigrad__.*Counter\]' for argument 'each'"):
        total([3], {})


def test_the_object_that_a_script_changes_is_the_callers() -> None:
    @mpigrad.jit.script
    def change(counter: Counter) -> None:
        counter.limit = 9
        counter.add(5)

    counter = Counter(1, mpigrad.ones(1))
    assert change(counter) is None
    assert (counter.limit, counter.value, counter.seen, counter.python_only()[-1]) == (9, 6, [6], ">")


def test_gradients_go_through_attributes() -> None:
    @mpigrad.jit.script
    def scale(counter: Counter, x: Tensor) -> Tensor:
        return counter.scaled(x).sum()

    weight = mpigrad.tensor([2.0, 3.0], requires_grad=True)
    scale(Counter(0, weight), mpigrad.tensor([5.0, 7.0])).backward()
    assert weight.grad.tolist() == [5.0, 7.0]


def test_objects_are_attributes_of_modules() -> None:
    class Net(mpigrad.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.counter = Counter(1, mpigrad.ones(1))

        def forward(self, x: Tensor) -> Tensor:
            return x + self.counter.add()

    net = mpigrad.jit.script(Net())
    assert [net(mpigrad.zeros(1)).item() for _ in range(2)] == [2.0, 3.0]


def test_a_class_without_init_is_made_without_arguments() -> None:
    @mpigrad.jit.script
    def make() -> Empty:
        return Empty()

    assert type(make()) is Empty

    def too_many() -> Empty:
        return Empty(1)

    with pytest.raises(RuntimeError, match="Expected at most 0 arguments but found 1 positional arguments"):
        mpigrad.jit.script(too_many)


def local_class(by: int):
    @mpigrad.jit.script
    class Same:
        def __init__(self, a: int) -> None:
            self.a = a

        def get(self) -> int:
            return self.a

    @mpigrad.jit.script
    def use(a: int) -> int:
        return Same(a).get()

    @mpigrad.jit.script
    def take(each: Same) -> int:
        return each.get()

    return Same, use, take


def test_two_classes_of_one_name_are_kept_apart() -> None:
    (first, use_first, take_first), (second, use_second, take_second) = local_class(1), local_class(2)
    assert first is not second and mpigrad.jit.script(first) is first
    assert use_first(3) == use_second(3) == take_first(first(3)) == take_second(second(3)) == 3
    for take, other in ((take_first, second), (take_second, first)):
        with pytest.raises(RuntimeError, match=r"take\(\) Expected a value of type '__mpigrad__.*Same.*' for argument 'each'"):
            take(other(3))


def test_code_shows_objects() -> None:
    text = mpigrad.jit.script(use).code
    assert "Counter.__new__(" in text and "Counter.joined(first, first)" in text and "second.value = 7" in text


class Derived(Counter):
    pass


class Wrong:
    def __init__(self, a: int) -> None:
        self.a = a

    def set(self) -> None:
        self.a = "text"


class Late:
    def __init__(self, a: int) -> None:
        self.a = a

    def set(self) -> None:
        self.b = 1


class Endless:
    def __init__(self, a: int) -> None:
        self.a = a

    def run(self) -> int:
        return self.run()


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (mpigrad.nn.Linear, "cannot be compiled since it inherits from nn.Module, pass an instance instead"),
        (Derived, "TorchScript classes does not support inheritance yet. Please directly inherit from 'object'."),
        (Wrong, "Wrong type for attribute assignment. Expected int but got str"),
        (Late, r"Tried to set nonexistent attribute: b. Did you forget to initialize it in __init__\(\)\?"),
        (Endless, "method 'run' is called recursively"),
    ],
)
def test_classes_that_cannot_be_scripted(cls: type, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        mpigrad.jit.script(cls)


def test_a_refused_class_is_unknown_to_scripts() -> None:
    def make(a: int) -> int:
        return Late(a).a

    with pytest.raises(RuntimeError):
        mpigrad.jit.script(Late)
    with pytest.raises(RuntimeError, match="the class 'Late' cannot be made or called in scripted code"):
        mpigrad.jit.script(make)


def wrong_method(counter: Counter) -> int:
    return counter.nothing()


def wrong_attribute(counter: Counter) -> int:
    return counter.nothing + 1


def wrong_argument() -> int:
    return Counter("a", 1).value


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (wrong_method, "object has no attribute or method 'nothing'"),
        (wrong_attribute, "nothing"),
        (wrong_argument, "Expected a value of type 'int' for argument 'start' but instead found type 'str'"),
    ],
)
def test_wrong_uses_of_a_class(function, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        mpigrad.jit.script(function)


def test_files_do_not_hold_classes() -> None:
    with pytest.raises(RuntimeError, match="Could not save: the graph has prim::CreateObject"):
        mpigrad.jit.save(mpigrad.jit.script(use), io.BytesIO())
