"""RRefs on several ranks: values, calls, forks through any number of workers, errors; and nothing is left at the end."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Iterator

import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from tests.support.eventually import eventually

pytestmark = pytest.mark.mpi(min_size=2)

GATE = threading.Event()
HELD: list[rpc.RRef] = []


class Counter:
    """A value with methods."""

    def __init__(self, start: int = 0) -> None:
        self.count = start

    def add(self, by: int = 1) -> int:
        self.count += by
        return self.count

    @rpc.functions.async_execution
    def add_later(self, by: int):
        fut = mpigrad.futures.Future()
        fut.set_result(self.add(by))
        return fut

    def fail(self) -> None:
        raise LookupError("nothing here")


def counts() -> dict[str, str]:
    """What this worker still keeps of RRefs, in numbers that are not zero."""
    gc.collect()
    found = rpc.api._rref_context_get_debug_info()
    return {name: value for name, value in found.items() if value != "0"}


@pytest.fixture(autouse=True)
def nothing_left(rpc_world) -> Iterator[None]:
    GATE.clear()
    HELD.clear()
    rpc_world.barrier()
    yield
    GATE.set()
    rpc_world.barrier()
    HELD.clear()
    eventually(counts, equals={})
    rpc_world.barrier()


def value_of(rref):
    return rref.to_here()


def add(a, b):
    return a + b


def pass_on(rref, hops):
    """Hand an RRef on through `hops`; the last one reads it."""
    if not hops:
        return rref.to_here()
    return rpc.rpc_sync(hops[0], pass_on, args=(rref, hops[1:]))


def give_back(rref):
    return rref


def make(value):
    return rpc.RRef(value)


def keep(rref) -> None:
    HELD.append(rref)


def drop() -> None:
    HELD.clear()


def behind_the_gate(value):
    GATE.wait(20)
    return value


def open_gate() -> None:
    GATE.set()


def fail(*args):
    raise ZeroDivisionError("on purpose")


def test_own_values(rpc_world) -> None:
    rref = rpc.RRef([1, 2])
    assert rref.is_owner() and rref.confirmed_by_owner() and rref.owner().name == rref.owner_name() == rpc_world.name
    assert rref.local_value() == rref.to_here() == [1, 2] and rref.local_value() is rref.to_here()
    assert str(rref).startswith("OwnerRRef(GloballyUniqueId(created_on=") and rref._get_type() is list


def test_values_elsewhere(rpc_world) -> None:
    rref = rpc.remote(rpc_world.next_name, add, args=(mpigrad.ones(2), 2))
    assert not rref.is_owner() and rref.owner_name() == rpc_world.next_name
    assert rref.to_here().tolist() == [3.0, 3.0] and rref._get_type() is mpigrad.Tensor
    assert rref._get_type(blocking=False).wait() is mpigrad.Tensor
    rref._get_future().wait()
    assert rref.confirmed_by_owner() and str(rref).startswith("UserRRef(RRefId = GloballyUniqueId(created_on=")
    with pytest.raises(RuntimeError, match=r"For UserRRef\(rref_id=.*can't call localValue\(\) on user .*\. Call it on owner"):
        rref.local_value()


def test_remote_to_oneself(rpc_world) -> None:
    rref = rpc.remote(rpc_world.name, add, args=(1, 2))
    assert rref.is_owner() and rref.to_here() == rref.local_value() == 3


@pytest.mark.parametrize("to", ["next", "own"])
def test_methods_of_the_value(rpc_world, to) -> None:
    rref = rpc.remote(rpc_world.next_name if to == "next" else rpc_world.name, Counter, args=(10,))
    assert rref.rpc_sync().add() == 11
    assert rref.rpc_async().add(by=2).wait() == 13
    assert rref.remote().add(3).to_here() == 16
    assert rref.rpc_sync().add_later(4) == 20
    with pytest.raises(LookupError, match="nothing here"):
        rref.rpc_sync().fail()
    with pytest.raises(AttributeError):
        rref.rpc_sync().no_such_method()


def make_behind_the_gate(start):
    GATE.wait(20)
    return Counter(start)


def test_an_asynchronous_call_of_a_method_does_not_wait_for_the_value(rpc_world) -> None:
    rref = rpc.remote(rpc_world.next_name, make_behind_the_gate, args=(10,))
    with rpc.api._wait_all():
        answers = [rref.rpc_async().add(1), rref.rpc_async().add_later(1)]
        failing, missing = rref.rpc_async().fail(), rref.rpc_async().no_such_method()
        assert not any(fut.done() for fut in (*answers, failing, missing))
        rpc.rpc_sync(rpc_world.next_name, open_gate)
        assert sorted(fut.wait() for fut in answers) == [11, 12]
        for fut, error in ((failing, LookupError), (missing, AttributeError)):
            with pytest.raises(error):
                fut.wait()
        rpc.api._thread_local_var.future_list.clear()
    with pytest.raises(AttributeError, match="no_such_method"):
        rref.rpc_async().no_such_method().wait()


def test_wait_all_waits_for_methods_of_values_that_are_yet_to_be_made(rpc_world) -> None:
    rref = rpc.remote(rpc_world.next_name, make_behind_the_gate, args=(10,))
    with rpc.api._wait_all():
        answer = rref.rpc_async().add(1)
        rpc.rpc_sync(rpc_world.next_name, open_gate)
    assert answer.done() and answer.value() == 11


def test_a_hint_is_for_scripted_modules(rpc_world) -> None:
    with pytest.raises(RuntimeError, match="type_hint should only be specified when the RRef being created contains a ScriptMod"):
        rpc.RRef(5, type_hint=int)


def test_errors_come_with_the_value(rpc_world) -> None:
    rref = rpc.remote(rpc_world.next_name, fail)
    with pytest.raises(ZeroDivisionError, match="on purpose") as caught:
        rref.to_here()
    assert rpc_world.next_name in str(caught.value.__cause__)
    with pytest.raises(ZeroDivisionError):
        rref.to_here()
    with pytest.raises(RuntimeError, match="nobody"):
        rpc.remote("nobody", add, args=(1, 2))
    with pytest.raises(TypeError, match="callable"):
        rpc.remote(rpc_world.next_name, "add")
    own = rpc.remote(rpc_world.name, fail)
    with pytest.raises(ZeroDivisionError):
        own.to_here()


def test_a_value_that_takes_its_time(rpc_world) -> None:
    rref = rpc.remote(rpc_world.next_name, behind_the_gate, args=("late",))
    with pytest.raises(RuntimeError, match=r"timeout \(50 ms\).*to_here\(\) of the value of .*behind_the_gate \(RRef Glob.*"):
        rref.to_here(timeout=0.05)
    rpc.rpc_sync(rpc_world.next_name, open_gate)
    assert rref.to_here() == "late"


@pytest.mark.parametrize("length", [0, 1, 2, 5])
@pytest.mark.parametrize("whose", ["own", "next"])
def test_forks_of_forks_through_third_parties(rpc_world, whose, length) -> None:
    rref = rpc.RRef("mine") if whose == "own" else rpc.remote(rpc_world.next_name, add, args=("mi", "ne"))
    hops = [rpc_world.worker(rpc_world.rank + 1 + distance) for distance in range(length)]
    assert pass_on(rref, hops) == "mine"


def test_an_rref_comes_home(rpc_world) -> None:
    mine = rpc.RRef([1])
    back = rpc.rpc_sync(rpc_world.next_name, give_back, args=(mine,))
    assert back.is_owner() and back.local_value() is mine.local_value()
    there = rpc.rpc_sync(rpc_world.next_name, make, args=("x",))
    assert there.owner_name() == rpc_world.next_name and there.to_here() == "x"
    nested = rpc.remote(rpc_world.next_name, make, args=(5,))
    assert nested.to_here().to_here() == 5


def test_a_user_outlives_the_one_who_gave_it(rpc_world) -> None:
    """The owner keeps the value while a third worker, reached through a second, still holds a fork."""
    third = rpc_world.worker(rpc_world.rank + 2)
    rref = rpc.remote(rpc_world.next_name, add, args=("kept", "!"))
    rpc.rpc_sync(third, keep, args=(rref,))
    del rref
    gc.collect()
    assert rpc.rpc_sync(third, read_held, args=()) == "kept!" or rpc_world.world_size == 2
    rpc.rpc_sync(third, drop)


def read_held():
    return HELD[-1].to_here() if HELD else None


def test_many_forks_at_once(rpc_world) -> None:
    rref = rpc.RRef(mpigrad.arange(3))
    asked = [
        rpc.rpc_async(rpc_world.worker(rank), pass_on, args=(rref, [rpc_world.worker(rank + 1)]))
        for rank in range(rpc_world.world_size)
        for _ in range(10)
    ]
    assert all(each.wait().tolist() == [0, 1, 2] for each in asked)


def test_calls_that_fail_leave_no_fork(rpc_world) -> None:
    rref = rpc.RRef(1)
    with pytest.raises(ZeroDivisionError):
        rpc.rpc_sync(rpc_world.next_name, fail, args=(rref,))
    with pytest.raises(Exception, match="lock|pickle"):
        rpc.rpc_sync(rpc_world.next_name, give_back, args=((rref, threading.Lock()),))
    with pytest.raises(RuntimeError, match="timeout"):
        rpc.rpc_sync(rpc_world.next_name, behind_the_gate, args=(rref,), timeout=0.05)
    rpc.rpc_sync(rpc_world.next_name, open_gate)


def test_rrefs_nobody_asked_for_again(rpc_world) -> None:
    for _ in range(50):
        rpc.remote(rpc_world.next_name, add, args=(1, 2))
    pending = [rpc.remote(rpc_world.next_name, make, args=(i,)) for i in range(20)]
    assert [each.to_here().to_here() for each in pending] == list(range(20))


def test_only_rpc_can_pickle_them(rpc_world) -> None:
    with pytest.raises(RuntimeError, match="only be pickled when using RPC"):
        pickle.dumps(rpc.RRef(1))
    with pytest.raises(RuntimeError, match="only be pickled when using RPC"):
        copy.deepcopy(rpc.RRef(1))


def test_annotations_can_name_the_type() -> None:
    assert rpc.RRef[int].__args__ == (int,)


def give_future() -> mpigrad.futures.Future:
    return mpigrad.futures.Future()


@pytest.mark.parametrize("to", ["next", "own"])
def test_a_future_is_a_value_unless_the_function_says_otherwise(rpc_world, to: str) -> None:
    rref = rpc.remote(rpc_world.next_name if to == "next" else rpc_world.name, give_future)
    if rref.is_owner():
        assert not rref.to_here().done()
    else:
        with pytest.raises(RuntimeError, match="Can not pickle mpigrad.futures.Future"):
            rref.to_here()
