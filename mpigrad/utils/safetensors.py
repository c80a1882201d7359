"""Files in the safetensors format, which many libraries read and write; an addition to PyTorch.

The functions have the names and arguments of those in `safetensors.torch`. `mpigrad.load` reads these files, too.
"""

from __future__ import annotations

from .._ops.tensor.safetensors import SafetensorError, load, load_file, save, save_file

__all__ = ["SafetensorError", "load", "load_file", "save", "save_file"]
