"""Hooks through which other layers take part in RPC: distributed autograd, RRefs, internal messages, profiling.

RPC imports none of the layers that use it. Each of them installs itself here, once, at import.

1. Interceptor (distributed autograd): `install_interceptor(obj)`; see `Interceptor`.
2. Handlers of internal messages: `register_handler(type, fn, in_place=...)`. The sender uses `Agent.request` or `Agent.notify`;
   see `Handler`. Requests that carry a user function but are not plain calls (those of `remote`): `register_call_handler`; the
   sender uses `Agent.call(kind=...)`.
3. RRefs inside payloads: `install_rref_hook(obj)`; see `RRefHook`.
4. Profiling: `install_profiler(fn)`; `fn(kind, WorkerInfo, func, args, kwargs, send)` makes the call; see `_agent/profiling.py`.

An agent uses the interceptor that is installed when the agent is created.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent
    from mpigrad._core.rpc.agent import RawMessage as RawMessage
    from mpigrad._tensor import Tensor


class Interceptor(Protocol):
    """How distributed autograd takes part in calls: it records the tensors that are sent and received in a context."""

    def on_send(self, agent: Agent, dst: int, tensors: list[Tensor]) -> tuple[int, int] | None:
        """Called on the sending thread for each request, and for the answer to a request that came with a context.

        `tensors` are all tensors in the message; it is called without tensors, too, because the context travels with
        every call. For an answer it is called inside `running` of its request. Returns (context id, autograd message id),
        which travel in the header, or None outside of any context.
        """

    def on_receive(self, agent: Agent, src: int, context_id: int, message_id: int, tensors: list[Tensor]) -> Any:
        """Called for a received message that has a context; may attach graph nodes to `tensors` in place.

        What it returns for a request is passed to `running`; for an answer it is ignored.
        """

    def on_unrecorded(self, agent: Agent, src: int, context_id: int) -> None:
        """Called on a caller whose call had a context while its answer has none.

        The callee `src` had released the context before it answered, and so has recorded nothing.
        """

    def running(self, context: Any) -> AbstractContextManager[Any]:
        """Return the context manager around the user function and the building of its answer; `context` is from `on_receive`."""

    current: Any  # thread-local; `current.context` is what `running` has set, readable without a call


class RRefHook(Protocol):
    """How the RRef layer encodes RRefs inside payloads and counts their forks."""

    types: tuple[type, ...]  # exact classes whose instances `pack` encodes instead of pickle

    def pack(self, agent: Agent, dst: int, rrefs: list[Any]) -> bytes:
        """Make a fork of each RRef for the worker `dst` and return the bytes for `unpack`.

        Called after the other objects of a message have been pickled.
        """

    def undo(self, agent: Agent, dst: int, data: bytes) -> None:
        """Remove the forks that `pack` made for a message that could not be sent."""

    def unpack(self, agent: Agent, src: int, data: bytes) -> list[Any]:
        """Return the RRefs that `pack` has encoded, in the same order.

        Called before the other objects are unpickled, and also if that will fail, since the forks are already counted.
        """


class CallHeader(NamedTuple):
    """The header fields of a request to run a user function, for handlers set by `register_call_handler`.

    What `extra` and `extra2` mean depends on the type `kind` of the message.
    """

    src: int
    kind: int
    call_id: int
    extra: int
    extra2: int
    context_id: int
    message_id: int


# fn(agent, header, execute) -> answer (any object). `execute()` runs the function with its arguments.
CallHandler = Callable[["Agent", CallHeader, Callable[[], Any]], Any]

# fn(agent, message) -> answer: None, bytes, (bytes, list of arrays), or a Future of one of these. Exceptions travel to
# the caller.
Handler = Callable[["Agent", "RawMessage"], Any]


class HandlerEntry(NamedTuple):
    """A handler of internal messages, and on which threads it may run."""

    fn: Handler
    in_place: (
        bool  # True: cannot block, so it runs on the receiving thread; False: may run user code, so leader or pool
    )
    runs_user_code: Callable[[Agent, int], bool] | None = None  # asked with a message's context id: then as if not `in_place`


interceptor: Interceptor | None = None
rref_hook: RRefHook | None = None
profiler: Callable[..., Any] | None = None
profiling_futures: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # by the Future of `remote`: its events have come
backward: Callable[[int, list[Any], bool], None] | None = None  # (context id, roots, retain_graph), for RRef.backward
handlers: dict[int, HandlerEntry] = {}
call_handlers: dict[int, CallHandler] = {}
start_hooks: list[Callable[[Agent], None]] = []  # called with a new agent, before it serves anything
shutdown_hooks: list[Callable[[Agent], None]] = []  # called when an agent has stopped
worker_lost_hooks: list[Callable[[Agent, int], None]] = []  # called with the rank of a worker that is gone
agent_info_hooks: list[Callable[[], dict[str, Any]]] = []  # further numbers for `Agent.debug_info`
debug_info_hooks: list[Callable[[], dict[str, Any]]] = []  # counters of other layers, for `rpc._get_debug_info`
quiet_hooks: list[
    Callable[[Agent], bool]
] = []  # False while a layer still has unfinished work; asked by graceful shutdown
before_shutdown_hooks: list[
    Callable[[Agent], None]
] = []  # called once when graceful shutdown begins, e.g. to drop user RRefs


def install_interceptor(new: Interceptor | None) -> None:
    """Install the interceptor of distributed autograd for agents that are created from now on; None removes it."""
    global interceptor
    interceptor = new


def install_rref_hook(new: RRefHook | None) -> None:
    """Install the hook of the RRef layer (None removes it)."""
    global rref_hook
    rref_hook = new


def install_profiler(new: Callable[..., Any] | None) -> None:
    """Install the function that profiles calls (None removes it)."""
    global profiler
    profiler = new


def register_call_handler(message_type: int, fn: CallHandler) -> None:
    """Set the handler of requests of a type that carry a user function but are no plain calls, such as those of `remote`.

    The sender makes them with `Agent.call(kind=message_type)`.
    """
    call_handlers[int(message_type)] = fn


def register_handler(
    message_type: int, fn: Handler, in_place: bool = True, runs_user_code: Callable[[Agent, int], bool] | None = None
) -> None:
    """Set the handler of internal messages of a type; the other arguments are fields of `HandlerEntry`."""
    handlers[int(message_type)] = HandlerEntry(fn, in_place, runs_user_code)
