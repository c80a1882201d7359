"""Small arrays as bytes and back: what every message with tensors does for each of them.

`_wire/array_bytes.pyx` is compiled in this module's place: it asks NumPy in C, a quarter of the steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_ndarray = np.ndarray


def layout_key(kind: int, array: Any) -> Any:
    """What arrays of one kind, dtype and shape have in common. It stands for them as long as the dtype is kept with it."""
    return kind, array.dtype, array.shape


def padded_bytes(array: Any, padding: bytes) -> bytes:
    """An array's elements as bytes, and some more."""
    return array.tobytes() + padding


def view_of(buffer: Any, offset: int, shape: tuple[int, ...], dtype: Any, nbytes: int) -> Any:
    """An array in the memory of a buffer, of so many bytes from the offset on; ValueError or TypeError if there are fewer."""
    made = _ndarray(shape, dtype, buffer, offset)
    if made.nbytes != nbytes:
        raise ValueError(f"an array of shape {shape} and dtype {dtype} does not have {nbytes} bytes")
    return made
