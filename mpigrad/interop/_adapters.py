"""Adapters: how RPC and distributed autograd handle tensors of another framework; and the table of them.

An adapter is found by the exact type of an object, then by its bases. mpigrad imports no framework by itself: an object of a
framework's class can only exist after the framework was imported, and only then is the framework's adapter loaded (`FRAMEWORKS`).
The exception is a message that brings a tensor of a framework which this process has not imported yet.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

ForeignEdge = tuple[Any, int]  # a node of the framework's graph, and the index of one of its outputs


class Received(NamedTuple):
    """A place where a framework's graph ends because the tensors came from another worker.

    `node` is mpigrad's recv function for these tensors. Output number `nr` of the framework's node is output number `places[nr]`
    of `node`.
    """

    node: Any
    places: Sequence[int]


class Graph(NamedTuple):
    """What `TensorAdapter.graph_of` returns: the part of a framework's graph below some nodes.

    `below` is a dict from each node that can be run to its edges to the nodes below it (None for inputs without gradient). `ends`
    is a dict of all other nodes: from the node of a leaf to the leaf tensor, and from a node that `attach` has made to its
    `Received`.
    """

    below: Mapping[Any, Sequence[ForeignEdge | None]]
    ends: Mapping[Any, Any]


class TensorAdapter(ABC):
    """How RPC and distributed autograd handle the tensors of one framework.

    The attribute `name` and the first three methods are all that calls need: tensors then travel like arrays and arrive as
    tensors of the framework. The other methods connect the framework's graphs to those of other workers: a tensor that requires
    grad has a place in a graph, which `edge_of` returns. There are two ways to implement it:

    - The nodes are mpigrad's: subclasses of `mpigrad.autograd.graph.Node` whose `run(F, grad)` returns the gradients along their
      `edges`. Then mpigrad's engine runs them, and `graph_of` and `run` are not called. This suits frameworks without a tape.
    - The nodes are the framework's own: any hashable objects. mpigrad finds out by `graph_of` which of them lie between tensors
      that were received and tensors that are sent, and lets the framework `run` them, as few times as possible.

    Gradients are tensors of the framework; those of a leaf may also come as a NumPy array. They are added with `+`.
    """

    name: str  #: The framework's name in messages, the same on all workers.

    # -- payloads ------------------------------------------------------------------------------------------------------
    @abstractmethod
    def array_of(self, tensor: Any) -> Any:
        """The elements of a tensor as a NumPy or CuPy array (or `SparseArray`), if possible without a copy.

        Element types that NumPy does not know are sent as integers of the same size. Raise TypeError if it cannot be sent.
        """

    @abstractmethod
    def describe(self, tensor: Any) -> bytes | None:
        """A description for `make`, besides the array, such as an element type; up to 100 bytes, often empty.

        None if the tensor is not sent as one array: then `reduce` is called.
        """

    @abstractmethod
    def make(self, array: Any, description: bytes, requires_grad: bool) -> Any:
        """Create a tensor with the elements of `array`, without a copy; `requires_grad` says whether it requires a gradient.

        `description` is what `describe` returned on the sender. It comes from another process, so it must be checked.
        """

    def reduce(self, obj: Any) -> Any:
        """Return how to pickle an object that `describe` declines, in the form of `__reduce_ex__`; NotImplemented for the usual
        way.
        """
        return NotImplemented

    # -- graphs --------------------------------------------------------------------------------------------------------
    def size(self, tensor: Any) -> int:
        """The number of elements of a tensor that requires grad; `backward` asks for it, since a root must have one element."""
        return int(self.array_of(tensor).size)

    def requires_grad(self, tensor: Any) -> bool:
        """Whether a tensor requires a gradient, so that it has a place in a graph. Here False, for frameworks without graphs."""
        return False

    def recording(self) -> bool:
        """Whether this thread records operations for gradients at present; PyTorch's `no_grad`, for example, stops that."""
        return True

    def carried(self, callback: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Wrap a callback of a future, so that it runs in the framework's modes (such as `no_grad`) of the thread that adds it.

        Called when the callback is added; the callback may run on another thread.
        """
        return callback

    def edge_of(self, tensor: Any) -> ForeignEdge | None:
        """The node of a tensor that requires grad, and which output of it the tensor is; None for a leaf."""
        raise NotImplementedError(f"tensors of {self.name} have no graph")

    def attach(self, tensors: Sequence[Any], node: Any, places: Sequence[int]) -> Any:
        """Make received tensors, which `make` has just made, the outputs `places` of `node`, a recv function of mpigrad.

        Returns the framework's node, which is shown to users who ask for recv functions; None shows `node` instead.
        """
        raise NotImplementedError(f"tensors of {self.name} cannot take part in distributed autograd")

    def gradient(self, array: Any, description: bytes) -> Any:
        """Return the elements of `array` as a gradient for a tensor that `describe` described as `description`."""
        return self.make(array, description, False)

    def root_gradient(self, root: Any) -> Any:
        """Return the gradient with which a pass starts at `root`, a tensor with one element: a one of its type."""
        raise NotImplementedError(f"tensors of {self.name} cannot be roots of a backward pass")

    def has_hooks(self, tensor: Any) -> bool:
        """Whether a tensor has gradient hooks. They must be called once in a pass, with the whole gradient."""
        return False

    def graph_of(self, nodes: Sequence[Any]) -> Graph:
        """Return the framework's graph from `nodes` downwards, including these, as a `Graph`."""
        raise NotImplementedError(f"tensors of {self.name} have no graph")

    def run(
        self,
        outputs: Sequence[ForeignEdge],
        grads: Sequence[Any],
        inputs: Sequence[ForeignEdge],
        keep: bool,
        create: bool,
        quiet: Sequence[Any] = (),
    ) -> Sequence[Any]:
        """Compute the gradients at `inputs`, given `grads`, those at `outputs` (some may be None), as `torch.autograd.grad`
        does.

        `inputs` are the ends of this part of the graph: nodes below them do not run.

        Args:
            keep: the same nodes will run again, so what they have saved must not be freed.
            create: record the computation, so that the gradients can be differentiated.
            quiet: leaves among the inputs whose hooks must not be called, because this is only a part of their gradient.
        """
        raise NotImplementedError(f"tensors of {self.name} have no graph")

    # -- tensors converted within a process, such as by `mpigrad.interop.torch` ----------------------------------------
    def from_ours(self, tensor: Any) -> Any:
        """Create the framework's tensor with the memory of a tensor of mpigrad, whose graph becomes a part of the framework's."""
        raise NotImplementedError(f"tensors of mpigrad cannot be converted to those of {self.name}")

    def run_backward(
        self, roots: Sequence[Any], grads: Sequence[Any], targets: Sequence[Any] | None, keep: bool, create: bool
    ) -> list[Any]:
        """Run a local backward pass from `roots`, tensors of mpigrad whose graph leads to converted tensors.

        `grads` are the gradients of the roots. Without `targets`, gradients are added to `.grad`. Otherwise those of `targets`
        are returned, None for those that the pass does not reach: tensors of mpigrad if `create` (record the pass, too), arrays
        if not. `keep`: keep the graph for another pass.
        """
        raise NotImplementedError(f"tensors of mpigrad cannot be converted to those of {self.name}")

    def leaf_gradient(self, grad: Any, leaf: Any, create: bool) -> Any:
        """The whole gradient of a leaf in one pass, changed by the leaf's hooks; `grad` may be a NumPy array."""
        return grad

    def accumulate(self, held: Any, grad: Any, leaf: Any, create: bool) -> Any:
        """Add a gradient of a leaf to the one that a context holds (`held`, None at first), and return the sum.

        The context keeps the result, and later gradients may be added in place: it must share no memory with other tensors.
        """
        return grad if held is None else held + grad


# top-level package of tensor classes -> module that registers their adapter
FRAMEWORKS = {"torch": "mpigrad.interop._torch", "jax": "mpigrad.interop._jax", "jaxlib": "mpigrad.interop._jax"}

_by_type: dict[type, TensorAdapter] = {}
_by_name: dict[str, TensorAdapter] = {}
_found: dict[type, TensorAdapter | None] = {}  # by exact type, also of objects that are no tensors
_REMEMBERED = 4096  # entries of `_found`, which keeps its classes alive: programs may make classes in a loop


def register_adapter(cls: type, adapter: TensorAdapter) -> None:
    """Use `adapter` for objects of the class `cls`, and of subclasses without an adapter of their own.

    Call it on every worker, with adapters of the same name: messages name the adapter of each tensor.

    >>> import numpy as np
    >>> from mpigrad.interop import TensorAdapter, adapter_of, register_adapter
    >>> class Grid:
    ...     def __init__(self, cells):
    ...         self.cells = cells
    >>> class GridAdapter(TensorAdapter):
    ...     name = "grid"
    ...     def array_of(self, grid):
    ...         return grid.cells
    ...     def describe(self, grid):
    ...         return b""
    ...     def make(self, array, description, requires_grad):
    ...         return Grid(array)
    >>> register_adapter(Grid, GridAdapter())
    >>> adapter_of(Grid).name
    'grid'
    """
    other = _by_name.get(adapter.name)
    if other is not None and other is not adapter and type(other) is not type(adapter):
        raise ValueError(f"the name {adapter.name!r} belongs to another adapter, {other!r}; choose another name")
    _by_type[cls], _by_name[adapter.name] = adapter, adapter
    _found.clear()


def adapter_of(cls: type) -> TensorAdapter | None:
    """The adapter for objects of a class; None if they are not tensors of a known framework."""
    try:
        return _found[cls]
    except KeyError:
        return _find(cls)


def _find(cls: type) -> TensorAdapter | None:
    bases = cls.__mro__
    for base in bases:
        module = FRAMEWORKS.get(base.__module__.partition(".")[0]) if isinstance(base.__module__, str) else None
        if module is not None:
            importlib.import_module(module)
    found = next((_by_type[base] for base in bases if base in _by_type), None)
    if len(_found) >= _REMEMBERED:
        _found.clear()
    _found[cls] = found
    return found


def carried_by_adapters(callback: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A callback that runs in the modes of all loaded frameworks in which it was added."""
    for adapter in _by_name.values():
        callback = adapter.carried(callback)
    return callback


def adapter_named(name: str) -> TensorAdapter:
    """The adapter of the framework that a message names; imports the framework if this process has not done so."""
    found = _by_name.get(name)
    if found is None and name in FRAMEWORKS:
        try:
            importlib.import_module(FRAMEWORKS[name])
        except ImportError as error:
            raise ImportError(
                f"a message brought a tensor of {name}, which cannot be imported on this worker: {error}. Install {name} "
                "wherever such tensors are sent"
            ) from error
        found = _by_name.get(name)
    if found is None:
        raise ValueError(
            f"a message brought a tensor of {name!r}, for which this worker has no adapter: call "
            "mpigrad.interop.register_adapter on every worker"
        )
    return found
