"""Element types: PyTorch's `dtype` objects over NumPy's, and PyTorch's rules of type promotion.

bfloat16 comes from the package ml_dtypes, which is imported on first use. Its NumPy kind is "V", which no other tensor array has,
because `from_numpy_dtype` refuses void types. So kinds "fV" are the real floating-point types and "fcV" those with gradients.
NumPy would return float32 for a bfloat16 array and a number, and would accumulate sums in bfloat16. Operators therefore compute
in float32 and round their results once (`_ops/_define/narrow.py`), as PyTorch does.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

_CATEGORY = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3, "V": 2}


class dtype:
    """An element type, such as `mpigrad.float32`; the types are attributes of `mpigrad`.

    Attributes: `itemsize` (bytes of an element), `is_floating_point`, `is_complex`, `is_signed`.

    >>> import mpigrad
    >>> mpigrad.float32.is_floating_point, mpigrad.float32.itemsize
    (True, 4)
    """

    __slots__ = ("is_complex", "is_floating_point", "is_signed", "itemsize", "name", "numpy")

    def __init__(self, name: str, numpy: str) -> None:
        self.name, self.numpy = name, np.dtype(numpy)
        self.itemsize = self.numpy.itemsize
        self.is_floating_point, self.is_complex = self.numpy.kind == "f", self.numpy.kind == "c"
        self.is_signed = self.numpy.kind in "ifc"

    def __repr__(self) -> str:
        return f"mpigrad.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)

    @property
    def category(self) -> int:
        """The category of the type: 0 bool, 1 integer, 2 floating point, 3 complex. Promotion never leads to a lower category."""
        return _CATEGORY[self.numpy.kind]

    def to_real(self) -> dtype:
        """The real type of a complex one, such as float32 of complex64; other types are returned unchanged."""
        return _REAL.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type with this precision, such as complex64 of float32."""
        if self.category < 2:
            raise RuntimeError(f"Unknown Complex ScalarType for {_TITLES[self.name]}")
        return complex128 if self in (float64, complex128) else complex64


class NARROW:
    """Whether bfloat16 has been used in this process; otherwise operators skip the checks for it."""

    used = False


class _BFloat16(dtype):
    """The type with float32's eight bits of exponent and seven bits of fraction; its NumPy dtype is that of ml_dtypes."""

    __slots__ = ()

    def __init__(self) -> None:
        self.name, self.itemsize = "bfloat16", 2
        self.is_floating_point, self.is_complex, self.is_signed = True, False, True

    category = 2  # type: ignore[assignment]

    @property
    def numpy(self) -> np.dtype:  # type: ignore[override]
        """The corresponding NumPy dtype."""
        return _ml_bfloat16()


@cache
def _ml_bfloat16() -> np.dtype:
    try:
        from ml_dtypes import bfloat16 as scalar
    except ImportError:
        raise RuntimeError(
            "mpigrad.bfloat16 needs the package ml_dtypes: pip install ml_dtypes, or install mpigrad with its extra 'bfloat16'"
        ) from None
    found = np.dtype(scalar)
    _BY_NUMPY[found] = bfloat16
    NARROW.used = True
    return found


uint8, int8, int16 = dtype("uint8", "u1"), dtype("int8", "i1"), dtype("int16", "i2")
int32, int64 = dtype("int32", "i4"), dtype("int64", "i8")
uint16, uint32, uint64 = dtype("uint16", "u2"), dtype("uint32", "u4"), dtype("uint64", "u8")
float16, float32, float64 = dtype("float16", "f2"), dtype("float32", "f4"), dtype("float64", "f8")
complex64, complex128 = dtype("complex64", "c8"), dtype("complex128", "c16")
bool_ = dtype("bool", "?")
bfloat16 = _BFloat16()

ALL = (uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, float32, float64, complex64, complex128, bool_)
ALIASES = {"float": float32, "double": float64, "half": float16, "long": int64, "int": int32, "short": int16}
ALIASES |= {"cfloat": complex64, "cdouble": complex128}
_TITLES = {"uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool"}
_TITLES |= {"uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64"}
_REAL = {complex64: float32, complex128: float64}
_BY_NAME: dict[str, dtype] = {**{each.name: each for each in ALL}, "bfloat16": bfloat16}
_BY_NUMPY = {each.numpy: each for each in ALL}
_PYTHON = {bool: bool_, int: int64, float: float64, complex: complex128}


def _named(name: str) -> dtype:
    return _BY_NAME[name]


def from_numpy_dtype(found: np.dtype) -> dtype:
    """The dtype for a NumPy dtype of any byte order."""
    kind = _BY_NUMPY.get(found)
    if kind is None and found.name == "bfloat16":  # the first bfloat16 array, created by the user with ml_dtypes
        kind = _BY_NUMPY.get(bfloat16.numpy)
    if kind is None:
        kind = _BY_NUMPY.get(found.newbyteorder("="))
    if kind is None:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{found.type.__name__}. The only supported types are: float64, "
            "float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    return kind


def as_dtype(given: Any) -> dtype:
    """Accept a dtype, or Python's bool, int, float and complex, which PyTorch accepts too."""
    if isinstance(given, dtype):
        return given
    if given in (bool, int, float, complex):
        return _PYTHON[given]
    raise TypeError(f"argument 'dtype' must be mpigrad.dtype, not {type(given).__name__}")


class _Default:
    """Holds the default floating-point type of new tensors."""

    dtype = float32


def get_default_dtype() -> dtype:
    """The floating-point type of tensors that are created without a type, by `zeros`, `rand` and others, or from
    Python floats.

    >>> import mpigrad
    >>> mpigrad.get_default_dtype()
    mpigrad.float32
    """
    return _Default.dtype


def set_default_dtype(d: dtype) -> None:
    """Make `d`, a floating-point type, the type of tensors that are created without a type; float32 at first."""
    if not isinstance(d, dtype) or not d.is_floating_point:
        what = "" if isinstance(d, dtype) else "invalid dtype object: "
        raise TypeError(f"{what}only floating-point types are supported as the default type")
    _Default.dtype = d


def scalar_dtype(value: Any) -> dtype:
    """PyTorch's type for a Python number."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return _Default.dtype
    return _Default.dtype.to_complex()


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The type of the result of an operation on tensors of the two types, by PyTorch's rules: the smallest that both
    convert to.

    >>> import mpigrad
    >>> mpigrad.promote_types(mpigrad.int64, mpigrad.float16)
    mpigrad.float16
    """
    if type1 is type2:
        return type1
    for place, each in enumerate((type1, type2), start=1):
        if not isinstance(each, dtype):
            raise TypeError(
                f"promote_types(): argument 'type{place}' (position {place}) must be mpigrad.dtype, "
                f"not {type(each).__name__}"
            )
    low, high = sorted((type1, type2), key=lambda each: each.category)
    if low.category < high.category and low.category < 2:
        return high
    if high.is_complex and low.is_floating_point:
        return complex128 if low is float64 else high
    if bfloat16 in (low, high):  # neither of bfloat16 and float16 can represent all values of the other
        return float64 if float64 in (low, high) else float32
    return _BY_NUMPY[np.promote_types(low.numpy, high.numpy)]


def promote(operands: list[tuple[dtype, bool | None]]) -> dtype:
    """The type of the result of an operation on several operands, each given as (dtype, kind).

    `kind` is True for tensors with dimensions, False for zero-dimensional tensors, None for Python numbers. Operands
    of a lower kind (in this order) count only if their type has a higher category (bool, integer, floating point,
    complex) than those of the higher kinds.
    """
    best: list[dtype | None] = [None, None, None]
    for found, kind in operands:
        place = 2 if kind is None else 0 if kind else 1
        held = best[place]
        best[place] = found if held is None else promote_types(held, found)
    result: dtype | None = None
    for each in best:
        if each is None:
            continue
        if result is None:
            result = each
        elif each.category > result.category:
            result = each if not (each.is_complex and result.is_floating_point) else result.to_complex()
    assert result is not None
    return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether values of type `from_` may be written into a tensor of type `to`: not from complex to real, real to
    integer, or integer to bool.

    >>> import mpigrad
    >>> mpigrad.can_cast(mpigrad.int64, mpigrad.float32), mpigrad.can_cast(mpigrad.float32, mpigrad.int64)
    (True, False)
    """
    return from_.category <= to.category


def _finfo(kind: dtype) -> Any:
    if kind is not bfloat16:
        return np.finfo(kind.numpy)
    found = kind.numpy  # raises if ml_dtypes is missing
    from ml_dtypes import finfo as ml_finfo

    return ml_finfo(found)


class finfo:
    """The limits of a floating-point type, as attributes `eps`, `max`, `min`, `tiny`, `resolution` and `bits`.

    >>> import mpigrad
    >>> mpigrad.finfo(mpigrad.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: dtype | None = None) -> None:
        kind = type or _Default.dtype
        if not (kind.is_floating_point or kind.is_complex):
            raise TypeError("mpigrad.finfo() requires a floating point input type. Use mpigrad.iinfo to handle 'mpigrad.finfo'")
        info = _finfo(kind)
        self.bits, self.dtype = kind.to_real().itemsize * 8, kind.to_real().name
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = 10.0**-info.precision

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer type, as attributes `bits`, `max` and `min`.

    >>> import mpigrad
    >>> mpigrad.iinfo(mpigrad.int8).max
    127
    """

    def __init__(self, type: dtype) -> None:
        if type is bool_:
            raise TypeError("mpigrad.bool is not supported by mpigrad.iinfo")
        if type.category > 1:
            raise TypeError("mpigrad.iinfo() requires an integer input type. Use mpigrad.finfo to handle 'mpigrad.iinfo'")
        info = np.iinfo(type.numpy)
        self.bits, self.max, self.min, self.dtype = int(info.bits), int(info.max), int(info.min), type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def text_of(found: np.dtype) -> str:
    """The name of a NumPy dtype in messages and files; `of_text` is the inverse."""
    return found.name if found.kind == "V" and found.name == "bfloat16" else found.str


def of_text(text: str) -> np.dtype:
    """The NumPy dtype for a name from `text_of`."""
    return bfloat16.numpy if text == "bfloat16" else np.dtype(text)
