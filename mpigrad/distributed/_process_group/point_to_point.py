"""Point-to-point messages between ranks of a group: send, receive, and batches of them.

`src` and `dst` are global ranks, `group_src` and `group_dst` the ranks in the group; a call gives one of the two. A receive with
neither takes a message from any rank. A receive takes only messages whose `tag` is its own; those of one sender with one tag are
received in the order in which they were sent.
"""

from __future__ import annotations

from typing import Any

from mpigrad._tensor import Tensor

from .. import _mpi
from .buffers import arrived, as_bytes, check_tensor, incoming, outgoing
from .collectives import _start
from .groups import get_rank, place_of, resolve
from .work import Work


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Start to send a tensor to the global rank `dst`, or the rank `group_dst` of the group; returns a `Work` at once.

    The tensor must not be changed before the `Work` is complete. `tag` is a number that the receiver must give, too;
    messages with another tag are left for other receives. ValueError for a message to this rank itself; None on a rank that
    is not in the group.
    """
    if (found := resolve(group)) is None:
        return None
    rank = place_of(found, dst, group_dst, "dst")
    if rank == found.rank():
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    buffer = outgoing(tensor)
    return _start("send", found, lambda: found.comm.Isend(as_bytes(buffer), rank, tag), None, buffer, True)


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Start to receive a tensor from the global rank `src`, or the rank `group_src` of the group; returns a `Work` at once.

    With neither rank given, from any rank. `tensor` is overwritten; a RuntimeError is raised by `wait` if the message has
    another size. Only a message with the same `tag` is received. None on a rank that is not in the group.
    """
    if (found := resolve(group)) is None:
        return None
    anyone = src is None and group_src is None
    rank = _mpi.mpi().ANY_SOURCE if anyone else place_of(found, src, group_src, "src")
    buffer = incoming(tensor)
    work = _start(  # `filled` is looked up when the message is complete: it needs `work`, which is made here
        "recv", found, lambda: found.comm.Irecv(as_bytes(buffer), rank, tag), lambda: filled(), buffer, True, [tensor]
    )

    def filled() -> None:  # MPI reports messages that are too long, but not those that are too short
        assert work is not None
        if work._bytes != buffer.nbytes:
            raise RuntimeError(
                f"recv: the tensor of {list(tensor.shape)} {tensor.dtype} takes {buffer.nbytes} bytes, the message from rank "
                f"{found.ranks[work.source_rank()]} has {work._bytes}"
            )
        arrived(tensor, buffer)

    return work


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to the global rank `dst`, or the rank `group_dst` of the group; `tag` as for `isend`.

    It returns when the tensor may be changed again. A large tensor is sent only when the receiver is ready, so two ranks
    that both call `send` first and `recv` second wait for each other, until the timeout of the group raises a RuntimeError:
    use `isend` or `batch_isend_irecv` there.

            if dist.get_rank() == 0:
            dist.send(x, dst=1)
        elif dist.get_rank() == 1:
            dist.recv(x, src=0)    # overwrites x
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is None:
        raise ValueError("Invalid process group specified")
    work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from the global rank `src`, or the rank `group_src` of the group; returns the global rank of the sender.

    It waits, up to the timeout of the group (then RuntimeError). With neither rank given, from any rank. `tensor` is
    overwritten; RuntimeError if the message has another size. Only a message with the same `tag` is received. -1 on a rank
    that is not in the group.
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    found = resolve(group)
    assert found is not None
    return found.ranks[work.source_rank()]


class P2POp:
    """One message of `batch_isend_irecv`: `P2POp(dist.isend, tensor, peer)` or `P2POp(dist.irecv, tensor, peer)`.

    `peer` is the global rank of the other end, `group_peer` its rank in the group; one of the two is given. `tag` is a
    number that must be the same at both ends. ValueError if `op` is neither `isend` nor `irecv`.
    """

    def __init__(
        self,
        op: Any,
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``mpigrad.distributed.isend`` or ``mpigrad.distributed.irecv``."
            )
        check_tensor(tensor)
        found = resolve(group)
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = group if found is None else found
        self.group_peer = group_peer if found is None else place_of(found, peer, group_peer, "peer")
        self.peer = peer if found is None or self.group_peer is None else found.ranks[self.group_peer]

    def __repr__(self) -> str:
        ends = (get_rank(self.group), self.group_peer)
        source, target = ends if self.op is isend else ends[::-1]
        name = getattr(self.group, "group_name", "default_pg")
        return (
            f"P2POp({self.op.__name__} pg={name}, group_src={source}, group_dst={target},  {self.tensor.shape}, "
            f"{self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start several sends and receives, given as a list of `P2POp`; returns a list with the `Work` of each.

    All belong to one group. ValueError or IndexError for anything else than a list with at least one `P2POp`.

        ops = [dist.P2POp(dist.isend, mine, right), dist.P2POp(dist.irecv, theirs, left)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``mpigrad.distributed.P2POp``.")
    if not p2p_op_list:
        raise IndexError("Invalid ``p2p_op_list``: it is empty")
    if len({id(each.group) for each in p2p_op_list}) > 1:
        raise ValueError("All ops need to use the same group.")
    made = [each.op(each.tensor, None, each.group, each.tag, each.group_peer) for each in p2p_op_list]
    return [work for work in made if work is not None]
