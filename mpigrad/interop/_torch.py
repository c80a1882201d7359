"""PyTorch's tensors. Loaded when an object of torch is first sent or received; everything here may import torch.

A received tensor is no leaf, as in PyTorch: its node is called RecvRpcBackward, and users may change it in place. The node
belongs to torch's graph and refers to mpigrad's recv function, where gradients leave for another worker. The methods of
`TorchAdapter` are described in `TensorAdapter`.
"""

from __future__ import annotations

import importlib
import io
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.autograd.graph import GradientEdge

from .._array.device import cupy
from .._array.sparse.array import SparseArray
from .._core.engine import GraphTask
from .._core.node import AccumulateGrad, Converted
from .._core.tensor import wrap
from .._graph.grad_mode import MODE
from .._graph.namespace import DIFF, RAW
from .._ops._define.foreign import torch_array
from .._tensor import Tensor, counter
from ._adapters import ForeignEdge, Graph, Received, TensorAdapter, register_adapter

# Element types that NumPy does not have, sent as integers of the same size.
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_UNKNOWN = "bfloat16 complex32 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
_AS_BITS: dict[torch.dtype, torch.dtype] = {
    found: _BITS[found.itemsize] for name in _UNKNOWN.split() if (found := getattr(torch, name, None)) is not None
}
_DTYPES = {str(dtype).removeprefix("torch.").encode(): dtype for dtype in _AS_BITS}
_NAMES: dict[torch.dtype, bytes | None] = {dtype: name for name, dtype in _DTYPES.items()}
_NAMES.update(dict.fromkeys((torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4)))
_PARAMETER = b"!"  # first byte of the description of a Parameter
_RECOPY_MIN, _RECOPY_MULTIPLE = 8 * 1024, 2  # as for mpigrad's tensors: a view of much larger memory is copied first


class TorchAdapter(TensorAdapter):
    """The adapter of `torch.Tensor` and its subclasses."""

    name = "torch"

    # -- payloads ------------------------------------------------------------------------------------------------------
    def array_of(self, tensor: Any) -> Any:
        if tensor.is_cpu and tensor.dtype not in _AS_BITS:
            try:
                array = tensor.numpy(force=True)  # like `detach().numpy()`; conjugates and negatives are copied
            except (TypeError, RuntimeError):  # not plain memory of the CPU
                return self._other_array(tensor)
            if array.flags.c_contiguous or not _wastes(tensor):
                return array
        return self._other_array(tensor)

    def _other_array(self, tensor: Any) -> Any:
        """`array_of` for tensors that are not plain memory in a dtype of NumPy, or that are copied first."""
        if tensor.layout is not torch.strided:
            return _sparse_array(self, tensor)
        plain = tensor.detach()
        if plain.is_conj() or plain.is_neg():
            plain = plain.resolve_conj().resolve_neg()
        bits = _AS_BITS.get(plain.dtype)
        if bits is not None:
            plain = plain.view(bits)
        if not plain.is_cpu:
            return _gpu_array(plain)
        if not plain.is_contiguous() and _wastes(plain):
            plain = plain.clone()
        try:
            return plain.numpy()
        except (TypeError, RuntimeError) as error:
            raise TypeError(
                f"a torch tensor of dtype {tensor.dtype} and type {type(tensor).__name__} cannot be sent by RPC: {error}"
            ) from None

    def describe(self, tensor: Any) -> bytes | None:
        name = _NAMES.get(tensor.dtype, b"")
        kind, layout = type(tensor), tensor.layout
        if name is None or layout is not torch.strided and layout is not torch.sparse_coo:
            return None
        if kind is torch.Tensor:
            return name
        return _PARAMETER + name if kind is torch.nn.Parameter and not tensor.__dict__ else None

    def make(self, array: Any, description: bytes, requires_grad: bool) -> Any:
        if type(array) is np.ndarray:
            made = torch.from_numpy(array)
        elif type(array) is SparseArray:
            made = _sparse_tensor(self, array, description)
            description = description[:1] if description[:1] == _PARAMETER else b""
        else:
            made = torch.from_dlpack(array)
        if description:
            if description[:1] == _PARAMETER:
                made.__class__ = torch.nn.Parameter
                description = description[1:]
            if description:
                dtype = _DTYPES.get(description)
                if dtype is None:
                    raise ValueError(f"malformed message: a torch tensor of the element type {description!r}")
                made = _viewed(made, dtype)
        return made.requires_grad_() if requires_grad else made

    def reduce(self, obj: Any) -> Any:
        if obj.is_quantized:
            raise TypeError(
                f"a quantized torch tensor ({obj.dtype}) cannot be sent by RPC: send x.int_repr() with its scale and zero point, "
                "or x.dequantize()"
            )
        if obj.layout in _COMPRESSED:
            return _reduce_compressed(obj)
        if type(obj) is torch.Tensor:
            return NotImplemented
        return _as_subclass, (type(obj), obj.as_subclass(torch.Tensor), obj.__dict__ or None)

    # -- graphs --------------------------------------------------------------------------------------------------------
    def size(self, tensor: Any) -> int:
        return tensor.numel()  # type: ignore[no-any-return]

    def requires_grad(self, tensor: Any) -> bool:
        return tensor.requires_grad  # type: ignore[no-any-return]

    def recording(self) -> bool:
        return torch.is_grad_enabled()

    def carried(self, callback: Callable[[Any], Any]) -> Callable[[Any], Any]:
        modes = _modes()
        return callback if modes == _USUAL else partial(_run_in, modes, callback)

    def edge_of(self, tensor: Any) -> ForeignEdge | None:
        node = tensor.grad_fn
        return None if node is None else (node, tensor.output_nr)

    def attach(self, tensors: Sequence[Any], node: Any, places: Sequence[int]) -> Any:
        if torch.is_grad_enabled():
            _apply(_ORIGIN, Received(node, places), tuple(tensors))
            return tensors[0].grad_fn
        for tensor in tensors:  # `make` has set it
            tensor.requires_grad_(False)
        return None

    def gradient(self, array: Any, description: bytes) -> Any:
        return self.make(array, description.removeprefix(_PARAMETER), False)

    def root_gradient(self, root: Any) -> Any:
        return torch.ones_like(root, requires_grad=False)

    def has_hooks(self, tensor: Any) -> bool:
        return bool(tensor._backward_hooks)

    def graph_of(self, nodes: Sequence[Any]) -> Graph:
        below: dict[Any, Any] = {}
        ends: dict[Any, Any] = {}
        stack = list(nodes)
        pop, push = stack.pop, stack.append
        while stack:
            node = pop()
            if node in below or node in ends:
                continue
            if type(node) is _RECV_NODE:
                ends[node] = node.received
                continue
            edges = node.next_functions
            if not edges:
                leaf = getattr(node, "variable", None)
                if leaf is not None:
                    ends[node] = leaf
                    continue
            below[node] = edges = [edge if edge[0] is not None else None for edge in edges]
            for edge in edges:
                if edge is not None:
                    push(edge[0])
        return Graph(below, ends)

    def run(
        self,
        outputs: Sequence[ForeignEdge],
        grads: Sequence[Any],
        inputs: Sequence[ForeignEdge],
        keep: bool,
        create: bool,
        quiet: Sequence[Any] = (),
    ) -> Sequence[Any]:
        if not inputs:
            return ()
        starts, given = [], []
        for edge, grad in zip(outputs, grads):
            if grad is not None:
                starts.append(_new_edge((*edge, *_NO_TOKEN)))
                given.append(grad)
        if not given:
            return [None] * len(inputs)
        if quiet:
            before, _QUIET.tensors = _QUIET.tensors, _put_off(quiet)
        try:
            ends = tuple([_new_edge((*edge, *_NO_TOKEN)) for edge in inputs])
            found = list(_run_backward(tuple(starts), tuple(given), keep or create, create, ends, True, accumulate_grad=False))
        finally:
            if quiet:
                _QUIET.tensors = before
        if not create:
            del grad, given  # these references would look like other users of the memory
            _separate(found, inputs)
        if Converted.used:
            for place, (node, _) in enumerate(inputs):
                if found[place] is not None and type(node) is _RECV_NODE and type(node.received) is Ours:
                    found[place] = node.received.gradient(found[place], create)
        return found

    # Set by `_torch_graphs.py`, which makes the first converted tensor: it is above this module, which must not import it.
    from_ours: Any
    run_backward: Any

    def leaf_gradient(self, grad: Any, leaf: Any, create: bool) -> Any:
        if type(grad) is np.ndarray:
            if grad.nbytes <= _SMALL:  # a view of a received frame, which would stay in memory as long as the gradient
                grad = grad.copy()
            grad = self.gradient(grad, _NAMES.get(leaf.dtype) or b"")
        elif type(grad) is SparseArray:
            grad = self.gradient(grad, _NAMES.get(leaf.dtype) or b"")
        hooks = leaf._backward_hooks
        if hooks:
            with torch.set_grad_enabled(create):
                for hook in list(hooks.values()):
                    changed = hook(grad)
                    grad = grad if changed is None else changed
        return grad

    def accumulate(self, held: Any, grad: Any, leaf: Any, create: bool) -> Any:
        if create:
            return grad if held is None else held + grad
        if held is not None:
            if held.layout is grad.layout:
                return held.add_(grad)
            return held + grad if grad.is_sparse else grad + held
        if grad.layout is torch.strided and leaf.layout is torch.strided and grad.stride() != leaf.stride():
            return torch.empty_like(leaf, dtype=grad.dtype, requires_grad=False).copy_(grad)
        return grad


# What `torch.autograd.grad` calls after its checks, which cost as much as a small graph: shapes are checked here, too.
_NO_TOKEN = (None,) * (len(GradientEdge._fields) - 2)
_new_edge: Any = partial(tuple.__new__, GradientEdge)  # at a third of the price of `GradientEdge(...)`
_run_backward: Any = torch.autograd.Variable._execution_engine.run_backward  # type: ignore[attr-defined]


# -- received tensors --------------------------------------------------------------------------------------------------
class Ours(Received):
    """An end of torch's graph below which mpigrad's goes on in the same process: a leaf or a recv function of mpigrad's
    tensors (`_torch_graphs.py`)."""

    __slots__ = ()

    def gradient(self, grad: Any, create: bool) -> Any:
        """A gradient that torch has computed, as mpigrad's nodes have it."""
        return from_torch(grad) if create else elements(grad)

    def accumulate(self, grad: Any, create: bool) -> None:
        """Add the gradient of a leaf to its `.grad`, in a local pass of torch's engine."""
        task = GraphTask(DIFF if create else RAW, {self.node: 0}, True)
        task.feed(self.node, 0, self.gradient(grad if create else grad.clone(), create))
        task.start(self.node)
        before, MODE.enabled = MODE.enabled, create
        try:
            task.run()
        finally:
            MODE.enabled = before


def elements(tensor: Any) -> Any:
    """The elements of a tensor as an array for mpigrad's tensors, which share the memory if possible."""
    if tensor.dtype in _AS_BITS and tensor.dtype is not torch.bfloat16:
        raise TypeError(f"mpigrad has no element type like {tensor.dtype}: convert the torch tensor first")
    plain = tensor.detach()
    if not plain.is_cpu or plain.layout is not torch.strided:
        return ADAPTER.array_of(plain)
    return torch_array(plain.resolve_conj().resolve_neg())


def from_torch(tensor: Any) -> Tensor:
    """The implementation of `mpigrad.interop.torch.from_torch`."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"from_torch(): argument must be a torch.Tensor, not {type(tensor).__name__}")
    made = wrap(elements(tensor))
    if tensor.requires_grad and torch.is_grad_enabled() and MODE.enabled:
        made._grad_fn, made._requires = Converted(ADAPTER, tensor, SharedMemory(tensor, made)), True
    return made


class SharedMemory:
    """Memory that a tensor of each library has: counts torch's in-place changes as mpigrad's, whose nodes then find out that what
    they have saved was changed."""

    def __init__(self, theirs: Any, ours: Tensor) -> None:
        self._counter, self._version = counter(ours), theirs._version
        self._theirs = theirs.detach()  # has the same version counter
        self._theirs.data = torch.empty(0, dtype=theirs.dtype, device=theirs.device)  # and does not keep the memory

    def notice_changes(self) -> None:
        version = self._theirs._version
        self._counter[0] += version - self._version
        self._version = version


def recv_node(received: Received, tensors: Sequence[Any]) -> None:
    """Make tensors the outputs of a node of received tensors."""
    with torch.inference_mode(False), torch.enable_grad():
        _apply(_ORIGIN, received, tuple(tensors))


class RecvRpc(torch.autograd.Function):
    """The node below received tensors, and below those that stand for an end of mpigrad's graph.

    In distributed passes, gradients are taken out of the graph before it. It only runs in local passes.
    """

    @staticmethod
    def forward(ctx: Any, origin: Any, received: Received, tensors: tuple[Any, ...]) -> Any:
        ctx.received = received
        return tensors  # no inputs for torch, as they are in a tuple: so they become outputs, without copies

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        received = ctx.received
        if type(received) is Ours and type(received.node) is AccumulateGrad:
            received.accumulate(grads[0], torch.is_grad_enabled())
            return None, None, None
        raise RuntimeError(
            "a graph that begins on another worker needs mpigrad.distributed.autograd.backward instead of a local backward pass"
        )


_ORIGIN = torch.empty(0, requires_grad=True)  # an input that requires grad, for the sake of recording
_RECV_NODE: Any = RecvRpc._backward_cls  # type: ignore[attr-defined]
_apply: Any = super(torch.autograd.Function, RecvRpc).apply  # without preparations for `torch.func`, which double the time
_RECV_NODE.__name__ = "torch::distributed::autograd::RecvRpcBackward"  # what `grad_fn.name()` is in PyTorch


# -- modes of threads --------------------------------------------------------------------------------------------------
Modes = tuple[bool, bool, dict[str, Any]]  # inference mode, grad mode, element types of the devices with autocast
_USUAL: Modes = (False, True, {})


def _modes() -> Modes:
    """The modes of this thread. Anomaly detection is not one of them: it concerns the whole process."""
    cast = {device: torch.get_autocast_dtype(device) for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)}
    return torch.is_inference_mode_enabled(), torch.is_grad_enabled(), cast


def _run_in(modes: Modes, callback: Callable[[Any], Any], fut: Any) -> Any:
    """Call a callback of a future in these modes; those of the calling thread are restored afterwards."""
    inference, grad, cast = modes
    with ExitStack() as entered:
        entered.enter_context(torch.inference_mode(inference))
        entered.enter_context(torch.set_grad_enabled(grad))
        for device, dtype in cast.items():
            entered.enter_context(torch.autocast(device, dtype))
        return callback(fut)


# -- hooks that are put off --------------------------------------------------------------------------------------------
class _Quiet(threading.local):
    tensors: frozenset[int] = frozenset()  # ids of the tensors whose hooks are not called at present


_QUIET = _Quiet()


class _Hook:
    """A hook of a tensor that may be put off: skipped while the tensor is in `_QUIET.tensors`."""

    def __init__(self, hook: Any, tensor: Any) -> None:
        self.hook, self.tensor = hook, id(tensor)

    def __call__(self, grad: Any) -> Any:
        return None if self.tensor in _QUIET.tensors else self.hook(grad)


def _put_off(tensors: Sequence[Any]) -> frozenset[int]:
    """Wrap the hooks of tensors in `_Hook`; returns what `_QUIET.tensors` must be while these hooks are put off."""
    for tensor in tensors:
        hooks = tensor._backward_hooks
        for key, hook in list(hooks.items()):
            if type(hook) is not _Hook:
                hooks[key] = _Hook(hook, tensor)
    return _QUIET.tensors.union(map(id, tensors))


# -- memory ------------------------------------------------------------------------------------------------------------
_SMALL = 32 * 1024  # bytes; larger arrays have their own memory when they arrive


def _separate(grads: list[Any], ends: Sequence[ForeignEdge]) -> None:
    """Copy those gradients of leaves whose memory has other users, so that contexts may keep the gradients and add to them.

    Gradients of received tensors are sent to other workers and then dropped, so they need no copy. `ends` says which are which.
    """
    for place in range(len(grads)):  # `enumerate` would have a reference of its own
        if type(ends[place][0]) is _RECV_NODE and type(ends[place][0].received) is not Ours:
            continue
        grad = grads[place]
        if grad is None:
            continue
        if sys.getrefcount(grad) > 3 or grad._use_count() > 1:  # 3: `grads`, `grad`, and the argument of getrefcount
            grads[place] = grad.clone()
        elif grad.layout is torch.strided and _storage_users(grad.untyped_storage()._cdata) > 2:
            grads[place] = grad.clone()


_storage_users: Any = getattr(torch._C, "_storage_Use_Count", lambda data: 3)  # a torch without it: copy always


def _wastes(tensor: Any) -> bool:
    """Whether the memory below a tensor is so much larger than the tensor that PyTorch would copy it before sending."""
    size = tensor.untyped_storage().nbytes()
    return bool(size >= _RECOPY_MIN and size >= _RECOPY_MULTIPLE * tensor.nbytes)


def _viewed(tensor: Any, dtype: torch.dtype) -> Any:
    """The tensor with another element type of the same size; not a view, so that users may change it in place."""
    kind = type(tensor)
    with torch.no_grad():
        made = torch.empty(0, dtype=dtype, device=tensor.device).set_(
            tensor.view(dtype).untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride()
        )
    made.__class__ = kind
    return made


def _as_subclass(cls: type, plain: Any, attributes: dict[str, Any] | None) -> Any:
    plain.__class__ = cls
    if attributes:
        plain.__dict__.update(attributes)
    return plain


def _gpu_array(tensor: Any) -> Any:
    if tensor.device.type != "cuda":
        raise TypeError(f"a torch tensor on {tensor.device} cannot be sent by RPC: move it to the CPU with x.cpu()")
    return cupy().from_dlpack(tensor)


# -- sparse tensors ----------------------------------------------------------------------------------------------------
_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def _sparse_array(adapter: TorchAdapter, tensor: Any) -> Any:
    if tensor.layout is not torch.sparse_coo:
        raise TypeError(f"a torch tensor of layout {tensor.layout} cannot be sent by RPC: convert it with x.to_dense()")
    plain = tensor.detach()
    indices, values = plain._indices(), plain._values()
    return SparseArray(adapter.array_of(indices), adapter.array_of(values), tuple(plain.shape), plain.is_coalesced())


def _sparse_tensor(adapter: TorchAdapter, array: Any, description: bytes) -> Any:
    indices = adapter.make(array.indices, b"", False)
    values = adapter.make(array.values, description.removeprefix(_PARAMETER), False)
    return torch.sparse_coo_tensor(
        indices, values, tuple(array.shape), check_invariants=True, is_coalesced=bool(array.is_coalesced)
    )


def _reduce_compressed(tensor: Any) -> Any:
    plain = tensor.detach()
    rows = plain.layout in (torch.sparse_csr, torch.sparse_bsr)
    parts = (plain.crow_indices(), plain.col_indices()) if rows else (plain.ccol_indices(), plain.row_indices())
    name = str(plain.layout).removeprefix("torch.")
    return _compressed, (*parts, plain.values(), tuple(plain.shape), name, tensor.requires_grad)


def _compressed(outer: Any, inner: Any, values: Any, shape: tuple[int, ...], layout: str, requires_grad: bool) -> Any:
    made = torch.sparse_compressed_tensor(outer, inner, values, shape, layout=getattr(torch, layout), check_invariants=True)
    return made.requires_grad_() if requires_grad else made


# -- scripts -----------------------------------------------------------------------------------------------------------
class ScriptAdapter(TensorAdapter):
    """Sends what `torch.jit.script` has made.

    A function is sent by its qualified name if the sender finds it under this name in a Python module, otherwise with its code. A
    scripted module is always sent with its code.
    """

    name = "torch.jit"

    def array_of(self, tensor: Any) -> Any:
        raise TypeError(f"{type(tensor).__name__} has no array")

    def describe(self, tensor: Any) -> None:
        return None

    def make(self, array: Any, description: bytes, requires_grad: bool) -> Any:
        raise ValueError("malformed message: scripts do not travel as arrays")

    def reduce(self, obj: Any) -> Any:
        if isinstance(obj, torch.jit.ScriptFunction):
            name = obj.qualified_name.removeprefix("__torch__.")
            return (_named, (name,)) if _find(name) is obj else (_load_function, (obj.save_to_buffer(),))
        buffer = io.BytesIO()
        torch.jit.save(obj, buffer)
        return _load, (buffer.getvalue(),)


def _find(name: str) -> Any:
    """The object with a qualified name (without `__torch__`), such as "package.module.function"; None if there is none."""
    module, _, rest = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module or "__main__"), rest, None)
    except ImportError:
        return None


def _named(name: str) -> Any:
    found = _find(name)
    if found is None:
        raise AttributeError(f"Can't get the scripted function {name!r} on this worker: define it in a module that both import")
    return found


def _load(data: bytes) -> Any:
    return torch.jit.load(io.BytesIO(data))


def _load_function(data: bytes) -> Any:
    return _load(data).forward


ADAPTER = TorchAdapter()
register_adapter(torch.Tensor, ADAPTER)
for _cls in (torch.jit.ScriptFunction, torch.jit.ScriptModule):
    register_adapter(_cls, ScriptAdapter())
