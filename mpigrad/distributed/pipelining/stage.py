"""`PipelineStage`: the part of a model that a rank has, with the messages to the stages before and after it.

Every message has a tag of its own (kind, stage, micro-batch) and sends do not wait, so that ranks may run their actions in any
order without a deadlock. A message is a header, with the types and shapes of its tensors, and the tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import device as Device
from mpigrad._array.dtype import ALL, bfloat16
from mpigrad._array.dtype import dtype as DType
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import no_grad
from mpigrad._ops.create.create import empty
from mpigrad._tensor import Tensor
from mpigrad.autograd._backward import backward
from mpigrad.nn.modules.module import Module

from .._process_group.groups import ProcessGroup, resolve
from .._process_group.point_to_point import irecv, isend

_HEADER = 64  # numbers in the header of a message: its length is fixed, so that the receiver knows it
_TAGS = 1000  # the first tag; programs usually use small ones for their own messages in the same group
_FORWARD, _BACKWARD = 0, 1
_DTYPES: tuple[DType, ...] = (*ALL, bfloat16)  # a header has the index of a type


class PipelineStage:
    """One stage of a pipeline, on this rank; pass it to a schedule, such as `ScheduleGPipe`, whose `step` runs it.

    Each message between stages carries the shapes and types of its tensors. So `input_args`, `output_args`, `output_grads` and
    `input_grads`, from which PyTorch learns these, are ignored; so are `dw_builder` and `get_mesh`.

    Args:
        submodule: the part of the model.
        stage_index, num_stages: its place in the pipeline, from 0 on, and the number of all stages.
        device: the device on which received tensors are put.
        group: the process group of the pipeline, by default all ranks. Rank r of a group of n has the stages r, r + n, ...
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: Any = "cpu",
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Any = None,
        get_mesh: Any = None,
    ) -> None:
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        found = resolve(group)
        if found is None:
            raise ValueError("this rank is not a member of the pipeline's group")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device = Device(device)
        self.group: ProcessGroup = found
        self.group_rank, self.group_size = found.rank(), found.size()
        if self.group_size > num_stages:
            raise ValueError(f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}")
        self.has_backward = False
        self.clear_runtime_states()

    @property
    def is_first(self) -> bool:
        """Whether this is the first stage of the pipeline."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether this is the last stage of the pipeline."""
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self) -> None:
        """Drop the activations and messages of all micro-batches. A schedule calls it before each batch."""
        self._inputs: dict[int, list[Tensor]] = {}
        self._outputs: dict[int, list[Tensor]] = {}
        self.output_chunks: list[Any] = []
        self._arrived: dict[tuple[int, int], list[Tensor | None]] = {}  # from stages of this rank
        self._sent: list[Any] = []
        self._local: dict[int, PipelineStage] = {}

    # -- messages ----------------------------------------------------------------------------------------------------
    def _peer(self, stage: int) -> int:
        return stage % self.group_size

    def _tag(self, kind: int, stage: int, chunk: int) -> int:
        """Return the tag of a message that `stage` receives.

        MPI's tags are limited, so they repeat after 64 micro-batches and 256 stages. Both ends use them in the same
        order, and MPI keeps the order of messages with the same tag.
        """
        return _TAGS + ((chunk % 64) * 256 + stage % 256) * 2 + kind

    def _send(self, kind: int, stage: int, chunk: int, tensors: list[Tensor | None]) -> None:
        local = self._local.get(stage)  # a stage of the same rank needs no message
        if local is not None:
            local._arrived[kind, chunk] = [None if each is None else each.detach() for each in tensors]
            return
        peer, tag = self._peer(stage), self._tag(kind, stage, chunk)
        self._sent.append(isend(_header(tensors), group=self.group, tag=tag, group_dst=peer))
        for each in tensors:
            if each is not None:
                self._sent.append(isend(each.detach(), group=self.group, tag=tag, group_dst=peer))

    def _receive(self, kind: int, chunk: int) -> list[Tensor | None]:
        if (kind, chunk) in self._arrived:
            return self._arrived.pop((kind, chunk))
        peer = self._peer(self.stage_index + (1 if kind == _BACKWARD else -1))
        tag = self._tag(kind, self.stage_index, chunk)
        header = wrap(np.zeros(_HEADER, np.int64))
        _wait(irecv(header, group=self.group, tag=tag, group_src=peer))
        made = [None if meta is None else empty(meta[1], dtype=meta[0], device=self.device) for meta in _metas(header)]
        for work in [irecv(each, group=self.group, tag=tag, group_src=peer) for each in made if each is not None]:
            _wait(work)
        return made  # type: ignore[return-value]

    def finish_sends(self) -> None:
        """Wait until all messages of this stage have been sent. A schedule calls it at the end of each batch."""
        for work in self._sent:
            _wait(work)
        self._sent.clear()

    # -- micro-batches -----------------------------------------------------------------------------------------------
    def forward_one_chunk(self, chunk: int, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """Run the module on micro-batch number `chunk` (from 0), start sending its output to the next stage, and return it.

        A schedule calls it. `args` are the inputs of the first stage; other stages receive theirs from the stage before,
        and wait for them. `kwargs` are for the module of this stage.
        """
        given: list[Any] = list(args) if self.is_first else list(self._receive(_FORWARD, chunk))
        if not self.is_first and self.has_backward:
            # Leaves here: their gradients are sent back to the stage before. Integers have none.
            given = [each.requires_grad_() if each.is_floating_point() or each.is_complex() else each for each in given]
        output = self.submod(*given, **(kwargs or {}))
        outputs = list(output) if isinstance(output, (tuple, list)) else [output]
        if not all(isinstance(each, Tensor) for each in outputs):
            raise TypeError(f"stage {self.stage_index} must return tensors, got {[type(each).__name__ for each in outputs]}")
        if self.has_backward:
            self._inputs[chunk], self._outputs[chunk] = given, outputs
        if self.is_last:
            self.output_chunks.append(output)
        else:
            self._send(_FORWARD, self.stage_index + 1, chunk, list(outputs))
        return output

    def backward_one_chunk(self, chunk: int, loss: Tensor | None = None) -> None:
        """Run the backward pass of a micro-batch, and send the gradients of its inputs to the stage before.

        A schedule calls it. `loss` is for the last stage only; other stages receive the gradients of their outputs from the
        stage after, and wait for them.
        """
        given, outputs = self._inputs.pop(chunk), self._outputs.pop(chunk)
        if self.is_last:
            backward(loss)  # type: ignore[arg-type]
        else:
            grads = self._receive(_BACKWARD, chunk)
            pairs = [(out, grad) for out, grad in zip(outputs, grads) if out.requires_grad and grad is not None]
            if pairs:
                backward([out for out, _ in pairs], [grad for _, grad in pairs])
        if not self.is_first:
            self._send(_BACKWARD, self.stage_index - 1, chunk, [each.grad for each in given])

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide the gradients of the module by `grad_scale_factor`; a schedule calls it with the number of micro-batches."""
        if grad_scale_factor != 1:
            with no_grad():
                for parameter in self.submod.parameters():
                    if parameter.grad is not None:
                        parameter.grad.div_(grad_scale_factor)


def _header(tensors: list[Tensor | None]) -> Tensor:
    """Encode types and shapes of tensors as numbers; ValueError if they are too many.

    How many there are, then for each the index of its type, the number of its dimensions (-1 for None), and their
    lengths.
    """
    numbers = [len(tensors)]
    for each in tensors:
        numbers += [0, -1] if each is None else [_DTYPES.index(each.dtype), each.ndim, *each.shape]
    if len(numbers) > _HEADER:
        shapes = [None if each is None else tuple(each.shape) for each in tensors]
        raise ValueError(f"a stage passes on too many tensors: their shapes do not fit into {_HEADER} numbers: {shapes}")
    return wrap(np.array(numbers + [0] * (_HEADER - len(numbers)), np.int64))


def _metas(header: Tensor) -> list[tuple[DType, tuple[int, ...]] | None]:
    """Decode a header: type and shape of each tensor, or None."""
    numbers = iter(header.tolist())
    found: list[tuple[DType, tuple[int, ...]] | None] = []
    for _ in range(next(numbers)):
        kind, ndim = next(numbers), next(numbers)
        shape = tuple(next(numbers) for _ in range(ndim))
        found.append(None if ndim < 0 else (_DTYPES[kind], shape))
    return found


def _wait(work: Any) -> None:
    if work is not None:
        work.wait()


__all__ = ["PipelineStage"]
