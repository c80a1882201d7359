"""Calls about an RRef that are made on its owner: its value, the type of its value, backward from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._agent.current import get_agent
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.errors import as_runtime_error
from mpigrad.distributed.rpc.constants import UNSET_RPC_TIMEOUT

from ..future import Future
from .table import Owner, table_of

if TYPE_CHECKING:
    from .agent import Agent
    from .rref import RRef


def seconds_of(agent: Agent, timeout: float) -> float:
    """A timeout as users give it, in seconds: negative ones stand for the agent's default."""
    return agent.rpc_timeout if timeout < 0 else timeout


def value_of(number: int) -> Any:
    """The value of an RRef of this worker."""
    owner = table_of(get_agent()).owner(number)  # held while waiting: the call that makes the value may have yet to come
    return owner.value.wait()


def call_owner(rref: RRef, func: Callable[..., Any], args: tuple[Any, ...], timeout: float) -> Any:
    """Call `func(number, *args)` on the owner; the RRef stays alive until the answer is there."""
    agent = rref._table.agent if isinstance(rref._record, Owner) else rref._usable(f"{func.__name__.strip('_')}()")
    future = agent.call(rref._info.id, func, (rref._record.number, *args), None, seconds_of(agent, timeout))
    future._add(lambda fut: rref)
    return future


def _type_of(number: int) -> Any:
    return type(value_of(number))


def _type_once_made(value: Future) -> Future:
    """The future of a value's type; it fails as the value does."""
    known = Future()

    def made(fut: Future) -> None:
        if fut._state == 2:
            known.set_exception(fut._value)
        else:
            known.set_result(type(fut._value))

    value._add(made)
    return known


def ask_type(rref: RRef, timeout: float, blocking: bool) -> Any:
    """The type of an RRef's value, or a Future of it; asked once."""
    if isinstance(rref._record, Owner):
        future = _type_once_made(rref._record.value)
    else:
        if rref._record.type_name is None:
            rref._record.type_name = call_owner(rref, _type_of, (), timeout)
        future = rref._record.type_name
    return future.wait() if blocking else future


def _backward(number: int, context_id: int, retain_graph: bool) -> None:
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
    try:
        call_owner(rref, _backward, (context_id, retain_graph), UNSET_RPC_TIMEOUT).wait()
    except Exception as error:
        raise as_runtime_error(error) from error.__cause__
