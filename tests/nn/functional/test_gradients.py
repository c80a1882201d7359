"""Numerical derivatives, first and second, of every function in the table of cases."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import mpigrad
from mpigrad.autograd import gradcheck, gradgradcheck

from .cases import ACTIVATIONS, CONVOLUTIONS, LINEAR_ALGEBRA, LOSSES, MATRIX_PRODUCTS, NORMS, POOLS, arrays, tensors

ALL = MATRIX_PRODUCTS + LINEAR_ALGEBRA + CONVOLUTIONS + POOLS + NORMS + ACTIVATIONS + LOSSES


@pytest.mark.parametrize(("call", "inputs"), [pytest.param(call, given, id=title) for title, call, given in ALL])
def test_first_and_second_derivatives(call: Any, inputs: Any) -> None:
    given = tensors(mpigrad, arrays(inputs))

    def run(*tensors: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(mpigrad, *tensors)

    assert gradcheck(run, given)
    assert gradgradcheck(run, given)
