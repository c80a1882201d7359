"""`set_num_threads` and `get_num_threads`: the threads of matrix products."""

from __future__ import annotations

import pytest

import mpigrad


def test_set_and_get() -> None:
    before = mpigrad.get_num_threads()
    try:
        mpigrad.set_num_threads(1)
        assert mpigrad.get_num_threads() == 1
    finally:
        mpigrad.set_num_threads(before)
    assert mpigrad.get_num_threads() == before


@pytest.mark.parametrize(("bad", "error"), [(0, RuntimeError), (-1, RuntimeError), ("two", TypeError), (True, TypeError)])
def test_nonsense(bad, error) -> None:
    with pytest.raises(error, match="set_num_threads expects"):
        mpigrad.set_num_threads(bad)
