"""Arrays as bytes and back: NumPy's own results, compiled and in Python, and no view reaches outside its buffer."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mpigrad._core.rpc import frames as running
from mpigrad._core.rpc import payload as _arrays
from tests.support.forms import plain_form

PLAIN = plain_form("_core.rpc.frames")
FORMS = pytest.mark.parametrize("form", [running, PLAIN], ids=["running", "plain"])
pytestmark = pytest.mark.host

dtypes = st.sampled_from(["?", "i1", "<i2", ">i4", "u8", "f2", "f4", ">f8", "c8", "c16", "S3", "U2", "m8[s]", "M8[ns]"])
some = arrays.arrays(dtypes, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))


@given(some, st.sampled_from(["C", "F", "strided"]), st.binary(max_size=15))
def test_bytes_of_arrays(array, order, padding) -> None:
    array = np.asarray(array, order="F") if order == "F" else array[..., ::2] if order == "strided" and array.ndim else array
    assert running.padded_bytes(array, padding) == array.tobytes() + padding == PLAIN.padded_bytes(array, padding)


@given(some, st.integers(0, 40))
def test_views_of_buffers(array, offset) -> None:
    buffer = bytearray(offset) + bytearray(array.tobytes()) + b"more"
    for form in (running, PLAIN):
        made = form.view_of(buffer, offset, array.shape, array.dtype, array.nbytes)
        expected = np.ndarray(array.shape, array.dtype, buffer, offset)
        assert made.tobytes() == array.tobytes()
        assert (made.shape, made.dtype, made.strides) == (expected.shape, expected.dtype, expected.strides)
        assert str(made.flags) == str(expected.flags)
        assert made.base is buffer is expected.base


@FORMS
def test_views_share_and_keep_their_memory(form) -> None:
    buffer = bytearray(16)
    made = form.view_of(buffer, 8, (2,), np.dtype("f4"), 8)
    made[:] = 1, 2
    assert bytes(buffer) == bytes(8) + np.array([1, 2], "f4").tobytes()
    del buffer
    gc.collect()
    assert made.tolist() == [1, 2]


@FORMS
def test_other_buffers_than_frames(form) -> None:
    block = np.arange(8, dtype=np.uint8)
    assert form.view_of(block, 4, (2, 2), np.dtype("u1"), 4).tolist() == [[4, 5], [6, 7]]


@FORMS
@pytest.mark.parametrize(
    "offset, shape, kind, nbytes",
    [(9, (2,), "f4", 8), (0, (5,), "f4", 20), (17, (), "f4", 4), (0, (1 << 40, 1 << 20), "u1", 1 << 60)],
)
def test_views_that_cannot_be(form, offset, shape, kind, nbytes) -> None:
    with pytest.raises((TypeError, ValueError)):
        form.view_of(bytearray(16), offset, shape, np.dtype(kind), nbytes)


@FORMS
def test_views_of_many_dimensions(form) -> None:
    shape = (1,) * 12 + (3,)
    assert form.view_of(bytearray(b"abc"), 0, shape, np.dtype("u1"), 3).ravel().tolist() == [97, 98, 99]
    assert form.layout_key(2, np.zeros(shape)) == form.layout_key(2, np.ones(shape))


@FORMS
@given(st.integers(0, 9), st.integers(0, 9), some, some)
def test_keys_are_equal_for_equal_layouts_alone(form, one_kind, other_kind, one, other) -> None:
    alike = (one_kind, one.dtype.str, one.shape) == (other_kind, other.dtype.str, other.shape)
    if not alike:
        assert form.layout_key(one_kind, one) != form.layout_key(other_kind, other)
    assert form.layout_key(one_kind, one) == form.layout_key(one_kind, one.copy())


@FORMS
def test_shapes_and_sizes_that_disagree(form) -> None:
    with pytest.raises((TypeError, ValueError)):
        form.view_of(bytearray(16), 0, (100,), np.dtype("f4"), 16)
    with pytest.raises(ValueError, match=r"shape \(2,\) and dtype float32 does not have 4 bytes"):
        form.view_of(bytearray(16), 0, (2,), np.dtype("f4"), 4)


@FORMS
@pytest.mark.parametrize("kind", [">f4", "U3", "M8[D]"])
def test_equal_dtypes_that_are_different_objects_have_one_key(form, kind) -> None:
    one, other = np.zeros(3, np.dtype(kind)), np.zeros(3, np.dtype(kind))
    assert one.dtype is not other.dtype
    assert form.layout_key(2, one) == form.layout_key(2, other)


def test_what_is_remembered_of_a_layout_keeps_its_dtype() -> None:
    array = np.zeros(3, np.dtype("M8[37s]"))  # a dtype of its own
    _arrays.put(_arrays.ARRAY, array, [], [], [])
    assert _arrays.texts[running.layout_key(_arrays.ARRAY, array)][2] is array.dtype
