"""The errors and node names that the tests of nn.functional expect are PyTorch's own."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.nn.functional.calls import BAD, NAMED

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("call", "kind", "message"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_refuses_as_pytorch(call: Any, kind: type[Exception], message: str) -> None:
    with warnings.catch_warnings(), pytest.raises(Exception) as caught:
        warnings.simplefilter("ignore")
        call(torch)
    assert type(caught.value).__name__.lstrip("_") == kind.__name__
    assert str(caught.value).split("\n")[0].replace("torch.", "mpigrad.") == message


@pytest.mark.parametrize(("call", "name"), NAMED, ids=[str(i) for i in range(len(NAMED))])
def test_node_name_as_in_pytorch(call: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert call(torch).grad_fn.name() == name
