"""mpigrad: distributed autograd for HPC clusters, with PyTorch's API, on MPI and NumPy/CuPy.

Public names, their arguments, defaults and errors are PyTorch's with `torch` spelled `mpigrad`; docstrings say what
differs. Terms of the library (worker, context, pass, ...) are explained in docs/glossary.md.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

# NumPy warns when a result is inf or nan; PyTorch does not, and neither do the operators here.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"mpigrad\.")

from ._compiled import choose as _choose
from ._process.interpreter import refuse_free_threading as _refuse

_refuse()
_choose()

from ._array import host_memory
from ._array.device import device, get_default_device, set_default_device
from ._array.device_pool import OutOfMemoryError
from ._array.dtype import (
    bfloat16,
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
from ._array.dtype import bool_ as bool
from ._array.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    sparse_coo,
    strided,
)
from ._graph.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ._names import EXPORTS as _EXPORTS
from ._process.lazy import submodule as _submodule
from ._tensor import Size, Tensor
from ._version import __version__

float, double, half = float32, float64, float16
long, int, short = int64, int32, int16
cfloat, cdouble = complex64, complex128
inf, nan, pi, e = importlib.import_module("math").inf, importlib.import_module("math").nan, 3.141592653589793, 2.718281828459045
newaxis = None

if TYPE_CHECKING:
    # Loaded on first use, so that `import mpigrad` stays fast; tools/names.py makes the table of names, `_names.py`, from this
    # list. One line per family of operators; each file lists its public functions in `__all__`.
    from ._compile import compile
    from ._generator import Generator, default_generator
    from ._ops.create.create import *
    from ._ops.create.legacy import *
    from ._ops.create.new import *
    from ._ops.create.random import *
    from ._ops.create.random_counts import *
    from ._ops.create.random_inplace import *
    from ._ops.create.ranges import *
    from ._ops.create.windows import *
    from ._ops.elementwise.arithmetic import *
    from ._ops.elementwise.closeness import *
    from ._ops.elementwise.compare import *
    from ._ops.elementwise.complex_numbers import *
    from ._ops.elementwise.functions import *
    from ._ops.elementwise.minmax import *
    from ._ops.elementwise.modular import *
    from ._ops.elementwise.multi_operand import *
    from ._ops.elementwise.powers import *
    from ._ops.elementwise.rounding import *
    from ._ops.elementwise.special_functions import *
    from ._ops.elementwise.where import *
    from ._ops.index.gather import *
    from ._ops.index.getitem import *
    from ._ops.index.index_ops import *
    from ._ops.index.masked import *
    from ._ops.index.rearrange import *
    from ._ops.index.scatter import *
    from ._ops.index.scatter_reduce import *
    from ._ops.index.setitem import *
    from ._ops.linalg.addmm import *
    from ._ops.linalg.contractions import *
    from ._ops.linalg.distances import *
    from ._ops.linalg.einsum import *
    from ._ops.linalg.matmul import *
    from ._ops.nn.activation import *
    from ._ops.nn.softmax import *
    from ._ops.reduce.counting import *
    from ._ops.reduce.histograms import *
    from ._ops.reduce.index_reduce import *
    from ._ops.reduce.minmax import *
    from ._ops.reduce.moments import *
    from ._ops.reduce.norms import *
    from ._ops.reduce.products import *
    from ._ops.reduce.quantiles import *
    from ._ops.reduce.scans import *
    from ._ops.reduce.sorting import *
    from ._ops.reduce.statistics import *
    from ._ops.reduce.sums import *
    from ._ops.shape.broadcasting import *
    from ._ops.shape.joining import *
    from ._ops.shape.reshape import *
    from ._ops.shape.slicing import *
    from ._ops.shape.strided import *
    from ._ops.shape.transpose import *
    from ._ops.shape.triangles import *
    from ._ops.shape.view_copies import *
    from ._ops.sparse.arithmetic import *
    from ._ops.sparse.embedding import *
    from ._ops.sparse.forms import *
    from ._ops.sparse.resizing import *
    from ._ops.sparse.selecting import *
    from ._ops.sparse.unary import *
    from ._ops.tensor.convert import *
    from ._ops.tensor.fill import *
    from ._ops.tensor.inplace_functions import *
    from ._ops.tensor.pickling import *
    from ._ops.tensor.printing import *
    from ._ops.tensor.query import *
    from ._ops.tensor.serialize import *
    from ._ops.tensor.sharing import *
    from ._ops.tensor.storage import *
    from ._ops.tensor.ufuncs import *
    from ._process.blas_threads import get_num_threads, set_num_threads
    from ._settings import *
    from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
    from .linalg._toplevel import *
    from .random import fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

_LAZY = {
    "_jit_internal", "accelerator", "autograd", "backends", "classes", "cuda", "distributed", "distributions", "fft", "func",
    "futures", "jit", "linalg", "multiprocessing", "nn", "ops", "optim", "profiler", "random", "return_types", "serialization",
    "sparse", "special", "testing", "utils", "version",
}
# Functions of nn.functional that PyTorch also has at its top level, with the same arguments.
_FUNCTIONAL = {
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "alpha_dropout", "avg_pool1d", "bilinear", "celu_", "channel_shuffle",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "ctc_loss", "dropout",
    "feature_alpha_dropout", "group_norm", "hardshrink", "layer_norm", "max_pool1d", "max_pool2d", "max_pool3d",
    "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "rms_norm", "rrelu", "rrelu_", "selu_", "threshold", "threshold_",
}


_NOT_OURS = {"Any", "TYPE_CHECKING", "annotations", "host_memory", "importlib", "warnings"}
_LOADED = {name for name in globals() if name[0] != "_" and name.isidentifier()} - _NOT_OURS  # pytest adds others
_MODULES = {name: module for module, names in _EXPORTS["mpigrad"].items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted({*_LOADED, *_MODULES, *_FUNCTIONAL, "autograd", "linalg", "random", "return_types", "vmap"})
    if name in _MODULES:
        found = getattr(importlib.import_module(f"mpigrad.{_MODULES[name]}"), name)
    elif name in _FUNCTIONAL:
        found = getattr(importlib.import_module("mpigrad.nn.functional"), name)
    elif name == "vmap":
        found = importlib.import_module("mpigrad.func").vmap
    else:
        return _submodule("mpigrad", name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_FUNCTIONAL, *_LAZY, "vmap"} - _NOT_OURS)
