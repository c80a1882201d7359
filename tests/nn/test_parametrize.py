"""Parametrizations: weights made of other tensors, set, copied, saved and taken away again."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad import nn
from mpigrad.nn.utils import parametrize
from mpigrad.nn.utils.parametrizations import spectral_norm, weight_norm


class Exp(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.exp()

    def right_inverse(self, y: Any) -> Any:
        return y.log()


def positive() -> nn.Linear:
    layer = nn.Linear(2, 2)
    with mpigrad.no_grad():
        layer.weight.abs_()
    return layer


def test_value_is_kept_and_gradients_reach_the_original() -> None:
    layer = positive()
    before = layer.weight.detach().numpy().copy()
    parametrize.register_parametrization(layer, "weight", Exp())
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-5)
    layer(mpigrad.ones(1, 2)).sum().backward()
    np.testing.assert_allclose(layer.parametrizations.weight.original.grad.numpy(), before, rtol=1e-5)
    layer.weight = mpigrad.full((2, 2), 3.0)
    np.testing.assert_allclose(layer.weight.detach().numpy(), 3.0, rtol=1e-5)


def test_taken_away_from_a_copy_it_stays_with_the_original() -> None:
    layer = positive()
    parametrize.register_parametrization(layer, "weight", Exp())
    twin = copy.deepcopy(layer)
    parametrize.remove_parametrizations(twin, "weight")
    assert type(twin) is nn.Linear and isinstance(twin.weight, nn.Parameter)
    assert parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(twin)
    np.testing.assert_allclose(twin.weight.detach().numpy(), layer.weight.detach().numpy())


def test_pickling_is_refused_with_a_way_out() -> None:
    layer = positive()
    parametrize.register_parametrization(layer, "weight", Exp())
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(layer)


def test_weight_norm_is_trained_by_length_and_direction() -> None:
    layer = weight_norm(nn.Linear(3, 2))
    with mpigrad.no_grad():
        layer.parametrizations.weight.original0.fill_(2.0)
    np.testing.assert_allclose(np.linalg.norm(layer.weight.detach().numpy(), axis=1), 2.0, rtol=1e-5)


def test_spectral_norm_is_one() -> None:
    layer = spectral_norm(nn.Linear(6, 4), n_power_iterations=50)
    assert np.linalg.norm(layer.weight.detach().numpy(), 2) == pytest.approx(1.0, rel=1e-3)
    layer.eval()
    kept = layer.parametrizations.weight[0]._u.numpy().copy()
    layer(mpigrad.ones(1, 6))
    np.testing.assert_array_equal(layer.parametrizations.weight[0]._u.numpy(), kept)
