"""Messages between two ranks with gradients: blocking, in both directions at once, and non-blocking.

The gradient of a sent tensor comes back from the receiver: the adjoint of a send is a receive, and vice versa. Both ends are
recorded whenever gradients are enabled, for any tensor of a floating or complex type: whether the other end needs a gradient is
not known here. A rank that only sends has no result through which its pass would reach the send; it gets a *token*, a tensor
without elements, and joins it with its loss (`join`).

Non-blocking operations have two nodes, one for the start and one for `wait`. In the backward pass the one of `wait` starts the
message with the gradient, the other one waits for it.
"""

from __future__ import annotations

from typing import Any

from mpigrad._graph.grad_mode import MODE
from mpigrad._tensor import Tensor
from mpigrad.autograd.function import Function

from .._process_group import point_to_point as plain
from .._process_group.groups import ProcessGroup
from .._process_group.work import Work
from .members import empty_like, member_of, place_in


def _link(like: Tensor) -> Tensor:
    """Return an input without elements for a Function, so that it is recorded even if no other input requires a gradient.

    It requires grad itself if gradients are enabled and tensors of the type of `like` can have gradients.
    """
    made = like.new_empty((0,))
    recorded = MODE.enabled and (like.is_floating_point() or like.is_complex())
    return made.requires_grad_() if recorded else made


class _Started:
    """A started message: what its two nodes (of the start and of `wait`) need in the backward pass.

    `back` is the message that brings the gradient back: the node of `wait` starts it, and the node of the start waits for
    it.
    """

    def __init__(self, tensor: Tensor, peer: int, group: ProcessGroup, tag: int) -> None:
        self.peer, self.group, self.tag = peer, group, tag
        self.shape, self.like = tuple(tensor.shape), tensor.new_empty((0,))  # the type and device, without the memory
        self.work: Work | None = None
        self.received: Tensor | None = None  # until `wait`
        self.back: DifferentiableWork | None = None

    def wait(self) -> None:
        """Wait for the message."""
        assert self.work is not None
        self.work.wait()


class DifferentiableWork:
    """A started message with a gradient, from `isend` or `irecv`: `wait` returns the received tensor, or the token of a send."""

    def __init__(self, token: Tensor, started: _Started, sends: bool) -> None:
        self._token, self._started, self._sends = token, started, sends
        self._result: Tensor | None = None

    def is_completed(self) -> bool:
        """Return whether the message has been sent or received."""
        assert self._started.work is not None
        return self._started.work.is_completed()

    def wait(self) -> Tensor:
        """Wait for the message; returns the received tensor, or the token of a send."""
        if self._result is None:
            ended = _SendEnds if self._sends else _ReceiveEnds
            self._result = ended.apply(self._started, self._token)
        return self._result


class _SendStarts(Function):
    """The start of a send. Its backward waits for the gradient, whose receive the node of `wait` has started."""

    @staticmethod
    def forward(ctx: Any, started: _Started, tensor: Tensor, link: Tensor) -> Tensor:
        ctx.started = started
        started.work = plain.isend(tensor, group=started.group, tag=started.tag, group_dst=started.peer)
        return link.detach().clone()  # the token, which leads the backward pass to this node

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        assert ctx.started.back is not None
        return None, ctx.started.back.wait(), grad


class _SendEnds(Function):
    """The end of a send, in `wait`. Its backward starts to receive the gradient."""

    @staticmethod
    def forward(ctx: Any, started: _Started, token: Tensor) -> Tensor:
        ctx.started = started
        started.wait()
        return token.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        started = ctx.started
        buffer = empty_like(started.like, started.shape)
        started.back = _start_receive(buffer, started.peer, started.group, started.tag, grad)
        return None, started.back._token


class _ReceiveStarts(Function):
    """The start of a receive. Its backward waits until the gradient has been sent."""

    @staticmethod
    def forward(ctx: Any, started: _Started, buffer: Tensor, link: Tensor) -> Tensor:
        ctx.started = started
        started.received = empty_like(buffer)
        started.work = plain.irecv(started.received, group=started.group, tag=started.tag, group_src=started.peer)
        return link.detach().clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        assert ctx.started.back is not None
        token = ctx.started.back.wait()
        # The buffer has no gradient. The zeros are joined with the token of the send, for gradients of gradients.
        return None, Join.apply(empty_like(ctx.started.like, ctx.started.shape).zero_(), token), grad


class _ReceiveEnds(Function):
    """The end of a receive, in `wait`. Its backward starts to send the gradient."""

    @staticmethod
    def forward(ctx: Any, started: _Started, token: Tensor) -> Tensor:
        ctx.started = started
        started.wait()
        made, started.received = started.received, None
        assert made is not None
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        started = ctx.started
        started.back = _start_send(grad, started.peer, started.group, started.tag)
        return None, started.back._token


def _start_send(tensor: Tensor, peer: int, group: ProcessGroup, tag: int) -> DifferentiableWork:
    started = _Started(tensor, peer, group, tag)
    return DifferentiableWork(_SendStarts.apply(started, tensor, _link(tensor)), started, sends=True)


def _start_receive(
    buffer: Tensor, peer: int, group: ProcessGroup, tag: int, after: Tensor | None = None
) -> DifferentiableWork:
    started = _Started(buffer, peer, group, tag)
    link = _link(buffer) if after is None or not after._requires else after
    return DifferentiableWork(_ReceiveStarts.apply(started, buffer, link), started, sends=False)


class Exchange(Function):
    """Sends one tensor and receives another one; its backward sends and receives gradients in the opposite directions."""

    @staticmethod
    def forward(
        ctx: Any, group: ProcessGroup, shape: Any, to: int, source: int, tag: int, tensor: Tensor, link: Tensor
    ) -> Tensor:
        ctx.group, ctx.shape, ctx.to, ctx.source, ctx.tag = group, tuple(tensor.shape), to, source, tag
        made = empty_like(tensor, shape)
        if to == group.rank() == source:  # `isend` refuses messages to the own rank, as in PyTorch
            made[...] = tensor
            return made
        arriving = plain.irecv(made, group=group, tag=tag, group_src=source)
        leaving = plain.isend(tensor, group=group, tag=tag, group_dst=to)
        assert arriving is not None and leaving is not None
        arriving.wait()
        leaving.wait()
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        back = Exchange.apply(ctx.group, ctx.shape, ctx.source, ctx.to, ctx.tag, grad, _link(grad))
        return None, None, None, None, None, back, None


class Join(Function):
    """Returns the first tensor; a backward pass also reaches the tokens, whose gradients are zero."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, *tokens: Tensor) -> Tensor:
        ctx.tokens = [(tuple(each.shape), each.dtype) for each in tokens]
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return grad, *(grad.new_zeros(shape, dtype=kind) for shape, kind in ctx.tokens)


# -- public names ------------------------------------------------------------------------------------------------------
def isend(tensor: Tensor, dst: int, group: Any = None, tag: int = 0) -> DifferentiableWork:
    """Start to send a tensor to the global rank `dst`, with a gradient; returns a `DifferentiableWork`.

    Its `wait` returns a token, a tensor without elements, through which the loss must depend on the message (see `join`).
    The tensor must not be changed before `wait`. `tag` must be that of the receiver. `group` is the process group of both
    ranks, by default the default group.
    """
    found = member_of(group)
    return _start_send(tensor, place_in(found, dst), found, tag)


def irecv(tensor: Tensor, src: int, group: Any = None, tag: int = 0) -> DifferentiableWork:
    """Start to receive a tensor from the global rank `src`, with a gradient; returns a `DifferentiableWork`.

    Its `wait` returns a new tensor, with the shape and dtype of `tensor`, which is not changed. In the backward pass the
    gradient of the new tensor is sent to `src`. `tag` must be that of the sender. `group` is the process group of both
    ranks, by default the default group.
    """
    found = member_of(group)
    return _start_receive(tensor, place_in(found, src), found, tag)


def wait(work: DifferentiableWork) -> Tensor:
    """Return `work.wait()`: wait for a message of `isend` or `irecv`, and return the token of the send or the received tensor."""
    return work.wait()


def send(tensor: Tensor, dst: int, group: Any = None, tag: int = 0) -> Tensor:
    """Send a tensor to the global rank `dst`, with a gradient; `tag` must be that of the receiver.

    Returns a token, a tensor without elements: `join` it with the loss, so that the backward pass receives the gradient
    of `tensor` from the other rank.

        if rank == 0:
            token = F.send(hidden, dst=1)
            F.join(mpigrad.zeros(()), token).backward()    # this rank has no loss of its own
        else:
            hidden = F.recv(mpigrad.empty(8, 16), src=0)
            model(hidden).sum().backward()                 # sends the gradient of hidden back

    `group` is the process group of both ranks, by default the default group.
    """
    return isend(tensor, dst, group, tag).wait()


def recv(tensor: Tensor, src: int, group: Any = None, tag: int = 0) -> Tensor:
    """Receive a tensor from the global rank `src`, with a gradient; `tag` must be that of the sender.

    Returns a new tensor with the shape and dtype of `tensor`, which is not changed. In the backward pass the gradient of
    the new tensor is sent to `src`. `group` is the process group of both ranks, by default the default group.
    """
    return irecv(tensor, src, group, tag).wait()


def sendrecv(tensor: Tensor, buffer: Tensor, dst: int, src: int, group: Any = None, tag: int = 0) -> Tensor:
    """Send `tensor` to the global rank `dst` and receive a tensor from the global rank `src`, at the same time.

    Returns a new tensor with the shape and dtype of `buffer`, which is not changed. In the backward pass gradients travel
    in the opposite directions. All ranks that exchange messages give the same `tag`. `group` is the process group of both
    ranks, by default the default group.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> right, left = 0, 0    # the neighbours of the only rank of a ring
    >>> F.sendrecv(x, x, dst=right, src=left).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    found = member_of(group)
    to, source = place_in(found, dst), place_in(found, src)
    return Exchange.apply(found, tuple(buffer.shape), to, source, tag, tensor, _link(tensor))


def join(tensor: Tensor, *tokens: Tensor) -> Tensor:
    """Return a copy of `tensor`, usually the loss, that also depends on `tokens`.

    Tokens are the empty tensors that the differentiable `send` returns, or `wait` of the work that `isend` returned. A backward
    pass from the result also waits for the gradients of the tensors that were sent. Without `join`, a rank that sends a tensor
    and does not use it for its own loss would never receive the gradient of that tensor: `send` has an example on two ranks.

    >>> import mpigrad, mpigrad.distributed.nn.functional as F
    >>> loss, token = mpigrad.tensor(2.0), mpigrad.empty(0)
    >>> F.join(loss, token)
    tensor(2.)
    """
    return Join.apply(tensor, *tokens)
