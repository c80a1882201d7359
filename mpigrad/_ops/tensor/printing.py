"""Text of tensors, as PyTorch prints them, and `set_printoptions`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._array.device import host
from mpigrad._array.dtype import bool_, get_default_dtype, int64
from mpigrad._tensor import Tensor, method


class _Options:
    """The options for printing tensors."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, tuple[int, float, int, int]] = {
    "default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80),
}  # fmt: skip


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set the options for printing tensors.

    - `precision`: digits after the point. `linewidth`: characters in a line. `sci_mode`: scientific notation always
      or never.
    - `threshold`: with more elements, only `edgeitems` at both ends of each dimension are shown.
    - `profile`: "default", "short" or "full" for a set of these.

    >>> import mpigrad
    >>> mpigrad.set_printoptions(precision=2)
    >>> mpigrad.tensor([1.12345])
    tensor([1.12])
    >>> mpigrad.set_printoptions(profile="default")
    """
    if profile in _PROFILES:
        _Options.precision, _Options.threshold, _Options.edgeitems, _Options.linewidth = _PROFILES[profile]
    for name, value in (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("linewidth", linewidth),
    ):
        if value is not None:
            setattr(_Options, name, value)
    _Options.sci_mode = sci_mode


class _Formatter:
    """Formats the elements of one tensor, all with the same width."""

    def __init__(self, values: np.ndarray) -> None:
        self.width, self.style = 1, ""
        self.real = values.dtype.kind == "f"
        if not self.real:
            self.width = max((len(str(each)) for each in values.ravel().tolist()), default=1)
            return
        with np.errstate(all="ignore"):
            counted = values[np.isfinite(values) & (values != 0)].astype(np.float64)
        if counted.size:
            self._choose(counted)

    def _choose(self, counted: np.ndarray) -> None:
        sizes = np.abs(counted)
        low, high = float(sizes.min()), float(sizes.max())
        integers = bool((counted == np.ceil(counted)).all())
        scientific = high / low > 1000.0 or high > 1.0e8 or (not integers and low < 1.0e-4)
        if _Options.sci_mode is not None:
            scientific = _Options.sci_mode
        self.style = f".{_Options.precision}e" if scientific else ".0f" if integers else f".{_Options.precision}f"
        self.point = integers and not scientific
        self.width = max(len(self._text(each)) for each in counted.tolist())

    point = True

    def _text(self, value: float) -> str:
        text = format(value, self.style or ".0f")
        return text + "." if self.point and math.isfinite(value) else text

    def __call__(self, value: Any) -> str:
        return (self._text(value) if self.real else str(value)).rjust(self.width)


class _Complex:
    """Formats complex elements: all real parts with one width, all imaginary parts with another."""

    def __init__(self, values: np.ndarray) -> None:
        self.re, self.im = _Formatter(values.real), _Formatter(values.imag)

    def __call__(self, value: complex) -> str:
        real, imaginary = self.re(value.real), self.im(value.imag).lstrip()
        sign = "" if imaginary.startswith("-") else "+"
        return f"{real}{sign}{imaginary}j"

    @property
    def width(self) -> int:
        return self.re.width + self.im.width + 1


def _shortened(array: np.ndarray) -> np.ndarray:
    """Select the elements that will be printed, if there are too many to print all."""
    edge = _Options.edgeitems
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            kept = np.r_[0:edge, length - edge : length]
            array = array.take(kept, axis=axis)
    return array


def _vector(array: np.ndarray, indent: int, short: bool, form: Any) -> str:
    edge = _Options.edgeitems
    per_line = max(1, math.floor((_Options.linewidth - indent) / (form.width + 2)))
    if short and array.shape[0] > 2 * edge:
        texts = (
            [form(each) for each in array[:edge].tolist()] + [" ..."] + [form(each) for each in array[-edge:].tolist()]
        )
        if edge == 0:
            texts = [" ..."]
    else:
        texts = [form(each) for each in array.tolist()]
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(array: np.ndarray, indent: int, short: bool, form: Any) -> str:
    if array.ndim == 0:
        return form(array.item())
    if array.ndim == 1:
        return _vector(array, indent, short, form)
    edge, length = _Options.edgeitems, array.shape[0]
    if short and length > 2 * edge:
        rows = [_nested(array[i], indent + 1, short, form) for i in range(edge)] + ["..."]
        rows += [_nested(array[i], indent + 1, short, form) for i in range(length - edge, length)]
    else:
        rows = [_nested(array[i], indent + 1, short, form) for i in range(length)]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def elements_text(array: np.ndarray, indent: int) -> str:
    """The elements in brackets, as they appear inside `tensor(...)`."""
    array = array.astype("f4") if array.dtype.kind == "V" else array
    short = array.size > _Options.threshold
    shown = _shortened(array) if short else array
    form = _Complex(shown) if array.dtype.kind == "c" else _Formatter(shown)
    return _nested(array, indent, short, form)


def tensor_text(tensor: Tensor, prefix: str = "tensor(") -> str:
    """The text of a tensor that `repr` returns; `prefix` is its beginning."""
    if tensor.is_sparse:
        return _sparse_text(tensor, prefix)
    array, suffixes = host(tensor._array), _place(tensor)
    default = get_default_dtype()
    usual = tensor.dtype in (default, default.to_complex(), int64, bool_)
    if array.size == 0:
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        usual = tensor.dtype is default
        body = "[]"
    else:
        body = elements_text(array, len(prefix))
    if not usual:
        suffixes.append(f"dtype={tensor.dtype!r}")
    return joined(prefix + body, suffixes + _history(tensor), len(prefix))


def _place(tensor: Tensor) -> list[str]:
    return [f"device='{tensor.device}'"] if tensor.is_cuda else []


def _history(tensor: Tensor) -> list[str]:
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view whose `grad_fn` became invalid by an in-place change
        return ["grad_fn=<Invalid>"]
    if node is not None:
        return [f"grad_fn=<{node.name().rpartition('::')[2]}>"]
    return ["requires_grad=True"] if tensor._requires else []


def joined(text: str, suffixes: list[str], indent: int) -> str:
    """Append the suffixes (dtype, grad_fn ...) to the text, each on the same line if it fits, otherwise on a new one.
    """
    column = len(text) - text.rfind("\n")  # the width of the last line, including its line break
    for suffix in suffixes:
        if column + len(suffix) + 2 > _Options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def _sparse_text(tensor: Tensor, prefix: str) -> str:
    places, values = host(tensor._array.indices), host(tensor._array.values)
    pad = "\n" + " " * len(prefix)
    body = "".join(
        f"{name}={_part_text(part, len(prefix) + len(name) + 1)},{pad}"
        for name, part in (("indices", places), ("values", values))
    )
    default = get_default_dtype()
    usual = tensor.dtype in (default, default.to_complex(), int64, bool_)
    kind = [] if usual else [f"dtype={tensor.dtype!r}"]
    head = [*_place(tensor), f"size={tuple(tensor.shape)}", f"nnz={values.shape[0]}", *kind, "layout=mpigrad.sparse_coo"]
    return prefix + body + joined(head[0], head[1:] + _history(tensor), len(prefix))


def _part_text(array: np.ndarray, indent: int) -> str:
    """The text of a sparse tensor's indices or values, which begin in column `indent`."""
    if not array.size:
        return f"tensor([], size={tuple(array.shape)})"
    return f"tensor({elements_text(array, indent + len('tensor('))})"


def _repr(self: Tensor, *, tensor_contents: Any = None) -> str:
    return tensor_text(self)


def _format(self: Tensor, spec: str) -> str:
    return format(self.item(), spec) if self._array.ndim == 0 else object.__format__(self, spec)


method(_repr, "__repr__")
method(_repr, "__str__")
method(_format, "__format__")

__all__ = ["set_printoptions"]
