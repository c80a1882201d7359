"""`RRef`: a reference to a value on some worker, which lives as long as any worker refers to it (see `_core/rpc/table.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mpigrad._core.guard import edge, enter, leave_later
from mpigrad._graph.grad_mode import TRACING
from mpigrad._process.mpi_end import why_unusable
from mpigrad.autograd.profiler import record_function
from mpigrad.distributed.rpc._agent import current
from mpigrad.distributed.rpc._agent.current import get_agent
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.errors import CreationTimedOutError, RpcTimeoutError, WorkerGoneError
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._protocol.worker_info import WorkerInfo
from mpigrad.distributed.rpc._rref.adoption import Adoption
from mpigrad.distributed.rpc.constants import UNSET_RPC_TIMEOUT

from .function_names import label
from .owner_calls import ask_type, backward_on_owner, seconds_of
from .table import GloballyUniqueId, Owner, Table, User, creation_error, table_of

if TYPE_CHECKING:
    from .agent import Agent

T = TypeVar("T")
_FETCH = int(MessageType.PYTHON_RREF_FETCH_CALL)


class RRef(Generic[T]):
    """A reference to `value`, owned by this worker; `rpc.remote` gives references to values on other workers.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.RRef([1, 2]).local_value()
    [1, 2]
    >>> rpc.shutdown()
    """

    __slots__ = ("__weakref__", "_creation", "_info", "_record", "_table")
    _table: Table
    _record: Any  # an Owner here, a User elsewhere
    _info: WorkerInfo  # of the owner
    _creation: Any  # the Future of the call that makes the value; None for forks

    def __init__(self, value: T, type_hint: Any = None) -> None:
        if type_hint is not None or getattr(value, "_is_script_module", False):
            _check_hint(value, type_hint)
        agent = get_agent()
        table = table_of(agent)
        record = table.new_owner(table.new_id())
        record.value.set_result(value)
        _fill(self, table, record, agent.info)

    # -- whose it is -------------------------------------------------------------------------------------------------
    def is_owner(self) -> bool:
        """Whether this worker owns the value."""
        return isinstance(self._record, Owner)

    def owner(self) -> WorkerInfo:
        """The worker that owns the value."""
        return self._info

    def owner_name(self) -> str:
        """The name of the worker that owns the value."""
        return self._info.name

    def confirmed_by_owner(self) -> bool:
        """Whether the owner is known to have the value's record. An owner's own RRef always is."""
        return isinstance(self._record, Owner) or self._record.confirmed

    # -- the value ---------------------------------------------------------------------------------------------------
    def local_value(self) -> T:
        """The value, on its owner; waits until it has been made."""
        if not isinstance(self._record, Owner):
            raise RuntimeError(
                f"For {_described(self._record)}, can't call localValue() on user {self._table.agent.info}. "
                f"Call it on owner {self._info}"
            )
        return self._record.value.wait()

    def to_here(self, timeout: float = UNSET_RPC_TIMEOUT) -> T:
        """The value, copied from the owner if need be; waits until it has been made, `timeout` seconds at most."""
        if isinstance(self._record, Owner):
            return self._record.value.wait()
        agent = self._usable("to_here()")
        future = agent.call(
            self._info.id, _nothing, None, None, seconds_of(agent, timeout), kind=_FETCH, extra=self._record.number
        )
        try:
            if TRACING.on:
                with record_function(f"to_here#({agent.info.name})->({self._info.name})"):
                    return future.wait()
            return future.wait()
        except RpcTimeoutError as error:
            raise RpcTimeoutError(str(error).replace(label(_nothing), self._origin())) from None

    def _origin(self) -> str:
        """What was asked for the value, as far as this worker knows."""
        func = getattr(self._creation, "func", None)
        made_by = "the value" if func is None else f"the value of {func if isinstance(func, str) else label(func)}"
        return f"to_here() of {made_by} (RRef {_id(self._record.number)})"

    def _usable(self, what: str) -> Any:
        """The agent, if this fork still counts."""
        record = self._record
        if record.error is not None:
            raise creation_error(record.error)
        if record.deleted or current.current.agent is None:
            raise RuntimeError(
                why_unusable()
                or f"{_described(record)} has been deleted. Cannot call {what} on it after deletion."
            )
        if self._info.id in self._table.agent.gone:
            raise WorkerGoneError(self._table.agent.gone[self._info.id])
        return self._table.agent

    def _get_future(self) -> Any:
        """The Future of the owner's answer that it has the value (PyTorch: of the remote creation)."""
        if self._creation is None:
            raise RuntimeError(f"{self!r} was not made by remote() on this worker, so there is no creation to wait for")
        return self._creation

    def _get_type(self, timeout: float = UNSET_RPC_TIMEOUT, blocking: bool = True) -> Any:
        """The type of the value; a Future of it if not `blocking`."""
        return ask_type(self, timeout, blocking)

    def _serialize(self) -> Any:
        check_forkable(self._record)
        raise RuntimeError(_ONLY_IN_RPC)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError(_ONLY_IN_RPC)

    # -- calls -------------------------------------------------------------------------------------------------------
    def rpc_sync(self, timeout: float = UNSET_RPC_TIMEOUT) -> T:
        """A proxy: `rref.rpc_sync().method(args)` runs the method on the owner and gives its result. It has the methods of
        the value, so type checkers take it for one."""
        return _proxy(self, "rpc_sync", timeout)

    def rpc_async(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """A proxy: `rref.rpc_async().method(args)` gives a Future of the method's result."""
        return _proxy(self, "rpc_async", timeout)

    def remote(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """A proxy: `rref.remote().method(args)` gives an RRef to the method's result."""
        return _proxy(self, "remote", timeout)

    def backward(self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False) -> None:
        """Run backward from the value, a scalar tensor, on its owner: in a distributed context, or locally without one."""
        backward_on_owner(self, dist_autograd_ctx_id, retain_graph)

    def __repr__(self) -> str:
        record = self._record
        if isinstance(record, Owner):
            return f"OwnerRRef({_id(record.number)})"
        return f"UserRRef(RRefId = {_id(record.number)}, ForkId = {_id(record.fork - 1)})"

    @edge
    def __del__(self) -> None:
        before = enter()
        record = getattr(self, "_record", None)
        if isinstance(record, User):
            self._table.object_gone(record)
        leave_later(before)


_ONLY_IN_RPC = (
    "Can not pickle rref in python pickler, rref can only be pickled when using RPC: pass it as an argument or a result of "
    "a call"
)


def _check_hint(value: Any, hint: Any) -> None:
    if not getattr(value, "_is_script_module", False):
        raise RuntimeError("type_hint should only be specified when the RRef being created contains a ScriptModule.")
    if hint is None:
        raise RuntimeError(
            "The RRef being created contains a ScriptModule, must provide its ModuleInterface type hint. "
        )
    value._check_interface(hint)


def _fill(rref: RRef, table: Table, record: Owner | User, info: WorkerInfo, creation: Any = None) -> RRef:
    rref._table, rref._record, rref._info, rref._creation = table, record, info, creation
    return rref


def make(table: Table, record: Owner | User, creation: Any = None) -> RRef:
    """The Python object of a record."""
    agent = table.agent
    rank = agent.rank if isinstance(record, Owner) else record.owner
    info = agent.workers.get(rank) or agent.left.get(rank) or WorkerInfo(f"rank{rank}", rank)
    return _fill(object.__new__(RRef), table, record, info, creation)


def check_forkable(record: Owner | User) -> None:
    """Raise if an RRef cannot be sent: it was never made, or it has ended."""
    if isinstance(record, Owner):
        if record.value._state == 2 and isinstance(record.value._value, CreationTimedOutError):
            raise CreationTimedOutError from record.value._value
    elif record.error is not None:
        raise creation_error(record.error)
    elif record.deleted:
        raise RuntimeError(f"{_described(record)} has been deleted. Cannot call fork an UserRRef after deletion.")


def _described(user: User) -> str:
    return f"UserRRef(rref_id={_id(user.number)}, fork_id={_id(user.fork - 1)})"


def _id(number: int) -> GloballyUniqueId:
    return GloballyUniqueId.of(number)


def _nothing() -> None:
    """The function of a fetch: its handler knows what to do."""


_proxy: Callable[[RRef, str, float], Any]  # (RRef, function of RPC, timeout); see `install_proxy`


def install_proxy(proxy: Callable[[RRef, str, float], Any]) -> None:
    """Have `rref.rpc_sync()` and its relatives make proxies of this class, which calls the public functions of RPC."""
    global _proxy
    _proxy = proxy


def _start(agent: Agent) -> None:
    agent.rrefs = Table(agent, Adoption)


extensions.start_hooks.append(_start)
extensions.worker_lost_hooks.append(lambda agent, rank: table_of(agent).rank_lost(rank))


def _quiet(agent: Agent) -> bool:
    return agent.rrefs.quiet()


extensions.quiet_hooks.append(_quiet)
