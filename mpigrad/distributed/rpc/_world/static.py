"""Worlds: how an agent meets the others of its MPI job, and how it leaves them."""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable
from typing import Any

from mpigrad._process.rank import singletons
from mpigrad.distributed import _mpi

from .._agent import current
from .._agent.agent import Agent
from .._agent.device_maps import Profile
from .._protocol import extensions
from .._protocol.message import MessageType
from .._protocol.worker_info import WorkerInfo
from .._transport.base import Transport
from .._transport.mpi import private_duplicate
from .._transport.mpi_probing import open_transport
from .device_profiles import agent_class, begin, gather_names, gather_profiles
from .drain import say_farewell
from .shutdown import Closing

logger = logging.getLogger(__name__)


def start_mpi_agent(name: str, rank: int, world_size: int | None, options: Any) -> Agent:
    """Join the world of an MPI communicator."""
    _mpi.check_thread_level()
    MPI = _mpi.mpi()
    comm = MPI.COMM_WORLD if options.comm is None else options.comm
    if world_size == 1 and comm.Get_size() != 1:
        comm = MPI.COMM_SELF  # a world of its own on one rank of a larger job
    check_place(rank, world_size, comm)
    _mpi.abort_on_uncaught()
    atexit.unregister(_leave_at_exit)
    atexit.register(_leave_at_exit)
    deadline = time.monotonic() + options.init_timeout
    if world_size is None:
        from .dynamic import join_dynamic

        return join_dynamic(name, comm, options)
    duplicate = private_duplicate(comm, deadline)
    agent = start_static(name, open_transport(duplicate), options, deadline, current.set_agent)
    agent.communicator = duplicate
    return agent


def check_place(rank: int, world_size: int | None, comm: Any) -> None:
    """Rank and size come from MPI; given ones must agree."""
    size, own = comm.Get_size(), comm.Get_rank()
    if world_size is not None and world_size != size:
        remedy = singletons(size) or (
            f"start the program with `mpiexec -n {world_size}`, or pass a communicator of that size as "
            "MPIRpcBackendOptions(comm=...)"
        )
        raise RuntimeError(
            f"init_rpc was given world_size={world_size}, but the MPI communicator has {size} ranks; {remedy}"
        )
    if rank not in (-1, None) and rank != own:
        cause = singletons(size)
        raise RuntimeError(
            f"init_rpc was given rank={rank}, but this process is rank {own} of the MPI communicator"
            + (f"; {cause}" if cause else "")
        )


def start_static(
    name: str,
    transport: Transport,
    options: Any,
    deadline: float,
    prepare: Callable[[Agent], None] | None = None,
    profiles: dict[str, Profile] | None = None,
) -> Agent:
    """An agent of a world whose workers are all known from the start; `profiles` if their devices are known, too."""
    names, with_devices = gather_names(name, options, transport, deadline)
    firsts = {known: other for other, known in reversed(list(enumerate(names)))}
    if profiles is None:
        profiles = _profiles(names, options, transport, deadline) if with_devices else {}
    agent = new_agent(name, transport, options, agent_class(name, profiles))
    for other, known in enumerate(names):
        if firsts[known] != other:
            transport.close(clean=True)
            raise RuntimeError(f"RPC worker name {known} is not unique: ranks {firsts[known]} and {other} both use it")
        agent.workers[other] = agent.by_name[known] = WorkerInfo(known, other)
    agent.info = agent.workers[agent.rank]
    begin(agent, profiles, options)
    if prepare is not None:
        prepare(agent)
    agent.progress.pool.start()
    return agent


def _profiles(names: list[str], options: Any, transport: Transport, deadline: float) -> dict[str, Profile]:
    try:
        return gather_profiles(names, options, transport, deadline)
    except ValueError:
        transport.close(clean=True)
        raise


def new_agent(name: str, transport: Transport, options: Any, cls: type[Agent] = Agent) -> Agent:
    """An agent that has not started yet."""
    extensions.load_layers()
    agent = cls(name, transport, options.num_worker_threads, options.rpc_timeout)
    agent.options = options
    agent.closing_protocol = Closing(agent)
    for hook in extensions.start_hooks:
        hook(agent)
    return agent


def leave(agent: Agent, graceful: bool, timeout: float) -> None:
    """Shut an agent down; RuntimeError if the others did not get ready within `timeout` (0: no limit)."""
    deadline = time.monotonic() + timeout if timeout else None
    clean = False
    try:
        if graceful:
            if agent.static:
                agent.closing_protocol.run(deadline)
            else:
                for hook in extensions.last_call_hooks:
                    hook(agent)
                assert agent.membership is not None
                agent.membership.leave(deadline)
            clean = not agent.gone
    except TimeoutError as error:
        raise RuntimeError(f"graceful shutdown did not end within {timeout} s: {error}") from None
    finally:
        _stop(agent, clean)


def _stop(agent: Agent, clean: bool) -> None:
    if agent.membership is not None:
        agent.membership.close()
    elif not clean:
        for rank in {*agent.workers, *agent.gone}:
            if rank != agent.rank:
                agent.notify(rank, MessageType.LEAVE)
    agent.fail_everything(f"{agent.info} has shut down")
    agent.progress.pool.stop()
    agent.transport.close(clean)
    for hook in extensions.shutdown_hooks:
        hook(agent)
    if clean and agent.communicator is not None:
        agent.communicator.Free()


def _on_leave(agent: Agent, message: extensions.RawMessage) -> None:
    if agent.epochs.get(message.src, 0) == message.extra:
        info = agent.workers.get(message.src, f"WorkerInfo(id={message.src})")
        why = f"{info} has left this RPC world, so calls to it cannot be answered"
        agent.lose(message.src, agent.gone.get(message.src, why))


extensions.register_handler(MessageType.LEAVE, _on_leave)


def _leave_at_exit() -> None:
    """A process that ends without `shutdown` looks like one that left without grace."""
    agent = current.current.agent
    if agent is not None:
        current.set_agent(None)
        _stop(agent, clean=False)
    say_farewell()
