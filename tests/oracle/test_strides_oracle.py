"""Tensors arrive with PyTorch's strides: transposes, steps, columns, expanded and overlapping ones, parts of large memory."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mpigrad
from mpigrad._core.rpc.payload import encode_any, encode_flat
from tests.distributed.rpc.wire.test_payload import travel

torch = pytest.importorskip("torch")

VIEWS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda T: T.arange(24.0).reshape(4, 6),
    "transposed": lambda T: T.arange(24.0).reshape(4, 6).T,
    "rows": lambda T: T.arange(24.0).reshape(4, 6)[1:3],
    "steps": lambda T: T.arange(24.0).reshape(4, 6)[::2],
    "steps of columns": lambda T: T.arange(24.0).reshape(4, 6)[:, ::2],
    "column": lambda T: T.arange(24.0).reshape(4, 6)[:, 1],
    "diagonal": lambda T: T.arange(24.0).reshape(4, 6).diagonal(),
    "expanded": lambda T: T.arange(3.0).reshape(3, 1).expand(3, 4),
    "expanded from one": lambda T: T.ones(1).expand(5),
    "overlapping": lambda T: T.arange(24.0).as_strided((3, 3), (1, 1)),
    "permuted": lambda T: T.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
    "flipped": lambda T: T.arange(24.0).reshape(4, 6).flip(0),
    "part of much": lambda T: T.arange(10000.0).reshape(100, 100).T[:3, :2],
    "steps through much": lambda T: T.arange(10000.0).reshape(100, 100)[:, ::3],
    "large and transposed": lambda T: T.arange(40000.0).reshape(200, 200).T,
    "most of a large one": lambda T: T.arange(40000.0).reshape(200, 200)[:, :150],
}


def look(tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), tensor.is_contiguous(), tensor.double().sum().item()


@pytest.fixture(scope="module")
def of_torch() -> Iterator[dict[str, tuple[Any, ...]]]:
    import torch.distributed.rpc as rpc

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{found.getsockname()[1]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's use of itself
        rpc.init_rpc("solo", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method=address))
        arrived = {name: rpc.rpc_sync("solo", look, args=(view(torch),)) for name, view in VIEWS.items()}
        rpc.shutdown()
    yield arrived


@pytest.mark.parametrize("name", VIEWS)
def test_strides_arrive(of_torch: dict[str, tuple[Any, ...]], name: str) -> None:
    sent = VIEWS[name](mpigrad)
    (flat,), _ = travel(encode_flat((sent,)))
    pickled, _ = travel(encode_any(None, 0, [sent]))
    assert look(flat) == look(pickled[0]) == of_torch[name]
    flat.as_strided((1,), (1,)).add_(1)  # memory that can be written
