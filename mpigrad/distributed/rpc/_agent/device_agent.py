"""The agent of a worker that uses GPUs: device maps, CUDA streams and device receive buffers.

`_world/device_profiles.py` chooses it when a worker has devices or another worker's device map names some of its devices. The
plain `Agent` contains no code for devices; the subclasses here add it. Rule for streams: requests run on streams of a pool,
answers arrive on the streams of their caller, gradients on the streams of the backward pass.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from mpigrad._array.device import CPU, device
from mpigrad._core.future import Future
from mpigrad._core.rpc import payload
from mpigrad._core.rpc.agent import Agent, Server
from mpigrad._core.rpc.calls import CallFuture, CallTable
from mpigrad._core.rpc.frames import Header, kind_of, read_header
from mpigrad._core.rpc.transport import FrameWithArrays
from mpigrad.distributed._gpu.streams import StreamPool, Streams, publish

from .._protocol import extensions
from .._protocol.message import MessageType
from .._transport.device.receive import DeviceReceiver
from .device_maps import DeviceMap, Profile, Route, devices_in_use, reverse_maps

_ANSWERS = frozenset({int(MessageType.REPLY), int(MessageType.EXCEPTION)})
_PASSES = range(int(MessageType.BACKWARD_AUTOGRAD_REQ), int(MessageType.ABORT_AUTOGRAD) + 1)  # may compute gradients
# Beside the futures and not in them: `Future` has no slot for it, and only futures of device arrays need one.
_arrival: weakref.WeakKeyDictionary[Future, Any] = weakref.WeakKeyDictionary()  # future -> events after its arrays


class _Ordered(Future):
    """A future whose value has GPU arrays, which may still be incomplete when the future is done.

    `wait` and `value` make the current CUDA stream of the calling thread wait for them.
    """

    __slots__ = ()

    def wait(self) -> Any:
        value = super().wait()
        self._order()
        return value

    def value(self) -> Any:
        value = super().value()
        self._order()
        return value

    def _order(self) -> None:
        Streams.wait_for(_arrival.get(self, {}))


class DeviceFuture(_Ordered, CallFuture):
    """The future of a call whose answer may have device arrays."""

    __slots__ = ()


class ValueFuture(_Ordered):
    """The future of an RRef's value: readers wait for the work that was on the streams of the thread that set it."""

    __slots__ = ()

    def set_result(self, result: Any) -> None:
        _arrival[self] = Streams.current(_makers[self]).record()
        super().set_result(result)


_makers: weakref.WeakKeyDictionary[Future, list[device]] = weakref.WeakKeyDictionary()  # future -> devices to record


class _Pending(dict[int, CallFuture]):
    """Pending calls by call id; for each, also the CUDA streams that were current on the calling thread.

    The answer's arrays will be received on these streams, so that the caller can use them without synchronising.
    """

    def __init__(self, devices: list[device]) -> None:
        super().__init__()
        self._devices = devices
        self.streams: dict[int, Streams] = {}

    def __setitem__(self, call_id: int, fut: CallFuture) -> None:
        self.streams[call_id] = Streams.current(self._devices)
        super().__setitem__(call_id, fut)

    def pop(self, call_id: int, *default: Any) -> Any:  # type: ignore[override]
        self.streams.pop(call_id, None)
        return super().pop(call_id, *default)


class DeviceCallTable(CallTable):
    """A call table that decodes each answer on the streams of its caller."""

    pending: _Pending
    _agent: DeviceAgent

    def use_devices(self, devices: list[device]) -> None:
        """From now on, remember the current streams of callers on these devices."""
        self.pending = _Pending(devices)

    def new_future(self) -> CallFuture:
        return DeviceFuture.__new__(DeviceFuture)

    def _complete(self, frame: Any, header: Header) -> None:
        streams = self._agent.streams_of(frame)
        if type(frame) is FrameWithArrays and frame.streams is not None:
            fut = self.pending.get(header.call_id)
            if fut is not None:
                _arrival[fut] = streams.record()
        with streams.acting():
            super()._complete(frame, header)


class DeviceServer(Server):
    """A server that runs each function on streams of the pool, so that requests do not serialise on the default stream."""

    _agent: DeviceAgent

    def dispatch(self, frame: Any, kind: int) -> None:
        if kind in extensions.handlers and kind not in _PASSES and type(frame) is not FrameWithArrays:
            super().dispatch(frame, kind)  # an internal message without arrays: nothing runs on a GPU
            return
        with self._agent.streams_of(frame).serving():
            super().dispatch(frame, kind)


class DeviceAgent(Agent):
    """An agent that sends and receives arrays on GPUs."""

    call_table_type = DeviceCallTable
    server_type = DeviceServer
    before_send = staticmethod(publish)
    calls: DeviceCallTable

    def use_devices(self, profiles: Mapping[str, Profile], cuda_aware: bool, static: bool) -> None:
        """Set up streams and receive buffers, before anything is served.

        Args:
            profiles: the devices and device maps of all workers, by worker name.
            cuda_aware: whether MPI reads and writes GPU memory itself.
            static: whether all workers are known. In a dynamic world others join later, whose maps may name any GPU; all
                visible GPUs are then prepared.
        """
        mine = profiles[self.info.name]
        self._maps: dict[str, DeviceMap] = mine.maps
        self._ways_back = reverse_maps(self.info.name, profiles)
        devices = devices_in_use(mine, self._ways_back)
        if not static and not mine.devices:  # maps of later members may name any GPU
            devices = [device("cuda", index) for index in range(mine.available)]
        self.devices = devices
        self.moves_host_tensors = any(CPU in each for each in (*self._maps.values(), *self._ways_back.values()))
        payload.count_host_maps(int(self.moves_host_tensors))
        self._streams = StreamPool(devices)
        self.calls.use_devices(devices)
        self.transport.device_receiver = DeviceReceiver(devices, self._streams_for, cuda_aware)

    def stop_using_devices(self) -> None:
        """Undo what `use_devices` has counted for the whole process; called when the agent has stopped."""
        payload.count_host_maps(-int(self.moves_host_tensors))

    def learn(self, name: str, profile: Profile) -> None:
        """Note how the worker `name`, which has joined, maps devices to those of this one: answers to it use the reverse map."""
        self._ways_back.update(reverse_maps(self.info.name, {name: profile}))

    def route(self, dst: int, what: str) -> Route:
        name = self.workers[dst].name if dst in self.workers else str(dst)
        return Route(what, name, (self._maps if what == "Request" else self._ways_back).get(name, {}))

    def new_value(self) -> Future:
        value = ValueFuture()
        _makers[value] = self.devices
        return value

    def computing(self) -> AbstractContextManager[Any]:  # type: ignore[override]
        return self._streams.backward.working()

    def defer(self, run: Callable[[], None]) -> bool:
        """As `Agent.defer`, but `run` keeps the streams of this thread, which has completed the future."""
        streams = Streams.current(self.devices)

        def inside() -> None:
            with streams.acting():
                run()

        return super().defer(inside)

    def _streams_for(self, frame: Any) -> Streams:
        """Return the streams on which a frame's arrays will be used: the caller's, those of the pass, or new ones."""
        kind = kind_of(frame)
        if kind in _ANSWERS:
            return self.calls.pending.streams.get(read_header(frame).call_id) or self._streams.next()
        return self._streams.backward if kind in _PASSES else self._streams.next()

    def streams_of(self, frame: Any) -> Streams:
        """Return the streams on which a frame's arrays were received; without arrays, those on which its request will run."""
        known = frame.streams if type(frame) is FrameWithArrays else None
        return self._streams_for(frame) if known is None else known


def _stopped(agent: Agent) -> None:
    if isinstance(agent, DeviceAgent):
        agent.stop_using_devices()


extensions.shutdown_hooks.append(_stopped)
