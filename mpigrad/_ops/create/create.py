"""New tensors: from data, filled with one value, or ranges."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, device, device_of, on_device, pin, resolve
from mpigrad._array.dtype import as_dtype, dtype, from_numpy_dtype, get_default_dtype, scalar_dtype
from mpigrad._array.layout import ORDERS, order_of, preserve_format, sparse_coo
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE
from mpigrad._tensor import Tensor, extra

from .._define.arguments import need_tensors
from .._define.dims import as_int, size_from
from .._define.operator import refuse_sparse
from .._define.out import deliver
from .data import array_from, build, place_and_type
from .sparse_empty import empty_of_shape, empty_sparse

Place = device | str | int | None


def new(array: Any, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A new leaf tensor around an array."""
    made = wrap(pin(array) if pin_memory else array)
    if MODE.inference:
        extra(made).inference = True
    if requires_grad:
        if array.dtype.kind not in "fcV":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made._requires = True
    return made


def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: Place = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`: a number, nested lists or tuples, a NumPy array or a tensor.

    - `dtype`: by default that of the data; Python floats give the default float type (float32), ints give int64.
    - `device`: by default that of the data if it is a tensor, otherwise the default device.
    - `requires_grad`: record operations on it for gradients. `pin_memory`: in pinned host memory, for fast copies to
      GPUs.

    >>> import mpigrad
    >>> mpigrad.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(data, Tensor):
        _warn_of_copy()
    kind = None if dtype is None else as_dtype(dtype)
    place = resolve(device) if device is not None or not isinstance(data, Tensor) else device_of(data._array)
    return new(array_from(data, kind, place), requires_grad, pin_memory)


def _warn_of_copy() -> None:
    warnings.warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        "sourceTensor.detach().clone().requires_grad_(True), rather than mpigrad.tensor(sourceTensor).",
        stacklevel=3,
    )


def as_tensor(data: Any, dtype: dtype | None = None, device: Place = None) -> Tensor:
    """A tensor of `data` (as for `tensor`) that shares the memory of arrays and tensors if `dtype` and `device` allow
    it.

    A tensor that has the wanted type and device is returned unchanged.

    >>> import mpigrad, numpy
    >>> array = numpy.zeros(2)
    >>> mpigrad.as_tensor(array)[0] = 7
    >>> array
    array([7., 0.])
    """
    if isinstance(data, Tensor):
        if dtype is None and device is None:
            return data
        return data.to(device=data.device if device is None else device, dtype=data.dtype if dtype is None else dtype)
    return new(array_from(data, None if dtype is None else as_dtype(dtype), resolve(device), copy=False))


def asarray(
    obj: Any, *, dtype: dtype | None = None, device: Place = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of `obj`: a number, nested lists, a tensor, or an object that NumPy converts to an array.

    `copy`: True always copies, False raises a ValueError if a copy is needed, None (default) copies only if
    necessary. `dtype` and `device` are by default those of `obj`.
    """
    if isinstance(obj, Tensor):
        found = as_tensor(obj, dtype, device)
        if copy is False and found is not obj:
            raise ValueError("can't alias tensor with a different dtype or device, and copy=False was given")
        if copy:
            found = found.clone() if found is obj else found
        return (
            found.detach().requires_grad_()
            if requires_grad
            else found
            if found.requires_grad is False
            else found.detach()
        )
    kind = None if dtype is None else as_dtype(dtype)
    array = array_from(obj, kind, resolve(device), copy=bool(copy))
    if copy is False and not np.shares_memory(array, obj):
        raise ValueError("can't alias arbitrary sequence into a tensor, and copy=False was given")
    return new(array, requires_grad)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares the memory of a NumPy array, with its element type: changes of one are visible in the
    other.

    >>> import mpigrad, numpy
    >>> mpigrad.from_numpy(numpy.array([1.0, 2.0]))
    tensor([1., 2.], dtype=mpigrad.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        home = "numpy." if isinstance(ndarray, np.generic) else ""
        raise TypeError(f"expected np.ndarray (got {home}{type(ndarray).__name__})")
    return new(array_from(ndarray, None, CPU, copy=False))


def scalar_tensor(
    s: Any, *, dtype: dtype | None = None, layout: Any = None, device: Place = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A zero-dimensional tensor of the number `s`. `dtype` (by default the default float type), `device` and
    `requires_grad` are those of the new tensor. `pin_memory`: in pinned host memory. `layout` is ignored.
    """
    kind = dtype or get_default_dtype()
    return tensor(s, dtype=kind, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def filled(
    name: str, value: Any, size: tuple[Any, ...], out: Tensor | None, kind: Any, given: Any, requires_grad: bool,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The common implementation of zeros, ones, full and empty. With `value` None the elements are uninitialised."""
    if out is not None and kind is None:
        kind = out.dtype
    place, found = place_and_type(given, kind)
    shape = size_from(name, size)
    if value is None:
        made = new(build(place, "empty", shape, found.numpy), requires_grad, pin_memory)
    elif value == 0 and value.__class__ is int:
        made = new(build(place, "zeros", shape, found.numpy), requires_grad, pin_memory)
    else:
        made = new(build(place, "full", shape, value, found.numpy), requires_grad, pin_memory)
    return deliver(made, out)


def _nothing(name: str, size: tuple[Any, ...], kind: Any, given: Any, requires_grad: bool) -> Tensor:
    """A sparse tensor of shape `size` without stored elements; `kind` and `given` are the arguments `dtype` and
    `device`.
    """
    place, found = place_and_type(given, kind)
    shape = tuple(size_from(name, size))
    return new(empty_of_shape(place, shape, len(shape), found.numpy), requires_grad)


def _size(name: str, size: tuple[Any, ...], keyword: Any) -> tuple[Any, ...]:
    if keyword is not None:
        return (tuple(keyword),)
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return size


def zeros(
    *size: Any, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Place = None,
    pin_memory: bool = False, requires_grad: bool = False, **names: Any,
) -> Tensor:  # fmt: skip
    """A tensor of zeros, of the shape `size`: several ints, or one sequence of them.

    `dtype` (by default the default float type), `device` and `requires_grad` are those of the new tensor; `out` is a
    tensor to fill instead. `pin_memory`: in pinned host memory.

    >>> import mpigrad
    >>> mpigrad.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    if layout is sparse_coo:
        return _nothing("zeros", _size("zeros", size, names.get("size")), dtype, device, requires_grad)
    sizes = _size("zeros", size, names.get("size"))
    return filled("zeros", 0, sizes, out, dtype, device, requires_grad, pin_memory)


def ones(
    *size: Any, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Place = None,
    pin_memory: bool = False, requires_grad: bool = False, **names: Any,
) -> Tensor:  # fmt: skip
    """A tensor of ones, of the shape `size`: several ints, or one sequence of them.

    `dtype` (by default the default float type), `device` and `requires_grad` are those of the new tensor; `out` is a
    tensor to fill instead. `pin_memory`: in pinned host memory.

    >>> import mpigrad
    >>> mpigrad.ones(2, dtype=mpigrad.int64)
    tensor([1, 1])
    """
    sizes = _size("ones", size, names.get("size"))
    return filled("ones", 1, sizes, out, dtype, device, requires_grad, pin_memory)


def empty(
    *size: Any, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Place = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None, **names: Any,
) -> Tensor:  # fmt: skip
    """An uninitialised tensor of the shape `size`: several ints, or one sequence of them. Its elements are arbitrary.

    `dtype` (by default the default float type), `device` and `requires_grad` are those of the new tensor; `out` is a
    tensor to fill instead. `pin_memory`: in pinned host memory.
    """
    if layout is sparse_coo:
        return _nothing("empty", _size("empty", size, names.get("size")), dtype, device, requires_grad)
    sizes = _size("empty", size, names.get("size"))
    return filled("empty", None, sizes, out, dtype, device, requires_grad, pin_memory)


def full(
    size: Any, fill_value: Any, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
    device: Place = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of the shape `size` (a sequence of ints), filled with the number `fill_value`.

    Without `dtype` the type follows `fill_value`: bool, int64, the default float type or its complex counterpart.
    `device` and `requires_grad` are those of the new tensor; `out` is a tensor to fill instead.

    >>> import mpigrad
    >>> mpigrad.full((2,), 7)
    tensor([7, 7])
    """
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    kind = dtype if dtype is not None else scalar_dtype(value) if out is None else out.dtype
    return filled("full", value, (tuple(size),), out, kind, device, requires_grad, pin_memory)


def _like(
    name: str, value: Any, input: Any, kind: Any, given: Any, requires_grad: bool, form: Any = None,
    order: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    need_tensors(name, input=input)
    array = input._array
    place = device_of(array) if given is None else resolve(given)
    found = array.dtype if kind is None else as_dtype(kind).numpy
    if form is sparse_coo or form is None and input.is_sparse:
        if value is not None and value != 0:
            refuse_sparse(name, input)
        return new(empty_sparse(place, array, found), requires_grad)
    if order in (None, preserve_format) and place is CPU and array.__class__ is np.ndarray:
        made = np.empty_like(array, found)
    elif order in ORDERS:
        lengths = order_of(order, array.ndim)
        back = np.argsort(lengths).tolist()
        made = build(place, "empty", tuple(array.shape[i] for i in lengths), found).transpose(back)
    else:
        made = build(place, "empty", array.shape, found)
    if value is not None:
        with on_device(place):
            made.fill(array_from(value, from_numpy_dtype(found), CPU)[()] if found.kind in "iu" else value)
    return new(made, requires_grad, pin_memory)


def zeros_like(
    input: Tensor, *, dtype: dtype | None = None, layout: Any = None, device: Place = None, requires_grad: bool = False,
    memory_format: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of zeros with the shape of `input`. `dtype` and `device` are by default those of `input`;
    `requires_grad` (default: False) is that of the new tensor.
    """
    return _like("zeros_like", 0, input, dtype, device, requires_grad, layout, memory_format, pin_memory)


def ones_like(
    input: Tensor, *, dtype: dtype | None = None, layout: Any = None, device: Place = None, requires_grad: bool = False,
    memory_format: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of ones with the shape of `input`. `dtype` and `device` are by default those of `input`;
    `requires_grad` (default: False) is that of the new tensor.
    """
    return _like("ones_like", 1, input, dtype, device, requires_grad, None, memory_format, pin_memory)


def empty_like(
    input: Tensor, *, dtype: dtype | None = None, layout: Any = None, device: Place = None, requires_grad: bool = False,
    memory_format: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """An uninitialised tensor with the shape of `input`. `dtype` and `device` are by default those of `input`;
    `requires_grad` (default: False) is that of the new tensor.
    """
    return _like("empty_like", None, input, dtype, device, requires_grad, layout, memory_format, pin_memory)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: dtype | None = None, layout: Any = None, device: Place = None,
    requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor with the shape of `input`, filled with the number `fill_value`. `dtype` and `device` are by default
    those of `input`; `requires_grad` (default: False) is that of the new tensor.
    """
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    return _like("full_like", value, input, dtype, device, requires_grad, None, memory_format, pin_memory)


def eye(
    n: int, m: int | None = None, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
    device: Place = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The identity: a matrix of `n` rows and `m` columns (default: `n`) with ones on the diagonal and zeros
    elsewhere.

    `dtype` (by default the default float type), `device` and `requires_grad` are those of the new tensor; `out` is a
    tensor to fill instead. `pin_memory`: in pinned host memory.

    >>> import mpigrad
    >>> mpigrad.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    for name, length in (("n", n), ("m", n if m is None else m)):
        if length < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {length}")
    place, kind = place_and_type(device, dtype)
    made = build(place, "eye", as_int(n), None if m is None else as_int(m), dtype=kind.numpy)
    return deliver(new(made, requires_grad, pin_memory), out)


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor of mpigrad.

    >>> import mpigrad
    >>> mpigrad.is_tensor(mpigrad.ones(1)), mpigrad.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def number_type(*values: Any) -> dtype:
    """The element type of a range with these ends and this step: a floating-point type if one of them is a float."""
    floats = any(isinstance(each, (float, np.floating)) for each in values)
    return get_default_dtype() if floats else from_numpy_dtype(np.dtype("i8"))


def plain_number(value: Any) -> Any:
    """A Python number from a number or from a tensor with one element."""
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


__all__ = [
    "as_tensor", "asarray", "empty", "empty_like", "eye", "from_numpy", "full", "full_like",
    "is_tensor", "ones", "ones_like",
    "scalar_tensor", "tensor", "zeros", "zeros_like",
]  # fmt: skip
