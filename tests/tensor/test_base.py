"""Tensors around arrays: every field gets its first value, and Python reads fields as it reads slots."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from types import MemberDescriptorType

import numpy as np
import pytest

import mpigrad
from mpigrad._core.node import AccumulateGrad, Node, RecordedNode
from mpigrad._core.objects import new
from mpigrad._core.tensor import TensorBase, wrap, wrap_as
from mpigrad._tensor import Tensor

FIRST = {"_counter": None, "_extra": None, "_grad": None, "_grad_fn": None, "_nr": 0, "_requires": False, "_view": None}
NUMBERS = {"_sequence"}  # an integer of C: the engine compares it, Python hardly reads it


def test_all_slots_are_set() -> None:
    array = np.ones(2)
    for made, cls in ((wrap(array), Tensor), (wrap_as(mpigrad.nn.Parameter, array), mpigrad.nn.Parameter)):
        assert type(made) is cls
        assert made._array is array
        assert {name: getattr(made, name) for name in FIRST} == FIRST
    assert set(FIRST) | {"_array"} == set(TensorBase.__slots__)


@pytest.mark.parametrize("cls", [object, int, np.ndarray])
def test_other_classes_are_refused(cls) -> None:
    with pytest.raises(TypeError, match="is no class of tensors"):
        wrap_as(cls, np.ones(2))


def test_tensors_let_go_of_what_they_hold() -> None:
    array = np.ones(2)
    before = sys.getrefcount(array)
    made = wrap(array)
    assert sys.getrefcount(array) == before + 1
    del made
    assert sys.getrefcount(array) == before


def test_tensors_take_notes_and_are_found_in_cycles() -> None:
    made = wrap(np.ones(2))
    made.note = made
    seen = weakref.ref(made)
    del made
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("cls", [TensorBase, Node, RecordedNode, AccumulateGrad])
def test_fields_are_members_which_python_reads_as_fast_as_slots(cls) -> None:
    for name in set(cls.__slots__) - NUMBERS - {"__weakref__"}:
        assert type(cls.__dict__[name]) is MemberDescriptorType


@pytest.mark.parametrize("cls", [TensorBase, Node, RecordedNode, AccumulateGrad])
def test_each_field_keeps_its_own_value(cls) -> None:
    made, names = new(cls, cls), sorted(set(cls.__slots__) - {"__weakref__"})
    values = {name: 7 if name in NUMBERS else object() for name in names}
    for name, value in values.items():
        setattr(made, name, value)
    assert {name: getattr(made, name) for name in names} == values


def test_subclasses_add_slots_and_pickle() -> None:
    made = wrap_as(Named, np.ones(2))
    made.title, made.note = "t", 3
    assert (made.title, made.note, made._nr) == ("t", 3, 0)
    found = pickle.loads(pickle.dumps(made))
    assert (type(found), found.note, found.tolist()) == (Named, 3, [1.0, 1.0])


class Named(Tensor):
    __slots__ = ("title",)


def test_a_copy_of_a_node_has_its_fields() -> None:
    node = (mpigrad.ones(2, requires_grad=True) * 2).exp().grad_fn
    made = copy.copy(node)
    assert type(made) is type(node) and made is not node
    assert (made.edges, made.kw, made.saved, made.versions) == (node.edges, node.kw, node.saved, node.versions)


def test_other_classes_have_no_such_fields() -> None:
    with pytest.raises(TypeError, match="is no subclass of"):
        new(Node, Tensor)
