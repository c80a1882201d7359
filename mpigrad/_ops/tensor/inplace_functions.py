"""In-place methods that also exist as functions: `mpigrad.relu_(x)` is `x.relu_()`."""

from __future__ import annotations

from mpigrad._tensor import Tensor, method

from .._define.inplace import in_place
from ..elementwise import (
    arithmetic,
    compare,
    multi_operand,
    powers,
)

for _name, _fn in {
    "greater": compare.gt, "greater_equal": compare.ge, "less": compare.lt, "less_equal": compare.le,
    "not_equal": compare.ne, "arctan2": multi_operand.atan2, "float_power": powers.float_power, "negative": arithmetic.neg,
}.items():  # fmt: skip
    method(in_place(_fn), _name + "_")

_NAMES = """
    abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_
    atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_
    fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_
    negative_ rad2deg_ reciprocal_ relu_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_
    trunc_ xlogy_ zero_
""".split()

globals().update({name: getattr(Tensor, name) for name in _NAMES})
__all__ = [*_NAMES]
