"""Named tuples that `max(dim=...)`, `sort`, `var_mean` and others return."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

_results: dict[str, Any] = {}  # all classes of this file, by their names


def _repr(self: Any) -> str:
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
    return f"mpigrad.return_types.{type(self).__name__}(\n{parts})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return _named, (type(self).__name__, tuple(self))


def _named(name: str, values: tuple[Any, ...]) -> Any:
    return _results[name](*values)


def _result(name: str, *fields: str) -> Any:
    """A named tuple that is printed as in PyTorch."""
    base = namedtuple(name, fields)  # type: ignore[misc]
    body = {"__slots__": (), "__repr__": _repr, "__reduce__": _reduce, "__module__": __name__}
    function = name.replace("linalg_", "linalg.")
    made = type(name, (base,), {**body, "__doc__": f"The named tuple that `mpigrad.{function}` returns: {', '.join(fields)}."})
    return _results.setdefault(name, made)


_WITH_INDICES = ("cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk")
for _name in _WITH_INDICES:
    globals()[_name] = _result(_name, "values", "indices")
aminmax = _result("aminmax", "min", "max")
frexp = _result("frexp", "mantissa", "exponent")
histogram = _result("histogram", "hist", "bin_edges")

linalg_cholesky_ex = _result("linalg_cholesky_ex", "L", "info")
linalg_eig = _result("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _result("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _result("linalg_inv_ex", "inverse", "info")
linalg_lstsq = _result("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = _result("linalg_lu", "P", "L", "U")
linalg_lu_factor = _result("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _result("linalg_lu_factor_ex", "LU", "pivots", "info")
lu_unpack = _result("lu_unpack", "P", "L", "U")
linalg_qr = _result("linalg_qr", "Q", "R")
linalg_slogdet = _result("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _result("linalg_solve_ex", "result", "info")
linalg_svd = _result("linalg_svd", "U", "S", "Vh")
qr = _result("qr", "Q", "R")
svd = _result("svd", "U", "S", "V")

_FACTORS = (
    "linalg_cholesky_ex",
    "linalg_eig",
    "linalg_eigh",
    "linalg_inv_ex",
    "linalg_lstsq",
    "linalg_qr",
    "linalg_slogdet",
    "linalg_solve_ex",
    "linalg_svd",
    "qr",
    "svd",
)
__all__ = [*_FACTORS, *_WITH_INDICES, "aminmax"]
