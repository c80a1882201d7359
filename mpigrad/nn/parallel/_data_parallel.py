"""What `DistributedDataParallel` does, for modules of mpigrad (`distributed.py`) and of torch (`interop/_torch_parallel.py`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mpigrad._tensor import Tensor
from mpigrad.distributed._process_group.groups import new_group, resolve, world
from mpigrad.distributed._process_group.states import check_same, copy_from
from mpigrad.distributed.algorithms.join import Join, Joinable, JoinHook

from ._join import DataParallelHook
from ._reducer import Reducer

_FIRST_MB, _MB = 1, 25  # sizes of buckets, as in PyTorch


class DataParallel(Joinable):
    """The base class of the two `DistributedDataParallel`s, for modules of mpigrad and of torch; see there."""

    module: Any

    # -- the framework -------------------------------------------------------------------------------------------------
    @abstractmethod
    def _own(self, tensor: Any) -> Tensor:
        """A tensor of mpigrad with the memory of a parameter or buffer."""

    @abstractmethod
    def _recording(self) -> bool:
        """Whether gradients are enabled in this thread."""

    @abstractmethod
    def _reducer(self, named: Sequence[tuple[str, Any]], *options: Any) -> Reducer:
        """The reducer of these parameters."""

    def __init__(
        self,
        module: Any,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()  # type: ignore[safe-super]
        for name, given in (("delay_all_reduce_named_params", delay_all_reduce_named_params),
                            ("param_to_hook_all_reduce", param_to_hook_all_reduce), ("mixed_precision", mixed_precision),
                            ("device_mesh", device_mesh)):  # fmt: skip
            if given is not None:
                raise RuntimeError(f"DistributedDataParallel: {name} is not supported; leave it out")
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = _trained(module, ignored)
        _check(named, device_ids)
        found = resolve(process_group)
        if found is None:
            raise ValueError("DistributedDataParallel: this rank is not a member of process_group")
        self._given_group = found
        self.module, self.dim, self.device_ids, self.output_device = module, dim, device_ids, output_device
        self.device = named[0][1].device
        self.process_group = new_group(found.ranks, found.timeout, sort_ranks=False, group_desc="ddp")
        self.forward_sync_buffers = forward_sync_buffers if forward_sync_buffers is not None else broadcast_buffers is not False
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._ignored = ignored
        sizes: Sequence[float] = bucket_cap_mb_list or ([_FIRST_MB, _MB] if bucket_cap_mb is None else [bucket_cap_mb])
        check_same([(name, self._own(each)) for name, each in named], self.process_group)
        if init_sync:
            self._copy_state(0, buffers=broadcast_buffers is not False or forward_sync_buffers is not None)
        self._caps = [int(size * (1 << 20)) for size in sizes]
        self.reducer = self._make_reducer(named)

    def _make_reducer(self, named: Sequence[tuple[str, Any]]) -> Reducer:
        return self._reducer(
            named, self.process_group, self._caps, self.gradient_as_bucket_view, self.find_unused_parameters, self.static_graph
        )

    # -- copies of the object ------------------------------------------------------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        if self._given_group is not world():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, when you "
                "have called init_process_group and have not passed process_group argument to DDP constructor"
            )
        made_anew = ("process_group", "_given_group", "reducer", "_hook")
        return {name: value for name, value in self.__dict__.items() if name not in made_anew}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        # The default group itself, as in PyTorch: a group of its own would need all ranks, but one rank may copy alone.
        self.process_group = self._given_group = world()
        self.reducer = self._make_reducer(_trained(self.module, self._ignored))

    # -- copies of rank 0's state --------------------------------------------------------------------------------------
    def _buffers_to_copy(self) -> list[Tensor]:
        return [self._own(each) for name, each in self.module.named_buffers() if name not in self._ignored]

    def _copy_buffers(self, rank: int) -> None:
        copy_from(rank, self._buffers_to_copy(), self.process_group)

    def _copy_state(self, rank: int, buffers: bool = True) -> None:
        state = [self._own(each) for name, each in self.module.named_parameters() if name not in self._ignored]
        copy_from(rank, state + (self._buffers_to_copy() if buffers else []), self.process_group)

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward pass copies the module's buffers from the first rank to the others."""
        return self.require_forward_param_sync and self.forward_sync_buffers and bool(self._buffers_to_copy())

    # -- forward -------------------------------------------------------------------------------------------------------
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the wrapped module. A backward pass from its output averages the gradients of parameters over the ranks."""
        recording = self._recording()
        reduces, buffers = recording and self.require_backward_grad_sync, self.will_sync_module_buffers()
        source = 0
        if self._join_config.enable:
            Join.notify_join_context(self)
            source = self._hook.before_forward(reduces, buffers)
        if reduces:
            self.reducer.rebuild()
        if buffers:
            self._copy_buffers(source)
        made = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = reduces
        if reduces:
            self.reducer.prepare(made)
        elif recording:
            self.reducer.ignore_next()
        return made

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context manager for gradient accumulation: gradients of outputs that were computed inside it are not averaged.

        They are added to `.grad` of this rank; the next forward and backward pass outside averages the sums over the ranks.
        It is the forward pass that counts, not where `backward` is called.

        >>> import mpigrad, mpigrad.distributed as dist
        >>> from mpigrad import nn
        >>> dist.init_process_group("mpi")
        >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
        >>> with model.no_sync():
        ...     model(mpigrad.ones(1, 2)).sum().backward()
        >>> model(mpigrad.ones(1, 2)).sum().backward()
        >>> model.module.weight.grad
        tensor([[2., 2.]])
        >>> dist.destroy_process_group()
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Any:
        """A context manager for training loops with different numbers of iterations on the ranks of the group.

        Ranks that have left their loop take part in the collectives of the others until all have left it.

        At the end all ranks have the parameters and buffers of a rank that had most iterations. Gradients are divided by
        the number of ranks, or, if `divide_by_initial_world_size` is False, by the number of those that still have input.
        `enable` and `throw_on_early_termination` are those of `Join`.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The `JoinHook` of this module: what this rank does in a `Join` when it has no more input; see `join` for
        the argument.
        """
        self._hook = DataParallelHook(self, kwargs.get("divide_by_initial_world_size", True))
        return self._hook

    @property
    def join_device(self) -> Any:
        """The device of the module's parameters, on which `Join` puts the tensors of its collectives."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The process group over which gradients are averaged."""
        return self._given_group

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Replace the averaging of gradients by `hook(state, bucket)`, which is called for each bucket of gradients in a
        backward pass.

        `bucket` is a `GradBucket`: `bucket.buffer()` has the gradients of several parameters, one after the other. The hook
        returns a `Future` of a tensor like it, with the averages. `state` is passed to the hook as it is.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.use_hook(hook, state)

    def _set_static_graph(self) -> None:
        self.static_graph = self.reducer._static = True

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Any, params_and_buffers_to_ignore: list[str]) -> None:
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore


def _trained(module: Any, ignored: set[str]) -> list[tuple[str, Any]]:
    """The names and parameters whose gradients are averaged."""
    return [(name, each) for name, each in module.named_parameters() if each.requires_grad and name not in ignored]


def _check(named: Sequence[tuple[str, Any]], device_ids: Any) -> None:
    """Raise PyTorch's errors for modules that cannot be wrapped."""
    if not named:
        raise RuntimeError(
            "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
        )
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    kinds = {each.device.type for _, each in named}
    if len(kinds) > 1:
        raise ValueError(
            "DistributedDataParallel's input module must be on the same type of devices, but input module parameters locate in "
            f"{kinds}."
        )
