"""Names of operators as profilers show them: some operators here have several rows where PyTorch has one name."""

from __future__ import annotations

import re
from functools import cache

_SAME = {
    "as_shape": "view",
    "cast_from": "_to_copy",
    "clamp_numbers": "clamp",
    "clone_contiguous": "clone",
    "copied": "clone",
    "cross_product": "linalg_cross",
    "determinant": "linalg_det",
    "div_floor": "div",
    "div_trunc": "div",
    "embedding_bag_max": "embedding_bag",
    "embedding_rows": "embedding",
    "embedding_take": "embedding",
    "fill_number_into": "fill_",
    "gelu_tanh": "gelu",
    "insert_dim": "unsqueeze",
    "insert_dim_": "unsqueeze_",
    "least_squares": "linalg_lstsq",
    "matvec_nd": "mv",
    "move": "_to_copy",
    "mt": "mm",
    "part": "slice",
    "pick": "select",
    "remainder_of_number": "remainder",
    "reshape_alias": "reshape",
    "reshape_copied": "reshape",
    "retype": "_to_copy",
    "round_decimals": "round",
    "rpow": "pow",
    "scatter_value": "scatter",
    "solve_matrix": "linalg_solve",
    "solve_triangle": "linalg_solve_triangular",
    "solve_vector": "linalg_solve",
    "sort_stable": "sort",
    "swap_dims": "transpose",
    "swap_dims_": "transpose_",
    "take_all": "index",
    "take_key": "index",
    "take_new": "index",
    "take_slice": "slice",
    "to_sparse_dim": "to_sparse",
    "trace_of": "trace",
    "vecmat_nd": "matmul",
    "vector_norm": "linalg_vector_norm",
    "vm": "mm",
    "xlogy_by": "xlogy",
    "xlogy_of": "xlogy",
}
_VARIANT = re.compile(r"_(all|dim|dims|number|tensor|nd|forward)$")


@cache
def shown(name: str) -> str:
    """PyTorch's name of an operator.

    >>> shown("aten::sum_all"), shown("aten::mul"), shown("aten::swap_dims")
    ('aten::sum', 'aten::mul', 'aten::transpose')
    """
    bare = name.removeprefix("aten::")
    if bare not in _SAME and bare.startswith("remove_dims"):
        return "aten::squeeze"
    return "aten::" + _SAME.get(bare, _VARIANT.sub("", bare.removeprefix("sparse_")))
