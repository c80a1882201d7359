"""Work is queued, and runs only when something synchronises: a missing synchronisation shows every time."""

from __future__ import annotations

import threading

import cupy
import numpy as np
import pytest

cuda = cupy.cuda


def pinned(count: int) -> np.ndarray:
    memory = cuda.alloc_pinned_memory(count * 8)
    array = np.frombuffer(memory, np.float64, count)
    array[:] = -1
    return array


def copy_out(device_array: cupy.ndarray, host_array: np.ndarray, stream: cuda.Stream) -> None:
    device_array.data.copy_to_host_async(host_array.ctypes.data, device_array.nbytes, stream)


def test_missing_synchronisation_leaves_the_old_value():
    host, stream = pinned(4), cuda.Stream(non_blocking=True)
    with stream:
        copy_out(cupy.arange(4.0), host, stream)
    assert host.tolist() == [-1] * 4
    stream.synchronize()
    assert host.tolist() == [0, 1, 2, 3]


def test_stream_that_does_not_wait_reads_what_was_there_before():
    source = cupy.zeros(3)
    producer, consumer = cuda.Stream(non_blocking=True), cuda.Stream(non_blocking=True)
    cuda.Device().synchronize()
    with producer:
        source += 5
    with consumer:
        wrong = source * 1
    consumer.synchronize()
    assert wrong.get(stream=consumer).tolist() == [0, 0, 0]
    producer.synchronize()
    assert source.get(stream=producer).tolist() == [5, 5, 5]


def test_a_full_queue_runs_its_older_half_even_of_waits_and_records():
    busy, idle = cuda.Stream(non_blocking=True), cuda.Stream(non_blocking=True)
    first = busy.record()
    for _ in range(1100):
        idle.wait_event(busy.record())
    last = busy.record()
    assert first.done and not last.done


def test_event_orders_two_streams():
    source = cupy.zeros(3)
    producer, consumer = cuda.Stream(non_blocking=True), cuda.Stream(non_blocking=True)
    cuda.Device().synchronize()
    with producer:
        source += 5
        ready = producer.record()
    consumer.wait_event(ready)
    with consumer:
        right = source * 2
    assert right.get(stream=consumer).tolist() == [10, 10, 10]


def test_event_covers_what_came_before_it_only():
    host, stream = pinned(2), cuda.Stream(non_blocking=True)
    with stream:
        first, second = cupy.full(1, 1.0), cupy.full(1, 2.0)
        copy_out(first, host[:1], stream)
        event = stream.record()
        copy_out(second, host[1:], stream)
    event.synchronize()
    assert host.tolist() == [1, -1]
    stream.synchronize()
    assert host.tolist() == [1, 2]


def test_blocking_streams_keep_the_order_of_the_default_stream():
    value = cupy.zeros(1)
    stream = cuda.Stream()
    value += 1  # default stream
    with stream:
        value *= 10  # waits for it
    value += 1  # waits for the stream
    assert value.get().tolist() == [11]


def test_non_blocking_streams_do_not_wait_for_the_default_stream():
    value, stream = cupy.zeros(1), cuda.Stream(non_blocking=True)
    cuda.Device().synchronize()
    value += 1
    with stream:
        copied = value.copy()
    assert copied.get(stream=stream).tolist() == [0]
    assert value.get().tolist() == [1]


def test_pageable_source_may_be_reused_pinned_source_may_not():
    stream = cuda.Stream(non_blocking=True)
    for host, expected in ((np.ones(1), 1), (pinned(1), 7)):
        host[:] = 1
        target = cupy.empty(1)
        target.data.copy_from_host_async(host.ctypes.data, 8, stream)
        host[:] = 7
        assert target.get(stream=stream).tolist() == [expected]


def test_polling_ends():
    host, stream = pinned(1), cuda.Stream(non_blocking=True)
    with stream:
        copy_out(cupy.full(1, 3.0), host, stream)
        event = stream.record()
    assert not event.done
    assert host[0] == -1
    assert event.done
    assert host[0] == 3


def test_host_function_runs_in_its_place():
    host, stream, seen = pinned(1), cuda.Stream(non_blocking=True), []
    with stream:
        copy_out(cupy.full(1, 1.0), host, stream)
        stream.launch_host_func(lambda _: seen.append(host[0]), None)
        copy_out(cupy.full(1, 2.0), host, stream)
    assert seen == []
    stream.synchronize()
    assert (seen, host[0]) == ([1], 2)


def test_devices_do_not_wait_for_each_other():
    host = pinned(2)
    with cuda.Device(1):
        there = cuda.Stream(non_blocking=True)
        with there:
            copy_out(cupy.full(1, 1.0), host[1:], there)
    with cuda.Device(0):
        cupy.zeros(1).get()
        cuda.Device(0).synchronize()
    assert host[1] == -1
    cuda.Device(1).synchronize()
    assert host[1] == 1


@pytest.mark.parametrize("non_blocking", [False, True])
def test_copy_between_devices_in_the_default_stream_waits_for_all_work_of_both(non_blocking):
    with cuda.Device(0):
        other = cuda.Stream(non_blocking=non_blocking)
        with other:
            here = cupy.arange(3.0)
            here += 1
    with cuda.Device(1):
        there = cupy.asarray(here)
    with cuda.Device(0), other:
        here += 1
        assert here.get(stream=other).tolist() == [2, 3, 4]
    with cuda.Device(1):
        assert there.device.id == 1
        assert there.get().tolist() == [1, 2, 3]


def test_stream_of_another_device_is_refused():
    with cuda.Device(1):
        stream = cuda.Stream()
    kernel = cupy.ElementwiseKernel("T x", "T y", "y = x + 1", "add_one")
    values = cupy.zeros(1)
    with cuda.Device(0), pytest.raises(cuda.driver.CUDADriverError, match="INVALID_HANDLE"):
        kernel(values, stream=stream)


def test_elapsed_time_needs_finished_events():
    begin, end = cuda.Event(), cuda.Event()
    begin.record()
    end.record()
    with pytest.raises(cuda.runtime.CUDARuntimeError, match="NotReady"):
        cuda.get_elapsed_time(begin, end)
    end.synchronize()
    assert cuda.get_elapsed_time(begin, end) >= 0


def test_threads_may_synchronise_each_others_streams():
    streams = [cuda.Stream(non_blocking=True) for _ in range(4)]
    totals = []

    def work(stream: cuda.Stream) -> None:
        with stream:
            value = cupy.zeros(8)
            for _ in range(50):
                value += 1
            for other in streams:
                other.synchronize()
            totals.append(value.sum().get(stream=stream).item())

    threads = [threading.Thread(target=work, args=(stream,)) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert totals == [400] * 4


def test_copy_between_devices_on_a_stream_of_its_own_waits_for_nothing_else():
    with cuda.Device(0):
        here = cupy.zeros(3)
        cuda.Device(0).synchronize()
        here += 1
    with cuda.Device(1):
        stream = cuda.Stream(non_blocking=True)
        with stream:
            there = cupy.asarray(here)
            assert there.get(stream=stream).tolist() == [0, 0, 0]
