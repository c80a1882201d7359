"""`remote`: makes an RRef at once and its value on another worker; and the owner's side of making and fetching values."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from mpigrad.distributed.rpc._agent.current import get_agent
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.errors import pack_error, print_error, unpack_error
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._protocol.worker_info import Args, Kwargs, To
from mpigrad.distributed.rpc.constants import UNSET_RPC_TIMEOUT
from mpigrad.futures import Future

from ..guard import enter, leave
from .function_names import check_call
from .owner_calls import seconds_of
from .rref import RRef, make
from .table import Owner, User, creation_error, table_of

if TYPE_CHECKING:
    from mpigrad.distributed.rpc._protocol.worker_info import WorkerInfo

    from .agent import Agent

T = TypeVar("T")
_REMOTE = int(MessageType.PYTHON_REMOTE_CALL)
_NEW = 1  # extra2 of a remote call: 1 if the caller is a user, whose fork the owner counts


@overload
def remote(
    to: To, func: Callable[..., Future[T]], args: Args = None, kwargs: Kwargs = None, timeout: float = UNSET_RPC_TIMEOUT
) -> RRef[T]: ...
@overload
def remote(
    to: To, func: Callable[..., T], args: Args = None, kwargs: Kwargs = None, timeout: float = UNSET_RPC_TIMEOUT
) -> RRef[T]: ...
def remote(
    to: Any, func: Callable[..., Any], args: Any = None, kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT
) -> RRef:
    """Run `func(*args, **kwargs)` on the worker `to` and give an `RRef` to its result at once.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.remote("solo", max, args=(2, 3)).to_here()
    3
    >>> rpc.shutdown()
    """
    agent = get_agent()
    if not callable(func):
        raise TypeError("function should be callable.")
    if type(func) is MethodType:
        check_call(func, args, kwargs)
    info = agent.find(to)
    before = enter()
    try:
        return _remote(agent, info, func, args, kwargs, timeout)
    finally:
        leave(before)


def _remote(agent: Agent, info: WorkerInfo, func: Any, args: Any, kwargs: Any, timeout: float) -> RRef:
    table = table_of(agent)
    number, seconds = table.new_id(), seconds_of(agent, timeout)
    if info.id == agent.rank:
        return _own(agent, number, func, args, kwargs, seconds)
    user = User(number, info.id, table.new_id() + 1, info.id, 0, confirmed=False)
    table.add_user(user)
    try:
        answer = _call(agent, info, func, args, kwargs, seconds, number)
    except BaseException as error:
        table.confirm(user, error)
        raise
    answer._add(lambda fut: table.confirm(user, _error_of(fut)))
    return make(table, user, answer)


def _call(agent: Agent, info: Any, func: Any, args: Any, kwargs: Any, seconds: float, number: int) -> Any:
    def send(f: Any, a: Any, k: Any) -> Any:
        return agent.call(info.id, f, a, k, seconds, kind=_REMOTE, extra=number, extra2=_NEW)

    profiler = extensions.profiler
    return send(func, args, kwargs) if profiler is None else profiler("rpc_remote", info, func, args, kwargs, send)


def _own(agent: Agent, number: int, func: Any, args: Any, kwargs: Any, seconds: float) -> RRef:
    """remote() to oneself: the record is here, and filled by a call to oneself."""
    table = table_of(agent)
    owner = table.new_owner(number)
    answer = agent.call(agent.rank, func, args, kwargs, seconds, kind=_REMOTE, extra=number)
    rref = make(table, owner, answer)
    answer._add(lambda fut: _fail_if_unfilled(owner, fut))
    return rref


def _fail_if_unfilled(owner: Owner, answer: Any) -> None:
    error = _error_of(answer)
    if error is not None:
        _complete(owner, 2, creation_error(error))


def _complete(owner: Owner, state: int, value: Any) -> None:
    """Set the value (1) or the error of making it (2), unless the creation has timed out."""
    try:
        owner.value._set(state, value)
    except RuntimeError:
        if not owner.value.done():
            raise


def _error_of(fut: Any) -> BaseException | None:
    try:
        fut.value()
    except BaseException as error:
        return error
    return None


def _serve_remote(agent: Agent, header: extensions.CallHeader, execute: Callable[[], Any]) -> Any:
    """Make the value of an RRef. An error of the function becomes the RRef's; the caller has its record either way."""
    table = table_of(agent)
    owner = table.new_owner(header.extra)
    if header.extra2 == _NEW:
        table.count_child(owner, header.src)
    table.keep(owner)
    try:
        result = execute()
    except BaseException as error:
        print_error(agent.info, error)
        _complete(owner, 2, _portable(agent, error))
    else:
        if isinstance(result, Future):
            result._add(lambda fut: _fill_from(agent, owner, fut))
            return result.then(lambda fut: table.unkeep(owner.number))
        _complete(owner, 1, result)
    table.unkeep(owner.number)
    return None


def _portable(agent: Agent, error: BaseException) -> Any:
    """The error with its traceback as text: live frames would keep what they refer to, this RRef included, alive."""
    return unpack_error(pack_error(agent.info, error))


def _fill_from(agent: Agent, owner: Owner, fut: Any) -> None:
    error = _error_of(fut)
    if error is None:
        _complete(owner, 1, fut.value())
    else:
        _complete(owner, 2, _portable(agent, error))


def _serve_fetch(agent: Agent, header: extensions.CallHeader, execute: Callable[[], Any]) -> Any:
    """Give a value to a user: at once, or a Future of it while it is being made."""
    table = table_of(agent)
    owner = table.owner(header.extra)
    if owner.value.done():
        return owner.value.value()
    table.keep(owner)  # nothing else does, if the call that makes the value has yet to come
    owner.value._add(lambda fut: table.unkeep(owner.number))
    return owner.value


extensions.register_call_handler(_REMOTE, _serve_remote)
extensions.register_call_handler(MessageType.PYTHON_RREF_FETCH_CALL, _serve_fetch)
