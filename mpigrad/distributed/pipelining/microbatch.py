"""Cutting a batch into micro-batches, its parts, and joining the outputs of micro-batches."""

from __future__ import annotations

import copy
from typing import Any

from mpigrad._ops.shape.joining import cat
from mpigrad._tensor import Tensor


class TensorChunkSpec:
    """Says along which dimension a schedule cuts an argument into micro-batches.

    >>> from mpigrad.distributed.pipelining.microbatch import TensorChunkSpec
    >>> str(TensorChunkSpec(1))
    'TensorChunkSpec(1)'
    """

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> tuple[TensorChunkSpec, ...]:
        """Return a tuple with the specification of each positional argument, given the dimensions along which they are cut."""
        return tuple(map(TensorChunkSpec, chunk_dims))

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        """Return a dict with the specification of each keyword argument, given the dimensions along which they are cut, by
        name.
        """
        return {name: TensorChunkSpec(dim) for name, dim in chunk_dims.items()}


class _Replicate:
    """A specification that gives each micro-batch the whole argument, even if it is a tensor."""


def split_tensor(tensor: Tensor, dim: int, chunks: int) -> list[Tensor]:
    """Cut a tensor into `chunks` pieces along a dimension; their lengths differ by at most one.

    RuntimeError if it is shorter than `chunks`.
    """
    if tensor.shape[dim] < chunks:
        raise RuntimeError(f"a batch of {tensor.shape[dim]} along dimension {dim} cannot be cut into {chunks} micro-batches")
    return list(tensor.tensor_split(chunks, dim=dim))


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: tuple[Any, ...] | None = None,
    kwargs_chunk_spec: dict[str, Any] | None = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Cut the arguments of a batch into those of its micro-batches.

    Tensors, also those in containers, are cut along their first dimension, or as specified; each micro-batch gets other
    arguments whole. Returns a list of the positional and a list of the keyword arguments of each micro-batch.

    Args:
        args, kwargs: the arguments of the batch.
        chunks: the number of micro-batches.
        args_chunk_spec, kwargs_chunk_spec: a `TensorChunkSpec` for each tensor, in containers like those of the
            arguments.
    """
    kwargs = kwargs or {}
    specs = args_chunk_spec or (None,) * len(args)
    if len(specs) != len(args):
        raise ValueError(f"args_chunk_spec has {len(specs)} entries for {len(args)} arguments")
    columns = [_chunks(each, spec, chunks) for each, spec in zip(args, specs)]
    named = {name: _chunks(each, (kwargs_chunk_spec or {}).get(name), chunks) for name, each in kwargs.items()}
    return (
        [tuple(column[at] for column in columns) for at in range(chunks)],
        [{name: column[at] for name, column in named.items()} for at in range(chunks)],
    )


def _chunks(value: Any, spec: Any, chunks: int) -> list[Any]:
    """Return the pieces of one argument, for each micro-batch; `spec` has the same structure as the argument, or is None."""
    if isinstance(value, dict):
        named = {name: _chunks(each, None if spec is None else spec[name], chunks) for name, each in value.items()}
        return [_like(value, {name: column[at] for name, column in named.items()}) for at in range(chunks)]
    if isinstance(value, (tuple, list)):
        specs = (None,) * len(value) if spec is None else spec
        return [_like(value, items) for items in zip(*map(_chunks, value, specs, [chunks] * len(value)))] or [value] * chunks
    if not isinstance(value, Tensor) or spec is _Replicate or isinstance(spec, _Replicate):
        return [value] * chunks
    return split_tensor(value, 0 if spec is None else spec.split_dim, chunks)


def _like(given: Any, items: Any) -> Any:
    """Return a container of the type of `given` with these items."""
    if isinstance(given, dict):
        made = copy.copy(given)
        made.update(items)
        return made
    return type(given)(*items) if hasattr(given, "_fields") else type(given)(items)


def merge_chunks(chunks: list[Any], chunk_spec: Any = None) -> Any:
    """Join the outputs of micro-batches: tensors along their first dimension, or as specified; scalars become a vector.

    Containers are joined item by item. Of other values, that of the first micro-batch is returned. `chunk_spec` is a
    `TensorChunkSpec` for each tensor, in containers like those of the outputs.
    """
    if isinstance(chunks[0], (tuple, list)):
        specs = chunk_spec or (None,) * len(chunks[0])
        return _like(chunks[0], [merge_chunks(list(column), spec) for column, spec in zip(zip(*chunks), specs)])
    if isinstance(chunks[0], dict):
        named = {name: merge_chunks([each[name] for each in chunks], (chunk_spec or {}).get(name)) for name in chunks[0]}
        return _like(chunks[0], named)
    if not isinstance(chunks[0], Tensor):
        return chunks[0]
    if not chunks[0].ndim:
        return cat([each.reshape(1) for each in chunks])
    return cat(chunks, dim=0 if chunk_spec is None else chunk_spec.split_dim)


__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]
