"""Random numbers: device code and NumPy draw the same ones, which are those of the published generator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpigrad._kernels import philox
from mpigrad._kernels.kernel import launch

pytestmark = pytest.mark.usefixtures("on_host")
checked = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
words64 = st.integers(0, 2**64 - 1)


def device_words(key: int, start: int, blocks: int) -> np.ndarray:
    made = np.empty((blocks, 4), np.uint32)
    launch(np, philox.WORDS, "", -(-blocks // 256), 256, made, blocks, key, start)
    return made.reshape(-1)


def test_known_answers() -> None:
    assert device_words(0, 0, 1).tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # of the authors' test vectors


@checked
@given(words64, words64, st.sampled_from([0, 1, 3, 600]))
def test_words(key: int, start: int, blocks: int) -> None:
    assert (device_words(key, start, blocks) == philox.words(key, start, blocks)).all()


@checked
@given(words64, words64, st.sampled_from(["f2", "f4", "f8"]), st.sampled_from([0, 4, 400]))
def test_uniform(key: int, start: int, kind: str, count: int) -> None:
    source = philox.words(key, start, count // 4)
    made, wanted = (each(source, np.dtype(kind)) for each in (philox.uniform.device, philox.uniform.host))
    assert made.dtype == kind and (made == wanted).all() and (made < 1).all()


@checked
@given(words64, words64, st.sampled_from(["f2", "f4", "f8"]), st.sampled_from([0, 4, 400]))
def test_normal(key: int, start: int, kind: str, count: int) -> None:
    source = philox.words(key, start, count // 4)
    made, wanted = (each(source, np.dtype(kind)) for each in (philox.normal.device, philox.normal.host))
    unit = float(np.finfo(kind).eps)
    assert made.dtype == kind
    np.testing.assert_allclose(made.astype("f8"), wanted.astype("f8"), rtol=8 * unit, atol=16 * unit)


def test_extreme_words() -> None:
    low, high = np.zeros(8, np.uint32), np.full(8, 0xFFFFFFFF, np.uint32)
    for source in (low, high):
        for kind in ("f2", "f4", "f8"):
            assert (philox.uniform.device(source, np.dtype(kind)) == philox.uniform.host(source, np.dtype(kind))).all()
            assert np.isfinite(philox.normal.device(source, np.dtype(kind))).all()
