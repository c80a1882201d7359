"""Operators, one folder per family. The forward function of an operator, on arrays, and its derivative are defined in
one place.

Operators are functions of tensors that record graph nodes. Packages with PyTorch's names (`mpigrad.linalg`,
`mpigrad.nn.functional`, ...) combine operators, check arguments, and export them under public names. Functions that
compute on arrays, without tensors and graphs, are in `_kernels`.

Names used throughout: `x`, `y`, `a`, `b` arrays (or tensors in public functions); `xp` the array module, NumPy or
CuPy; `kind` an element type; `place` a device. In derivatives: `F` the namespace in which they run
(`_graph/namespace.py`), `node` the graph node, `node.kw` the operator's keyword arguments, `g` the gradient of the
result.
"""
