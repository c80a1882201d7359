"""Pointers of loaded libraries. That one is replaced is tested by exits of forked children and of workers that gave up."""

from __future__ import annotations

import ctypes
import os
import sys

import numpy as np

from mpigrad._process.linkage import _pointers, replace_import

LIBRARY = os.path.realpath(sys.modules["numpy._core._multiarray_umath"].__file__ or "")


def test_pointers_to_a_function_are_found() -> None:
    c = ctypes.CDLL(None)
    pointers = {ctypes.c_void_p.from_address(place).value for place in _pointers(c, LIBRARY, b"malloc")}
    assert pointers == {ctypes.cast(c.malloc, ctypes.c_void_p).value}, "numpy has called it"


def test_what_is_not_there_is_not_replaced() -> None:
    assert not replace_import(LIBRARY, "no_such_function", "sched_yield")
    assert not replace_import("/no/such/library.so", "malloc", "sched_yield")
    assert np.ones(3).sum() == 3
