"""mpigrad: distributed autograd for HPC clusters, with PyTorch's API, on MPI and NumPy/CuPy."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

# PyTorch gives inf and nan without a word; NumPy warns. The operators here are PyTorch's.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"mpigrad\.")

from ._compiled import choose as _choose

_choose()

from . import _memory
from ._device import device, get_default_device, set_default_device
from ._dtype import bool_ as bool
from ._dtype import (
    can_cast,
    complex64,
    complex128,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._generator import Generator, default_generator
from ._graph.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ._layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    sparse_coo,
    strided,
)
from ._pool import OutOfMemoryError
from ._settings import *
from ._tensor import Size, Tensor
from ._threads import get_num_threads, set_num_threads

float, double, half = float32, float64, float16
long, int, short = int64, int32, int16
cfloat, cdouble = complex64, complex128
inf, nan, pi, e = importlib.import_module("math").inf, importlib.import_module("math").nan, 3.141592653589793, 2.718281828459045
newaxis = None

# One line per family of operators; each file lists its public functions in __all__.
from . import autograd
from ._ops.activation import *
from ._ops.addmm import *
from ._ops.arithmetic import *
from ._ops.assigning import *
from ._ops.broadcasting import *
from ._ops.closeness import *
from ._ops.compare import *
from ._ops.complexes import *
from ._ops.contractions import *
from ._ops.convert import *
from ._ops.copies import *
from ._ops.copying import *
from ._ops.counting import *
from ._ops.counts_drawn import *
from ._ops.create import *
from ._ops.distances import *
from ._ops.einsum import *
from ._ops.elementwise import *
from ._ops.estimates import *
from ._ops.extrema import *
from ._ops.extremes import *
from ._ops.filling import *
from ._ops.gathering import *
from ._ops.histograms import *
from ._ops.index_ops import *
from ._ops.indexing import *
from ._ops.inplace_functions import *
from ._ops.joining import *
from ._ops.legacy import *
from ._ops.masked import *
from ._ops.masking import *
from ._ops.matmul import *
from ._ops.mixing import *
from ._ops.modular import *
from ._ops.moments import *
from ._ops.new import *
from ._ops.powers import *
from ._ops.printing import *
from ._ops.products import *
from ._ops.quantiles import *
from ._ops.query import *
from ._ops.random import *
from ._ops.random_inplace import *
from ._ops.ranges import *
from ._ops.rearranging import *
from ._ops.reduce import *
from ._ops.rounding import *
from ._ops.rows_reduced import *
from ._ops.scans import *
from ._ops.scatter_reduce import *
from ._ops.serialize import *
from ._ops.shape import *
from ._ops.slicing import *
from ._ops.softmaxes import *
from ._ops.sorting import *
from ._ops.sparse_arithmetic import *
from ._ops.sparse_embedding import *
from ._ops.sparse_forms import *
from ._ops.sparse_resizing import *
from ._ops.sparse_selecting import *
from ._ops.sparse_unary import *
from ._ops.special_functions import *
from ._ops.storage import *
from ._ops.strided import *
from ._ops.sums import *
from ._ops.transposing import *
from ._ops.triangles import *
from ._ops.ufuncs import *
from ._ops.windows import *
from ._version import __version__
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from .linalg._toplevel import *
from .random import fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

# Loaded when first used, so that `import mpigrad` stays quick.
_LAZY = {
    "backends", "cuda", "distributed", "distributions", "fft", "func", "futures", "jit", "linalg", "multiprocessing", "nn",
    "optim", "profiler", "random", "serialization", "sparse", "special", "testing", "utils", "version",
}
# Functions of nn.functional that PyTorch also has at its top level, with the same arguments.
_FUNCTIONAL = {
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "alpha_dropout", "avg_pool1d", "bilinear", "celu_", "channel_shuffle",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "ctc_loss", "dropout",
    "feature_alpha_dropout", "group_norm", "hardshrink", "layer_norm", "max_pool1d", "max_pool2d", "max_pool3d",
    "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "rms_norm", "rrelu", "rrelu_", "selu_", "threshold", "threshold_",
}


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONAL:
        return getattr(importlib.import_module("mpigrad.nn").functional, name)
    if name == "vmap":
        return importlib.import_module("mpigrad.func").vmap
    if name in _LAZY:
        return importlib.import_module(f"mpigrad.{name}")
    raise AttributeError(f"module 'mpigrad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FUNCTIONAL, *_LAZY, "vmap"})
