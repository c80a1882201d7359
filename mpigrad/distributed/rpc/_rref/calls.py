"""`remote`, and the calls that RRefs make: fetching a value, its type, backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpigrad.futures import Future

from .._agent.current import get_agent
from .._protocol import extensions
from .._protocol.errors import pack_error, unpack_error
from .._protocol.message import MessageType
from ..constants import UNSET_RPC_TIMEOUT
from .rref import RRef, _seconds, make, table_of
from .table import Owner, User

_REMOTE = int(MessageType.PYTHON_REMOTE_CALL)
_NEW = 1  # extra2 of a remote call: 1 if the caller is a user, whose fork the owner counts


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
    info, table = agent.find(to), table_of(agent)
    number, seconds = table.new_id(), _seconds(agent, timeout)
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


def _call(agent: Any, info: Any, func: Any, args: Any, kwargs: Any, seconds: float, number: int) -> Any:
    def send(f: Any, a: Any, k: Any) -> Any:
        return agent.call(info.id, f, a, k, seconds, kind=_REMOTE, extra=number, extra2=_NEW)

    profiler = extensions.profiler
    return send(func, args, kwargs) if profiler is None else profiler("rpc_remote", info, func, args, kwargs, send)


def _own(agent: Any, number: int, func: Any, args: Any, kwargs: Any, seconds: float) -> RRef:
    """remote() to oneself: the record is here, and filled by a call to oneself."""
    table = table_of(agent)
    owner = table.owner(number)
    answer = agent.call(agent.rank, func, args, kwargs, seconds, kind=_REMOTE, extra=number)
    rref = make(table, owner, answer)
    answer._add(lambda fut: _fail_if_unfilled(owner, fut))
    return rref


def _fail_if_unfilled(owner: Owner, answer: Any) -> None:
    error = _error_of(answer)
    if error is not None and not owner.value.done():
        owner.value.set_exception(error)


def _error_of(fut: Any) -> BaseException | None:
    try:
        fut.value()
    except BaseException as error:
        return error
    return None


def _serve_remote(agent: Any, header: Any, execute: Callable[[], Any]) -> Any:
    """Make the value of an RRef. An error of the function becomes the RRef's; the caller has its record either way."""
    table = table_of(agent)
    owner = table.owner(header.extra)
    if header.extra2 == _NEW:
        table.count_child(owner, header.src)
    table.keep(owner)
    try:
        result = execute()
    except BaseException as error:
        owner.value.set_exception(_portable(agent, error))
    else:
        if isinstance(result, Future):
            result._add(lambda fut: _fill_from(agent, owner, fut))
            return result.then(lambda fut: table.unkeep(owner.number))
        owner.value.set_result(result)
    table.unkeep(owner.number)
    return None


def _portable(agent: Any, error: BaseException) -> Any:
    """The error with its traceback as text: live frames would keep what they refer to, this RRef included, alive."""
    return unpack_error(pack_error(agent.info, error))


def _fill_from(agent: Any, owner: Owner, fut: Any) -> None:
    error = _error_of(fut)
    if error is None:
        owner.value.set_result(fut.value())
    else:
        owner.value.set_exception(_portable(agent, error))


def _serve_fetch(agent: Any, header: Any, execute: Callable[[], Any]) -> Any:
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


# -- calls about an RRef, made on its owner ------------------------------------------------------------------------------
def value_of(number: int) -> Any:
    """The value of an RRef of this worker."""
    owner = table_of(get_agent()).owner(
        number
    )  # held while waiting: the call that makes the value may have yet to come
    return owner.value.wait()


def call_owner(rref: RRef, func: Callable[..., Any], args: tuple[Any, ...], timeout: float) -> Any:
    """Call `func(number, *args)` on the owner; the RRef stays alive until the answer is there."""
    agent = rref._table.agent if isinstance(rref._record, Owner) else rref._usable(func.__name__.strip("_"))
    future = agent.call(rref._info.id, func, (rref._record.number, *args), None, _seconds(agent, timeout))
    future._add(lambda fut: rref)
    return future


def _type_of(number: int) -> Any:
    return type(value_of(number))


def ask_type(rref: RRef, timeout: float, blocking: bool) -> Any:
    """The type of an RRef's value, or a Future of it; asked once."""
    if isinstance(rref._record, Owner):
        future = rref._record.value.then(lambda fut: type(fut.value()))
    else:
        if rref._record.type_name is None:
            rref._record.type_name = call_owner(rref, _type_of, (), timeout)
        future = rref._record.type_name
    return future.wait() if blocking else future


def _backward(number: int, context_id: int, retain_graph: bool) -> None:
    from mpigrad._tensor import Tensor

    value = value_of(number)
    if not isinstance(value, Tensor):
        raise RuntimeError(f"RRef should contain a tensor for .backward(), not {type(value).__name__}")
    if context_id == -1:
        value.backward(retain_graph=retain_graph)
    elif extensions.backward is None:
        raise RuntimeError("RRef.backward(context_id) needs mpigrad.distributed.autograd, which is not loaded here")
    else:
        extensions.backward(context_id, [value], retain_graph)


def backward_on_owner(rref: RRef, context_id: int, retain_graph: bool) -> None:
    """Run backward from an RRef's value, where it is."""
    if isinstance(rref._record, Owner):
        _backward(rref._record.number, context_id, retain_graph)
        return
    if context_id == -1:
        raise RuntimeError("User RRefs require 'dist_autograd_ctx_id' to be specified")
    call_owner(rref, _backward, (context_id, retain_graph), UNSET_RPC_TIMEOUT).wait()
