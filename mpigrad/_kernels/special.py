"""The error function, its inverse, and the gamma family on arrays: NumPy has none of them.

The polynomials were fitted for this file: erf(x)/x on |x| < 1 in powers of 2 x^2 - 1, and, for larger |x|,
exp(x^2) erfc(x) (x + 3) in powers of (4 t - 1) / 3 with t = (x - 3) / (x + 3); in single precision a quotient of two
polynomials of x^2. Errors are a few units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.device import array_module
from .select import choose

_SMALL = (
    -3.0316490059097606e-13, 8.711253940418828e-12, -2.0370786539084893e-10, 4.116895269135057e-09,
    -7.511554045436242e-08, 1.2233818725467434e-06, -1.7537169491118238e-05, 0.00021751715630761537,
    -0.0022854855611386484, 0.01985249668895692, -0.14053608902271736, 0.9654687386698677,
)  # fmt: skip
_SMALL_32 = (
    1.2306054811363408e-06, -1.7669068025709983e-05, 0.00021751354165225732, -0.00228541954487338,
    0.019852497140908802, -0.14053609727754257, 0.9654687386698673,
)  # fmt: skip
_LARGE = (
    2.9601659135598884e-10, 1.2727181647757167e-09, -3.4723550350846443e-09, -1.677304489452294e-08,
    3.585441127621666e-08, 1.5087127430409676e-07, -4.4451010245737916e-07, -1.1143089617342796e-06,
    6.227305180429636e-06, 2.219651501477708e-06, -8.28536648991997e-05, 0.00020565994367416357,
    0.0005111598778885638, -0.00599210145840245, 0.027317987192225685, -0.08762571665214756, 0.2238727333425801,
    -0.47966144308434827, 0.8856371018645488,
)  # fmt: skip
_LARGE_32 = (
    -7.020500671004446e-05, 0.0002074612181056999, 0.0005019809126795033, -0.005992756651141748,
    0.027320501043682305, -0.0876256143166537, 0.22387254579064056, -0.4796614485815054, 0.8856371018645486,
)  # fmt: skip
_ABOVE = (
    1.986488882275891e-06, 0.00028435637752564035, 0.0038779858143199422, 0.0530848409767889, 0.1934328359523644,
    1.1283791407880275,
)  # fmt: skip
_BELOW = (
    3.7406120181429106e-05, 0.0011841065353985873, 0.015196564421220615, 0.11530175058231575, 0.5047579741380401, 1.0,
)  # fmt: skip
_CHUNK = 1 << 14  # elements at a time: what a polynomial needs stays in the cache


def _polynomial(s: Any, coefficients: tuple[float, ...]) -> Any:
    made = s * coefficients[0]
    made += coefficients[1]
    for each in coefficients[2:]:
        made *= s
        made += each
    return made


def _by_parts(kernel: Callable[[Any], Any], x: Any) -> Any:
    """Apply a kernel of flat arrays to an array of any shape; half precision is computed in single precision."""
    if x.dtype.itemsize == 2:
        return _by_parts(kernel, x.astype("f4")).astype(x.dtype)
    flat = x.reshape(-1)
    if flat.size <= _CHUNK or not isinstance(x, np.ndarray):
        return kernel(flat).reshape(x.shape)
    made = np.empty_like(flat)
    for begin in range(0, flat.size, _CHUNK):
        made[begin : begin + _CHUNK] = kernel(flat[begin : begin + _CHUNK])
    return made.reshape(x.shape)


def _erf_near(x: Any) -> Any:
    """erf for |x| < 1; the result for other elements is not defined."""
    return x * _polynomial(2 * x * x - 1, _SMALL_32 if x.dtype.itemsize == 4 else _SMALL)


def _erfc_far(x: Any) -> Any:
    """erfc for x >= 1; the result for other elements is not defined."""
    if x.dtype.itemsize == 4:
        head = (x.view("u4") & np.uint32(0xFFFFF000)).view("f4") if isinstance(x, np.ndarray) else x
        table: tuple[float, ...] = _LARGE_32
    else:
        head, table = x.astype("f4").astype("f8"), _LARGE
    low = np.exp(-head * head) * np.exp((head - x) * (head + x))  # x^2 itself would lose digits
    shifted = x + 3
    return low * _polynomial((4 * ((x - 3) / shifted) - 1) / 3, table) / shifted


def _erf_single(x: Any) -> Any:
    """erf in single precision, where one quotient of polynomials of x^2 serves all |x| < 4."""
    xp = array_module(x)
    near = xp.clip(x, -4, 4)
    squared = near * near
    near *= _polynomial(squared, _ABOVE)
    near /= _polynomial(squared, _BELOW)
    return xp.clip(near, -1, 1, out=near)


def _erf(x: Any) -> Any:
    if x.dtype.itemsize == 4:
        return _erf_single(x)
    xp = array_module(x)
    size = np.abs(x)
    far = xp.minimum(size, 6)  # beyond, erf is 1 to the last digit
    return choose(size < 1, _erf_near(xp.clip(x, -1, 1)), xp.copysign(1 - _erfc_far(far), x), xp)


def _erfc(x: Any) -> Any:
    xp = array_module(x)
    size = xp.clip(np.abs(x), 1, 28)
    far = _erfc_far(xp.ascontiguousarray(size))
    return choose(np.abs(x) < 1, 1 - _erf_near(xp.clip(x, -1, 1)), choose(x > 0, far, 2 - far, xp), xp)


def erf(x: Any) -> Any:
    """The error function."""
    return _by_parts(_erf, x)


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate also where it is tiny."""
    return _by_parts(_erfc, x)


def _erfinv(y: Any) -> Any:
    """The inverse of erf: an approximation to three digits, refined by Halley's method on erf or erfc, whichever is more
    accurate.
    """
    xp = array_module(y)
    work = y.astype("f8")
    size = np.abs(work)
    rest = 1 - size
    log = np.log(xp.maximum(rest * (1 + size), 1e-300))
    mean = 2 / (math.pi * 0.147) + log / 2
    x = np.sqrt(np.sqrt(mean * mean - log / 0.147) - mean)
    for _ in range(3):
        error = xp.where(size < 0.5, _erf(x) - size, rest - _erfc(x))
        step = error * (math.sqrt(math.pi) / 2) * np.exp(x * x)
        x = x - step / (1 + x * step)
    x = xp.where(size == 1, xp.inf, xp.where(size > 1, xp.nan, x))
    return xp.copysign(xp.where(size == 0, 0, x), work).astype(y.dtype)


def erfinv(y: Any) -> Any:
    """The inverse of the error function."""
    return _by_parts(_erfinv, y)


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _lgamma(x: Any) -> Any:
    xp = array_module(x)
    given = x.astype("f8")
    z = xp.where(given < 0.5, 1 - given, given)
    product = xp.ones_like(z)
    for _ in range(9):  # carry small arguments to where Stirling's series is exact
        small = z < 9
        product = xp.where(small, product * z, product)
        z = xp.where(small, z + 1, z)
    inverse = 1 / z
    series = _polynomial(inverse * inverse, _STIRLING[::-1]) * inverse
    made = (z - 0.5) * np.log(z) - z + 0.5 * math.log(2 * math.pi) + series - np.log(product)
    reflected = math.log(math.pi) - np.log(np.abs(np.sin(math.pi * (given - np.floor(given))))) - made
    made = xp.where(given < 0.5, reflected, xp.where((given == 1) | (given == 2), 0, made))
    return xp.where(xp.isinf(given), xp.inf, made).astype(x.dtype)


def lgamma(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function."""
    return _by_parts(_lgamma, x)


def _digamma(x: Any) -> Any:
    xp = array_module(x)
    given = x.astype("f8")
    z = xp.where(given < 0, 1 - given, given)
    total = xp.zeros_like(z)
    for _ in range(10):
        small = z < 10
        total = xp.where(small, total - 1 / z, total)
        z = xp.where(small, z + 1, z)
    inverse = 1 / (z * z)
    terms = tuple(b / (2 * k) for k, b in enumerate(_BERNOULLI, start=1))
    made = total + np.log(z) - 0.5 / z - _polynomial(inverse, terms[::-1]) * inverse
    fraction = given - np.round(given)
    made = xp.where(given < 0, made - math.pi / np.tan(math.pi * fraction), made)
    made = xp.where((given < 0) & (fraction == 0), xp.nan, made)
    made = xp.where(given == 0, -xp.copysign(xp.inf, given), made)
    return xp.where(given == xp.inf, xp.inf, made).astype(x.dtype)


def digamma(x: Any) -> Any:
    """The derivative of the logarithm of the gamma function."""
    return _by_parts(_digamma, x)


def polygamma(n: int, x: Any) -> Any:
    """The `n`-th derivative of digamma, by Euler and Maclaurin's formula for the sum of its poles."""
    if n == 0:
        return digamma(x)
    if x.dtype.itemsize == 2:
        return polygamma(n, x.astype("f4")).astype(x.dtype)
    z, s = x.astype("f8"), n + 1
    lowest = float(z.min()) if z.size else 12.0
    steps = int(min(max(0.0, math.ceil(12.0 - lowest)), 10000.0)) if math.isfinite(lowest) else 12
    total = np.zeros_like(z)
    for _ in range(steps):
        total = total + z ** (-float(s))
        z = z + 1
    total = total + z ** (1.0 - s) / (s - 1) + 0.5 * z ** (-float(s))
    factor, power = float(s), z ** (-1.0 - s)
    for k, b in enumerate(_BERNOULLI, start=1):
        total = total + b / math.factorial(2 * k) * factor * power
        factor *= (s + 2 * k - 1) * (s + 2 * k)
        power = power / (z * z)
    return ((-1) ** (n + 1) * math.factorial(n) * total).astype(x.dtype)
