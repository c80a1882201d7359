"""`vmap`: turns a function of single examples into one of batches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._generator import on_every_device
from .._ops.elementwise.closeness import equal
from .._ops.shape.joining import stack
from .._tensor import Tensor
from ._trees import flatten, rebuilt, spread


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function that applies `func` to each slice of its arguments, and stacks the results.

    - `in_dims`: the dimension along which each argument is sliced, one for all or a tuple; None: passed on whole.
    - `out_dims`: the dimension along which results are stacked.
    - `randomness`: "error" (default) forbids random numbers in `func`; "different" and "same": for each slice.

    The slices are computed one after the other, so it is not faster than a loop, and `chunk_size` has no effect.

    >>> import mpigrad
    >>> mpigrad.vmap(lambda row: row.sum())(mpigrad.ones(2, 3))
    tensor([3., 3.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return _Batch(func, in_dims, out_dims, randomness)(args, kwargs)

    return wrapped


class _Batch:
    """One call of a function that `vmap` returned."""

    def __init__(self, func: Callable[..., Any], in_dims: Any, out_dims: Any, randomness: str) -> None:
        self.func, self.in_dims, self.out_dims, self.randomness = func, in_dims, out_dims, randomness
        self.name = getattr(func, "__name__", repr(func))

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not isinstance(self.in_dims, (int, tuple, list)):
            raise self._wrong(
                "expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
                f"{type(self.in_dims)}."
            )
        if not args and not kwargs:
            raise ValueError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
                "over a function with no inputs. The latter is unsupported."
            )
        leaves, rebuild = flatten((args, kwargs))
        dims = spread(self.in_dims, args, self._misfit) + [0] * len(flatten(kwargs)[0])
        count = self._count(leaves, dims)
        results = []
        for i in range(count):
            part = [each if dim is None else each.select(dim, i) for each, dim in zip(leaves, dims)]
            own, named = rebuilt(rebuild, part)
            results.append(self._run(own, named))
        return self._stacked(results)

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"vmap({self.name}, in_dims={self.in_dims}, ...)(<inputs>): {what}")

    def _misfit(self) -> Exception:
        return self._wrong("in_dims is not compatible with the structure of `inputs`.")

    def _count(self, leaves: list[Any], dims: list[Any]) -> int:
        sizes = []
        for each, dim in zip(leaves, dims):
            if dim is None:
                continue
            if not isinstance(each, Tensor):
                raise self._wrong(
                    f"Got in_dim={dim} for an input but the input is of type {type(each)}. We cannot vmap over "
                    "non-Tensor arguments, please use None as the respective in_dim"
                )
            if not -each.ndim <= dim < each.ndim:
                raise self._wrong(
                    f"Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {each.ndim} so "
                    f"expected in_dim to satisfy -{each.ndim} <= in_dim < {each.ndim}."
                )
            sizes.append(each.shape[dim])
        if not sizes:
            raise self._wrong("at least one input must be mapped over: all in_dims are None")
        if len(set(sizes)) > 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sizes} for the mapped dimension"
            )
        if not sizes[0]:
            raise ValueError(f"vmap({self.name}): a batch of no examples has no results to stack")
        return sizes[0]

    def _run(self, args: Any, kwargs: Any) -> Any:
        if self.randomness == "different":
            return self.func(*args, **kwargs)
        before = {each: each.get_state() for each in on_every_device()}
        made = self.func(*args, **kwargs)
        for each in on_every_device():
            state = before[each] if each in before else each._first_state()  # a GPU's generator is created on first use
            if self.randomness == "same":
                each.set_state(state)
            elif not equal(each.get_state(), state):
                raise RuntimeError(
                    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
                )
        return made

    def _stacked(self, results: list[Any]) -> Any:
        every = [flatten(each)[0] for each in results]
        rebuild = flatten(results[0])[1]
        dims = spread(self.out_dims, results[0], self._misfit_out)
        made = []
        for place, dim in enumerate(dims):
            column = [each[place] for each in every]
            if dim is None:
                if not all(_same(each, column[0]) for each in column):
                    raise ValueError(
                        f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when out_dim is None"
                    )
                made.append(column[0])
                continue
            for each in column:
                if not isinstance(each, Tensor):
                    raise ValueError(
                        f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type {type(each)}. Did you "
                        "mean to set out_dims= to None for output?"
                    )
            made.append(stack(column, dim))
        return rebuilt(rebuild, made)

    def _misfit_out(self) -> Exception:
        return ValueError(
            f"vmap({self.name}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not compatible with the structure "
            "of `outputs`."
        )


def _same(a: Any, b: Any) -> bool:
    return a is b or not isinstance(a, Tensor) and not isinstance(b, Tensor) and bool(a == b)


__all__ = ["vmap"]
