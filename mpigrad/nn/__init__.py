"""Neural networks: modules, their parameters and functions."""

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from . import functional, init, modules, parallel, parameter, utils
    from .modules import *
    from .modules import __all__ as _names  # type: ignore[attr-defined]
    from .parallel import SyncBatchNorm
    from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

    __all__ = [
        *_names, "Buffer", "Parameter", "SyncBatchNorm", "UninitializedBuffer", "UninitializedParameter", "functional", "init",
        "modules", "parallel", "parameter", "utils",
    ]  # fmt: skip
else:
    __getattr__, __dir__ = lazily(__name__)
