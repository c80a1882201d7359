"""Tensors around arrays: every slot gets its first value, compiled and in Python."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import mpigrad
from mpigrad._core import wrapping as running
from mpigrad._tensor import Tensor
from tests.support.forms import plain_form

FORMS = pytest.mark.parametrize("form", [running, plain_form("_core.wrapping")], ids=["running", "plain"])
FIRST = {"_counter": None, "_extra": None, "_grad": None, "_grad_fn": None, "_nr": 0, "_requires": False, "_view": None}


@FORMS
def test_all_slots_are_set(form) -> None:
    array = np.ones(2)
    for made, cls in ((form.wrap(array), Tensor), (form.wrap_as(mpigrad.nn.Parameter, array), mpigrad.nn.Parameter)):
        assert type(made) is cls
        assert made._array is array
        assert {name: getattr(made, name) for name in FIRST} == FIRST
    assert set(FIRST) | {"_array", "__dict__", "__weakref__"} == set(Tensor.__slots__)


@FORMS
@pytest.mark.parametrize("cls", [object, int, np.ndarray])
def test_other_classes_are_refused(form, cls) -> None:
    with pytest.raises(TypeError, match="is no class of tensors"):
        form.wrap_as(cls, np.ones(2))


@FORMS
def test_tensors_let_go_of_what_they_hold(form) -> None:
    array = np.ones(2)
    before = sys.getrefcount(array)
    made = form.wrap(array)
    assert sys.getrefcount(array) == before + 1
    del made
    assert sys.getrefcount(array) == before


@FORMS
def test_tensors_take_notes_and_are_found_in_cycles(form) -> None:
    made = form.wrap(np.ones(2))
    made.note = made
    seen = weakref.ref(made)
    del made
    gc.collect()
    assert seen() is None
