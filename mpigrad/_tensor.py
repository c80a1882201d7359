"""`Tensor`: an array with a position in the graph. The layers above attach operators to it with `method`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ._array.device import CPU, device, device_of
from ._array.dtype import dtype, from_numpy_dtype
from ._array.layout import layout, sparse_coo, strided
from ._core.tensor import TensorBase, tensors_are
from ._graph.grad_mode import MODE
from ._names import METHODS
from ._process.lazy import load

if TYPE_CHECKING:
    from ._core.node import Node

Fn = TypeVar("Fn", bound=Callable[..., Any] | property)
_tuple: Any = tuple.__new__
_DTYPES: dict[np.dtype, dtype] = {}


class Size(tuple):
    """A tensor's shape: a tuple of ints, with the method `numel` and PyTorch's way of printing."""

    __slots__ = ()

    def __new__(cls, lengths: Iterable[Any] = ()) -> Size:
        lengths = tuple(lengths)
        for place, each in enumerate(lengths):
            if each.__class__ is not int and (isinstance(each, float) or not hasattr(each, "__index__")):
                raise TypeError(
                    f"mpigrad.Size() takes an iterable of 'int' (item {place} is '{type(each).__name__}')"
                )
        return _tuple(Size, lengths)

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        count = 1
        for length in self:
            count *= length
        return count

    def __repr__(self) -> str:
        return f"mpigrad.Size({list(self)})"

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


class Extra:
    """Properties that few tensors have: hooks, a retained gradient, the accumulator node of a leaf, a name."""

    __slots__ = ("accumulate", "hooks", "inference", "name", "post_hooks", "retains_grad", "undo")

    def __init__(self) -> None:
        self.accumulate: Any = None  # weak reference to the leaf's AccumulateGrad
        self.hooks: Any = None  # gradient hooks of a leaf; they outlive its accumulator, which is created on demand
        self.post_hooks: Any = None
        self.retains_grad = False
        self.inference = False
        self.name: str | None = None
        self.undo: tuple[Any, ...] = ()  # inverses of in-place changes of the shape, for views made before them


class Tensor(TensorBase):
    """A multi-dimensional array of one element type, on one device, whose operations can be recorded for gradients.

    Create it with `mpigrad.tensor(data)`, `mpigrad.zeros(shape)` and others; `Tensor(...)` itself is PyTorch's legacy
    constructor.
    """

    __slots__ = ("__dict__", "__weakref__")
    __array_priority__ = 1000

    if TYPE_CHECKING:

        def __new__(cls, *args: Any, **kwargs: Any) -> Any: ...  # set by _ops.legacy: Tensor(2, 3), Tensor([1.0])

        def __getattr__(self, name: str) -> Any: ...

        __add__: Any
        __radd__: Any
        __iadd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __floordiv__: Any
        __mod__: Any
        __pow__: Any
        __rpow__: Any
        __matmul__: Any
        __rmatmul__: Any
        __array_ufunc__: Any
        __neg__: Any
        __invert__: Any
        __and__: Any
        __or__: Any
        __xor__: Any
        __lt__: Any
        __le__: Any
        __gt__: Any
        __ge__: Any
        __getitem__: Any
        __setitem__: Any
        __len__: Any
        __iter__: Any
        __bool__: Any
        __float__: Any
        __int__: Any
        __index__: Any

    __hash__ = object.__hash__

    # -- attributes ------------------------------------------------------------------------------------------------
    @property
    def shape(self) -> Size:
        """The lengths of the dimensions, a `Size`."""
        return _tuple(Size, self._array.shape)

    @property
    def dtype(self) -> dtype:
        """The element type, such as `mpigrad.float32`."""
        found = _DTYPES.get(self._array.dtype)
        if found is None:
            found = _DTYPES[self._array.dtype] = from_numpy_dtype(self._array.dtype)
        return found

    @property
    def device(self) -> device:
        """The device on which the elements are, such as `device("cpu")` or `device("cuda", 0)`."""
        return CPU if self._array.__class__ is np.ndarray else device_of(self._array)

    @property
    def layout(self) -> layout:
        """`mpigrad.strided` (dense) or `mpigrad.sparse_coo`."""
        return sparse_coo if self.is_sparse else strided

    @property
    def is_sparse(self) -> bool:
        """Whether this is a sparse tensor, which stores only some elements, as indices and values."""
        return getattr(self._array, "is_sparse_array", False)

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a GPU."""
        return self.device.type == "cuda"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    # -- position in the graph ------------------------------------------------------------------------------------
    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded, so that a backward pass computes its gradient. Can be set
        on leaves.
        """
        return self._requires

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` in place and return the tensor; RuntimeError to unset it on a tensor that is no leaf."""
        if self._grad_fn is not None:
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if requires_grad and self._array.dtype.kind not in "fcV":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad and self._extra is not None and self._extra.inference and not MODE.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        view, self._requires = self._view, bool(requires_grad)
        if view is not None:
            view.inherits = not requires_grad and view.base._requires
            self._requires = self._requires or view.inherits
        if self._counter is not None and len(self._counter) > 1:
            flag_views(self)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor is not the result of a recorded operation: it was created by the program, or needs no
        gradient.
        """
        return self.grad_fn is None

    @property
    def grad_fn(self) -> Node | None:
        """The graph node of the operation that created this tensor; None for leaves."""
        if self._view is not None:
            self._view.refresh(self)
        return self._grad_fn

    @property
    def output_nr(self) -> int:
        """The index of this tensor among the outputs of `grad_fn`."""
        return self._nr

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up for this leaf, or that `retain_grad` has kept; None if
        there is none.
        """
        if self._grad is None and self._grad_fn is not None and not (self._extra and self._extra.retains_grad):
            _warn_about_grad_of_non_leaf()
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            _check_assigned_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def _version(self) -> int:
        """The number of in-place changes of the elements, including changes through views."""
        return 0 if self._counter is None else self._counter[0]

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def _base(self) -> Tensor | None:
        """The tensor of which this one is a view; None if it is no view."""
        return None if self._view is None else self._view.base

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this tensor, which is no leaf."""
        return self._extra is not None and self._extra.retains_grad

    @property
    def name(self) -> str | None:
        """Always None, as in PyTorch, unless a program sets it."""
        return None if self._extra is None else self._extra.name

    def is_inference(self) -> bool:
        """Whether this tensor was created in inference mode."""
        return self._extra is not None and self._extra.inference


tensors_are(Tensor)


def extra(tensor: Tensor) -> Extra:
    """The tensor's record of rare properties, created on first use."""
    if tensor._extra is None:
        tensor._extra = Extra()
    return tensor._extra


def counter(tensor: Tensor) -> list[Any]:
    """The tensor's version counter, created on first use; `_core.node` extends it for views. The node that created the tensor
    may already have one, if it saved its result."""
    found = tensor._counter
    if found is None:
        node = tensor._grad_fn
        found = tensor._counter = [0] if node is None else node.counter_of(tensor._nr)
    return found


def flag_views(base: Tensor) -> None:
    """Update `requires_grad` of the views of a base whose own flag has changed."""
    assert base._counter is not None
    for reference in list(base._counter[1]):
        view = reference()
        if view is None or view._view is None or view._view.base is not base or view._grad_fn is not None:
            continue
        if base._requires and not view._requires:
            view._requires = view._view.inherits = True
        elif not base._requires and view._view.inherits:
            view._requires = view._view.inherits = False


_DEFINED: dict[str, Any] = {}
"""Everything that `method` has attached to Tensor."""


def method(fn: Fn, name: str | None = None) -> Fn:
    """Attach the function `fn` to Tensor as a method (called `name`, default: its own name) and return it; used as
    `@method`.
    """
    name = name or cast(Any, fn).__name__
    _DEFINED[name] = fn
    if not isinstance(Tensor.__dict__.get(name), _LateMethod):  # not yet in `_names.py`
        setattr(Tensor, name, fn)
    return fn


class _LateMethod:
    """Stands for a method, or a property, whose module is imported when it is used for the first time.

    The method then takes the place of this object in the class. The module that defines it does not put it there
    itself: other threads could call it before the module has been executed to its end.
    """

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def load(self) -> Any:
        """Import the module that defines the method, and return the method."""
        whole = load(self.module)
        found = _DEFINED[self.name]
        if whole:
            setattr(Tensor, self.name, found)
        return found

    def __get__(self, tensor: Tensor | None, cls: type[Tensor]) -> Any:
        found = self.load()
        if tensor is not None and self.name in tensor.__dict__ and not hasattr(found, "__set__"):
            return tensor.__dict__[self.name]
        return found.__get__(tensor, cls)

    def __set__(self, tensor: Tensor, value: Any) -> None:
        found = self.load()
        if hasattr(found, "__set__"):
            found.__set__(tensor, value)
        else:
            tensor.__dict__[self.name] = value

    def __delete__(self, tensor: Tensor) -> None:
        self.load()
        delattr(tensor, self.name)


for _module, _methods in METHODS.items():
    for _each in _methods.split():
        setattr(Tensor, _each, _LateMethod(_module, _each))


def _check_assigned_grad(tensor: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value.dtype is not tensor.dtype:
        raise RuntimeError(f"assigned grad has data of a different type: {value.dtype} for a tensor of {tensor.dtype}")
    if value.device != tensor.device:
        raise RuntimeError(f"assigned grad has data located on a different device: {value.device}, not {tensor.device}")
    if tuple(value.shape) != tuple(tensor.shape):
        raise RuntimeError(f"assigned grad has data of a different size: {list(value.shape)} for {list(tensor.shape)}")


def _warn_about_grad_of_non_leaf() -> None:
    warnings.warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
        "during autograd.backward(). Call .retain_grad() on the non-leaf Tensor if you want it.",
        stacklevel=3,
    )
