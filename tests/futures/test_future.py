"""Future: completion, callbacks, chaining, waiting threads, collections, await."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time

import pytest

from mpigrad._core.future import block
from mpigrad.futures import Future, collect_all, wait_all


def test_result_reaches_wait_value_and_done() -> None:
    fut = Future()
    assert not fut.done()
    fut.set_result(5)
    assert fut.done() and fut.wait() == 5 and fut.value() == 5


def test_error_is_raised_by_wait_and_value() -> None:
    fut = Future()
    fut.set_exception(KeyError("k"))
    for read in (fut.wait, fut.value):
        with pytest.raises(KeyError, match="k"):
            read()


@pytest.mark.parametrize("complete", [lambda f: f.set_result(1), lambda f: f.set_exception(ValueError())])
def test_completing_twice_is_an_error(complete) -> None:
    fut = Future()
    fut.set_result(None)
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        complete(fut)


def test_value_before_completion_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="not completed"):
        Future().value()


def test_set_exception_wants_an_exception() -> None:
    with pytest.raises(AssertionError, match="5 is of type <class 'int'>, not an Exception"):
        Future().set_exception(5)


def test_then_chains_before_and_after_completion() -> None:
    fut = Future()
    early = fut.then(lambda f: f.wait() + 1).then(lambda f: f.wait() * 10)
    fut.set_result(1)
    late = fut.then(lambda f: f.value() + 5)
    assert early.wait() == 20 and late.wait() == 6


def test_error_in_then_callback_becomes_the_error_of_its_future() -> None:
    fut = Future()
    child = fut.then(lambda f: 1 / 0)
    fut.set_result(None)
    with pytest.raises(RuntimeError, match="error when running the callback: ZeroDivisionError") as caught:
        child.wait()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert fut.wait() is None


def test_done_callback_that_raises_does_not_stop_the_others(caplog) -> None:
    fut, seen = Future(), []
    fut.add_done_callback(lambda f: 1 / 0)
    fut.add_done_callback(lambda f: seen.append(f.value()))
    fut.set_result(3)
    assert seen == [3] and "ZeroDivisionError" in caplog.text


def test_callbacks_must_be_callable() -> None:
    for add in (Future().then, Future().add_done_callback):
        with pytest.raises(TypeError, match="incompatible function arguments."):
            add(3)


def test_every_waiting_thread_wakes() -> None:
    fut, got = Future(), []
    threads = [threading.Thread(target=lambda: got.append(fut.wait())) for _ in range(8)]
    for thread in threads:
        thread.start()
    fut.set_result("x")
    for thread in threads:
        thread.join(10)
    assert got == ["x"] * 8


def test_callbacks_run_exactly_once_when_added_during_completion() -> None:
    for _ in range(200):
        fut, seen = Future(), []
        adders = [threading.Thread(target=lambda: fut.add_done_callback(lambda f: seen.append(1))) for _ in range(3)]
        for thread in adders:
            thread.start()
        fut.set_result(None)
        for thread in adders:
            thread.join(10)
        assert len(seen) == 3


def test_collect_all_gives_the_futures_when_all_are_done() -> None:
    futures = [Future() for _ in range(3)]
    both = collect_all(futures)
    for index, fut in enumerate(futures):
        assert not both.done()
        fut.set_result(index)
    assert [f.value() for f in both.wait()] == [0, 1, 2]
    assert collect_all([]).wait() == []


def test_collect_all_fails_only_after_all_are_done() -> None:
    futures = [Future(), Future()]
    both = collect_all(futures)
    futures[0].set_exception(ValueError("first"))
    assert not both.done()
    futures[1].set_result(1)
    with pytest.raises(ValueError, match="first"):
        both.wait()
    with pytest.raises(ValueError, match="first"):
        wait_all(futures)


def test_collections_take_any_iterable() -> None:
    done = Future()
    done.set_result(4)
    assert wait_all(each for each in (done, done)) == [4, 4] and len(collect_all(iter([done])).wait()) == 1


def test_collections_want_futures() -> None:
    for collect in (collect_all, wait_all):
        with pytest.raises(TypeError, match="sequence of mpigrad.futures.Future"):
            collect(3)
        with pytest.raises(TypeError, match="sequence of mpigrad.futures.Future"):
            collect([1])


def test_await() -> None:
    async def main() -> list:
        now, later, bad = Future(), Future(), Future()
        now.set_result("now")
        threading.Timer(0.01, lambda: later.set_result("later")).start()
        threading.Timer(0.01, lambda: bad.set_exception(KeyError("bad"))).start()
        got = [await now, await later]
        with pytest.raises(KeyError):
            await bad
        return got

    assert asyncio.run(main()) == ["now", "later"]


def test_await_that_was_given_up(caplog) -> None:
    """The value may come when the loop is no more."""
    late = Future()

    async def wait() -> None:
        await late

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait(), 0.01)

    asyncio.run(main())
    late.set_result(1)
    assert late.wait() == 1 and not caplog.records


def test_no_pickling() -> None:
    with pytest.raises(RuntimeError, match="Can not pickle"):
        pickle.dumps(Future())


def test_devices() -> None:
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        Future(devices=["cpu"])
    assert Future[int]().done() is False


def test_waiting_in_turns_leaves_nothing_behind() -> None:
    fut: Future = Future()
    for _ in range(20):
        block(fut, time.monotonic() + 0.001)
    assert not fut._sleepers
    timer = threading.Timer(0.05, fut.set_result, (3,))
    timer.start()
    block(fut, time.monotonic() + 20)
    assert fut.value() == 3 and not fut._sleepers
    timer.join()
