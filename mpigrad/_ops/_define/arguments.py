"""Checks of arguments, with PyTorch's error messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from mpigrad._tensor import Tensor

from .foreign import instead_of_tensor

_TITLES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
    "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip
_C_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int",
    "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def title(array: Any) -> str:
    """An array's element type as PyTorch's errors spell it: Float, Long ..."""
    return _TITLES.get(array.dtype.name, array.dtype.name)


def c_name(array: Any) -> str:
    """An array's element type in C, which some of PyTorch's errors use: float, long int ..."""
    return _C_NAMES.get(array.dtype.name, array.dtype.name)


def refuse_non_tensors(function: str, **arguments: Any) -> NoReturn:
    """Raise PyTorch's TypeError for the first argument that is not a tensor."""
    for position, (name, value) in enumerate(arguments.items(), start=1):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be {instead_of_tensor(value)}"
            )
    raise TypeError(f"{function}(): arguments must be Tensors")


def invalid_combination(function: str, given: Sequence[Any], *accepted: str) -> TypeError:
    """The TypeError for arguments that match none of a function's signatures."""
    kinds = ", ".join("Tensor" if isinstance(each, Tensor) else type(each).__name__ for each in given)
    expected = "".join(f"\n * ({each})" for each in accepted)
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({kinds}), but expected one of:{expected}"
    )


def need_tensors(function: str, **arguments: Any) -> None:
    """Raise PyTorch's TypeError for arguments that are not tensors; None is allowed for optional ones."""
    for value in arguments.values():
        if value is not None and not isinstance(value, Tensor):
            refuse_non_tensors(function, **{k: v for k, v in arguments.items() if v is not None})
