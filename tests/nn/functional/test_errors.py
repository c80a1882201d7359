"""Bad input gets PyTorch's error type and words; results carry the names of PyTorch's nodes."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import mpigrad

from .calls import BAD, NAMED


@pytest.mark.parametrize(("call", "kind", "message"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_refuses(call: Any, kind: type[Exception], message: str) -> None:
    with warnings.catch_warnings(), pytest.raises(kind, match="^" + re.escape(message)):
        warnings.simplefilter("ignore")
        call(mpigrad)


@pytest.mark.parametrize(("call", "name"), NAMED, ids=[str(i) for i in range(len(NAMED))])
def test_node_name(call: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert call(mpigrad).grad_fn.name() == name
