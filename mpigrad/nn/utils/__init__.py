"""Tools for modules: clipping gradients, parameters as a vector, packed sequences, parametrizations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from . import parametrizations, parametrize, rnn
    from .clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
    from .convert_parameters import parameters_to_vector, vector_to_parameters
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "rnn",
    "vector_to_parameters",
]
