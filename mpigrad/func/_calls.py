"""`functional_call`: calls a module with replaced parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._tensor import Tensor


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: dict[str, Any] | None = None
) -> Any:
    """Call `module` with its parameters and buffers replaced, for this call, by tensors.

    - `parameter_and_buffer_dicts`: tensors by name, as in `named_parameters()`; a dictionary, or a tuple of several.
    - `args`: the arguments of the call, a tuple or a single one; `kwargs`: keyword arguments.

    >>> import mpigrad
    >>> layer = mpigrad.nn.Linear(2, 1)
    >>> mpigrad.func.functional_call(layer, {"weight": mpigrad.ones(1, 2), "bias": mpigrad.zeros(1)}, mpigrad.ones(2))
    tensor([2.])
    """
    given: dict[str, Tensor] = {}
    many = isinstance(parameter_and_buffer_dicts, Sequence)
    for each in parameter_and_buffer_dicts if many else (parameter_and_buffer_dicts,):
        given.update(each)
    own = () if args is None else args if isinstance(args, tuple) else (args,)
    with _instead(module, given):
        return module(*own, **(kwargs or {}))


@contextmanager
def _instead(module: Any, given: dict[str, Tensor]) -> Iterator[None]:
    before = []
    try:
        for name, value in given.items():
            path, _, last = name.rpartition(".")
            owner = module.get_submodule(path)
            home = next((each for each in (owner._parameters, owner._buffers) if last in each), None)
            if home is None:
                raise KeyError(f"{name!r} is not a parameter or buffer of {type(module).__name__}")
            before.append((home, last, home[last]))
            home[last] = value
        yield
    finally:
        for home, last, value in reversed(before):
            home[last] = value


__all__ = ["functional_call"]
