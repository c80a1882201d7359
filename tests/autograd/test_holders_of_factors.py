"""A large product writes gradients over factors without other references. Any other reference to a factor must prevent that."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import mpigrad

pytestmark = pytest.mark.host
SIZE = 1 << 14  # large enough for the rule


def product(size: int = SIZE):
    """A factor whose elements are 2, an input, and a loss in which the gradients of all factors are other numbers."""
    x = mpigrad.ones(size, requires_grad=True)
    factor = x + 1.0
    return factor, x, (factor * (x + 2.0) * 5.0).sum()


class Interface:
    """An array as other libraries pass it on: by its address."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


def numbers(array: np.ndarray):
    yield from array


HOLDERS = {
    "memoryview": lambda t: (held := memoryview(t.detach().numpy()), lambda: held[0]),
    "buffer": lambda t: (held := t.detach().numpy().data, lambda: held[0]),
    "bytes of it": lambda t: (held := np.frombuffer(t.detach().numpy(), "u1"), lambda: held.view("f4")[0]),
    "iterator": lambda t: (held := np.nditer(t.detach().numpy()), lambda: float(held[0])),
    "flat": lambda t: (held := t.detach().numpy().flat, lambda: held[0]),
    "DLPack": lambda t: (held := np.from_dlpack(t.detach()), lambda: held[0]),
    "DLPack capsule": lambda t: (held := t.detach().__dlpack__(), lambda: np.from_dlpack(Capsule(held))[0]),
    "ctypes": lambda t: (
        held := (ctypes.c_float * SIZE).from_buffer(t.detach().numpy()),
        lambda: held[0],
    ),
    "interface": lambda t: (held := np.asarray(Interface(t.detach().numpy())), lambda: held[0]),
    "strided": lambda t: (
        held := np.lib.stride_tricks.as_strided(t.detach().numpy(), (2, 2), (4, 4)),
        lambda: held[0, 0],
    ),
    "reshaped": lambda t: (held := t.detach().numpy().reshape(2, -1)[1:], lambda: held[0, 0]),
    "generator": lambda t: (held := numbers(t.detach().numpy()), lambda: next(held)),
    "data": lambda t: (held := t.data, lambda: held[0].item()),
    "saved of another": lambda t: (held := (t * 3.0 * t).grad_fn, lambda: held._saved_other[0].item()),
    "closure": lambda t: (None, lambda: t[0].item()),
    "node": lambda t: (held := t.view(2, -1), lambda: held._base[0].item()),
}


class Capsule:
    def __init__(self, capsule) -> None:
        self.capsule = capsule

    def __dlpack__(self, **kw):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_whatever_holds_a_factor_sees_it_unchanged(hold) -> None:
    factor, x, loss = product()
    held, look = hold(factor)
    del factor
    loss.backward()
    assert look() == 2.0
    assert x.grad.tolist()[:2] == [25.0, 25.0]
    del held


def test_arrays_of_the_user_are_not_written_to() -> None:
    mine = np.full(SIZE, 2.0, np.float32)
    x = mpigrad.ones(SIZE, requires_grad=True)
    (mpigrad.from_numpy(mine) * x * 5.0).sum().backward()
    (mpigrad.as_tensor(mine).view(2, -1) * x.view(2, -1) * 5.0).sum().backward()
    (mpigrad.tensor(mine[:-1])[1:] * x[2:] * 5.0).sum().backward()
    assert (mine == 2).all() and x.grad.tolist()[:3] == [20.0, 20.0, 30.0]


def test_memory_that_an_array_only_borrows() -> None:
    """Extensions make arrays around memory of theirs that have no base."""
    memory = np.full(SIZE, 2.0, np.float32)
    make = ctypes.pythonapi.PyMemoryView_FromMemory
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
    borrowed = np.frombuffer(make(memory.ctypes.data, memory.nbytes, 0x200), np.float32)
    x = mpigrad.ones(SIZE, requires_grad=True)
    loss = (mpigrad.from_numpy(borrowed) * x * 5.0).sum()
    del borrowed
    loss.backward()
    assert (memory == 2).all()


def test_whoever_holds_what_the_node_saved() -> None:
    """As a thread does that runs the same node in a pass of its own."""
    factor, x, loss = product()
    node = loss.grad_fn.next_functions[0][0].next_functions[0][0]
    saved = node.saved
    del factor, node
    loss.backward()
    assert [each.tolist()[:2] for each in saved] == [[2.0, 2.0], [3.0, 3.0]]
    assert x.grad.tolist()[:2] == [25.0, 25.0]


def test_a_pass_of_another_thread_that_is_in_the_middle_of_the_node() -> None:
    """It has the tuple of factors in hand, and has taken the first one out of it."""
    x = mpigrad.ones(SIZE, requires_grad=True)
    made, seed = (x + 1.0) * (x + 2.0), mpigrad.full((SIZE,), 5.0)
    inside, go_on = threading.Event(), threading.Event()
    found: list[object] = []

    def trace(frame, event, arg):
        if frame.f_code.co_name == "tensors" and "found" in frame.f_locals and len(frame.f_locals["found"]) == 1:
            inside.set()
            assert go_on.wait(20)
        return trace

    def other() -> None:
        sys.settrace(trace)
        try:
            found.extend(mpigrad.autograd.grad([made], [x], [seed], create_graph=True))
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(20)
    made.backward(seed)
    go_on.set()
    thread.join(20)
    assert x.grad.tolist()[:2] == [25.0, 25.0]
    assert found[0].tolist()[:2] == [25.0, 25.0]


@pytest.mark.parametrize("of", [lambda factor: factor, lambda factor: factor._array], ids=["tensor", "array"])
def test_weak_references_that_another_thread_follows(of) -> None:
    """The product takes a while, without the interpreter: the other thread looks at the factor meanwhile."""
    factor, x, loss = product(1 << 23)
    reference, began, seen = weakref.ref(of(factor)), threading.Event(), set()
    del factor
    loss.register_hook(lambda grad: began.set())

    def follow() -> None:
        assert began.wait(20)
        while (held := reference()) is not None:
            seen.add(float(getattr(held, "_array", held)[0]))
            del held
            time.sleep(0.0002)

    thread = threading.Thread(target=follow)
    thread.start()
    loss.backward()
    thread.join(20)
    assert seen <= {2.0} and x.grad[0].item() == 25.0


LOOKED_AT = """
import sys
def look(frame, event, arg):
    frame.f_locals
    return look
{begin}(look)
import mpigrad
x = mpigrad.ones(1 << 14, requires_grad=True)
y = x * 2.0
(y * 3.0 + y * y).sum().backward()  # all that is measured once has been
{begin}(None)
factor = x + 1.0
kept = []
factor.register_hook(kept.append)
(factor * (x + 2.0) * 5.0).sum().backward()
print(factor[0].item(), kept[0][0].item())
x.grad.zero_()
print(kept[0][0].item())
"""


@pytest.mark.parametrize("begin", ["sys.settrace", "sys.setprofile"])
def test_a_debugger_at_the_start_does_not_spoil_the_counting(begin: str) -> None:
    """Frames whose locals it looks at hold them twice; programs go on when it is gone."""
    done = subprocess.run([sys.executable, "-c", LOOKED_AT.format(begin=begin)], capture_output=True, text=True, timeout=55)
    assert done.stdout.split() == ["2.0", "15.0", "15.0"], done.stderr
