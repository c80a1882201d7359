"""Distributed autograd: backward passes through calls to other workers, with the API of torch.distributed.autograd.

`context()` records calls, `backward` goes back through them, `get_gradients` returns the gradients. Terms (context, pass,
send function, held gradients, ...) are explained in docs/glossary.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._core.autograd.contexts import Container as DistAutogradContainer
from mpigrad._core.autograd.contexts import DistAutogradContext
from mpigrad._core.autograd.engine import (
    DistEngine,
    _current_context,
    _get_debug_info,
    _get_max_id,
    _has_valid_context,
    _init,
    _new_context,
    _num_unacknowledged_releases,
    _release_context,
    backward,
    context,
    get_gradients,
    grad,
)
from mpigrad._core.autograd.engine import _is_valid_context as _is_valid_context
from mpigrad._core.autograd.engine import _retrieve_context as _retrieve_context
from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from ._draw import draw
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = ["DistAutogradContext", "backward", "context", "draw", "get_gradients", "grad", "is_available"]


def is_available() -> bool:
    """Return True: distributed autograd is always available (in PyTorch it may not be).

    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> dist_autograd.is_available()
    True
    """
    return True
