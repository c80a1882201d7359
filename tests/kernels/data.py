"""Arrays that hypothesis draws for kernels, and how close a kernel must come to its counterpart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

FLOATS = ("f2", "f4", "f8")
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-7, -30000.0)

kinds = st.sampled_from(FLOATS)
lengths = st.one_of(st.integers(0, 6), st.sampled_from([63, 64, 65, 129, 300]))
shapes = st.one_of(st.just(()), st.tuples(lengths), st.tuples(st.integers(0, 4), lengths), st.tuples(*[st.integers(0, 5)] * 3))


@st.composite
def numbers(draw: Any, shape: tuple[int, ...], kind: str, special: bool = True) -> np.ndarray:
    """An array of a shape and type, perhaps with nan and infinities in it, perhaps not contiguous."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    made = rng.standard_normal(shape) * draw(st.sampled_from([1.0, 0.01, 8.0]))
    if special and made.size and draw(st.booleans()):
        made.flat[rng.integers(0, made.size, 2)] = rng.choice(_SPECIAL, 2)
    made = np.asarray(made).astype(kind)
    if made.ndim and draw(st.booleans()):  # the same values, the first dimension innermost in memory
        return np.asfortranarray(made)
    return made


def exact(function: Callable[..., Any], *arrays: Any, **kw: Any) -> Any:
    """A counterpart's result; half precision through single, as kernels compute it."""
    if arrays[0].dtype != np.float16:
        return function(*arrays, **kw)
    wide = [each.astype("f4") if getattr(each, "dtype", None) == np.float16 else each for each in arrays]
    return function(*wide, **kw)


def close(made: Any, wanted: Any, *inputs: Any, loose: float = 1.0) -> None:
    """Equal to a few units in the last place of the type of `made`, at the size of the result or of the largest input."""
    unit = 16 * float(np.finfo(made.dtype).eps) * loose
    with np.errstate(over="ignore"):
        wanted = np.asarray(wanted).astype(made.dtype)
    assert made.shape == wanted.shape, (made.shape, wanted.shape)
    size = max([1.0, *(float(abs(each[np.isfinite(each)].astype("f8")).max(initial=0.0)) for each in inputs)])
    np.testing.assert_allclose(made.astype("f8"), wanted.astype("f8"), rtol=unit, atol=unit * size, equal_nan=True)
