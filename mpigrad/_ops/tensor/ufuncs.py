"""NumPy's element-wise functions called with tensors: `np.sin(tensor)`, `array * tensor`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, counter, method

from .._define.foreign import leave_to
from ..create.create import as_tensor
from ..linalg.matmul import matmul

# The operators for `array <operator> tensor`, which are differentiable like `tensor <operator> array`.
_REFLECTED = {
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__", np.true_divide: "__rtruediv__",
    np.floor_divide: "__rfloordiv__", np.remainder: "__rmod__", np.power: "__rpow__", np.matmul: "__rmatmul__",
    np.less: "__gt__", np.less_equal: "__ge__", np.greater: "__lt__", np.greater_equal: "__le__",
    np.equal: "__eq__", np.not_equal: "__ne__", np.bitwise_and: "__rand__", np.bitwise_or: "__ror__",
    np.bitwise_xor: "__rxor__", np.left_shift: "__rlshift__", np.right_shift: "__rrshift__",
}  # fmt: skip


@method
def __rmatmul__(self: Tensor, other: Any) -> Tensor:
    leave_to(other)
    return matmul(as_tensor(other, device=self.device), self)


@method
def __array_ufunc__(self: Tensor, ufunc: np.ufunc, how: str, *inputs: Any, **kwargs: Any) -> Any:
    if how == "__call__" and not kwargs and len(inputs) == 2 and not isinstance(inputs[0], Tensor):
        name = _REFLECTED.get(ufunc)
        if name is not None:
            return getattr(inputs[1], name)(inputs[0])
    into = kwargs.pop("out", None)
    if into is not None:
        kwargs["out"] = tuple(_plain(each) for each in into)
    made = getattr(ufunc, how)(*(_plain(each) for each in inputs), **kwargs)
    if into is not None:
        for each in into:
            if isinstance(each, Tensor):
                counter(each)[0] += 1
        return into[0] if len(into) == 1 else into
    return tuple(map(_tensor, made)) if isinstance(made, tuple) else _tensor(made)


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, Tensor) else value


def _tensor(value: Any) -> Any:
    return wrap(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


__all__: list[str] = []
