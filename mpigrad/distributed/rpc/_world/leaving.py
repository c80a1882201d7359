"""How an agent leaves its world: gracefully, together with all others; or alone and at once."""

from __future__ import annotations

import time

from mpigrad._core.rpc.agent import Agent
from mpigrad._process.mpi_end import leave_mpi_unfinalised

from .._protocol import extensions
from .._protocol.message import MessageType


def leave(agent: Agent, graceful: bool, timeout: float) -> None:
    """Shut an agent down. `graceful`: together with all others, when no call is pending; otherwise at once.

    RuntimeError if the other workers are not ready within `timeout` seconds (0: no limit). After an interrupt (Ctrl-C)
    during the wait the agent of a static world still works, and `leave` can be called again; a member of a dynamic world
    has already told the others that it leaves, so it stops.
    """
    deadline = time.monotonic() + timeout if timeout else None
    clean, agreed, ends = False, False, True
    try:
        if graceful:
            if agent.static:
                agent.closing_protocol.run(deadline)
            else:
                for hook in extensions.before_shutdown_hooks:
                    hook(agent)
                assert agent.membership is not None
                agent.membership.leave(deadline)
            agreed = True
            closing = agent.closing_protocol
            clean = agent.gone.keys() <= closing.left and not closing.losses and not agent.transport.reports_losses
    except TimeoutError as error:
        leave_mpi_unfinalised()  # MPI_Finalize would wait for the same workers, without a timeout
        raise RuntimeError(f"graceful shutdown did not end within {timeout} s: {error}") from None
    except BaseException as error:
        ends = isinstance(error, Exception) or not agent.static
        raise
    finally:
        if ends:
            stop(agent, clean, agreed)


def stop(agent: Agent, clean: bool, agreed: bool = False) -> None:
    """Stop the threads and the transport of an agent.

    `agreed`: all workers have agreed to leave; `clean`: and no message can be in flight, since none of them was lost.
    """
    if agent.membership is not None:
        agent.membership.close()
    elif not agreed:  # so that the calls of others to this worker fail now, and not at their timeouts
        for rank in {*agent.workers, *agent.gone}:
            if rank != agent.rank:
                agent.notify(rank, MessageType.LEAVE)
    agent.fail_everything(f"{agent.info} has shut down")
    agent.progress.pool.stop()
    agent.transport.close(clean)
    for hook in extensions.shutdown_hooks:
        hook(agent)
    if clean and agent.communicator is not None:  # freeing is collective: only if all workers do it
        agent.communicator.Free()


def _on_leave(agent: Agent, message: extensions.RawMessage) -> None:
    if agent.epochs.get(message.src, 0) == message.extra:
        info = agent.workers.get(message.src, f"WorkerInfo(id={message.src})")
        why = f"{info} has left this RPC world, so calls to it cannot be answered"
        agent.lose(message.src, agent.gone.get(message.src, why))
    if agent.membership is not None:
        agent.membership.note_left(message.src, message.extra)


extensions.register_handler(MessageType.LEAVE, _on_leave)
