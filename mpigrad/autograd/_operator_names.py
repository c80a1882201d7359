"""Operator names in profiles: PyTorch's names, since some operators here are split where PyTorch has one."""

from __future__ import annotations

import re
from functools import cache

_SAME = {
    "addmm_of_sparse": "addmm",
    "as_shape": "view",
    "batch_norm_with_statistics": "batch_norm",
    "cast_from": "_to_copy",
    "circular_pad1d": "pad",
    "circular_pad2d": "pad",
    "circular_pad3d": "pad",
    "clamp_numbers": "clamp",
    "clone_contiguous": "clone",
    "conj_of_complex": "conj",
    "constant_pad": "constant_pad_nd",
    "conv": "convolution",
    "copied": "clone",
    "copy_into": "copy_",
    "cross_product": "linalg_cross",
    "determinant": "linalg_det",
    "div_floor": "div",
    "div_trunc": "div",
    "eig": "linalg_eig",
    "eigh": "linalg_eigh",
    "embedding_bag_max": "embedding_bag",
    "embedding_bags": "embedding_bag",
    "embedding_rows": "embedding",
    "embedding_take": "embedding",
    "entr": "special_entr",
    "erfcx": "special_erfcx",
    "fft_complex": "_fft_c2c",
    "fft_from_real": "_fft_r2c",
    "fft_to_real": "_fft_c2r",
    "fill_into": "fill_",
    "fill_number_into": "fill_",
    "gelu_tanh": "gelu",
    "gru_layer": "gru",
    "i0e": "special_i0e",
    "i1": "special_i1",
    "i1e": "special_i1e",
    "insert_dim": "unsqueeze",
    "insert_dim_": "unsqueeze_",
    "least_squares": "linalg_lstsq",
    "log_ndtr": "special_log_ndtr",
    "logsigmoid_of": "log_sigmoid",
    "lstm_layer": "lstm",
    "lu": "linalg_lu",
    "lu_factor": "linalg_lu_factor",
    "matvec_nd": "mv",
    "mm_of_sparse": "mm",
    "move": "_to_copy",
    "mt": "mm",
    "ndtri": "special_ndtri",
    "old_cholesky": "cholesky",
    "part": "slice",
    "pick": "select",
    "pinv": "linalg_pinv",
    "prelu_kernel": "_prelu_kernel",
    "reflect_pad1d": "reflection_pad1d",
    "reflect_pad2d": "reflection_pad2d",
    "reflect_pad3d": "reflection_pad3d",
    "remainder_of_number": "remainder",
    "replicate_pad1d": "replication_pad1d",
    "replicate_pad2d": "replication_pad2d",
    "replicate_pad3d": "replication_pad3d",
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
    "sparse_mask": "sparse_mask",
    "swap_dims": "transpose",
    "swap_dims_": "transpose_",
    "take_all": "index",
    "take_key": "index",
    "take_new": "index",
    "take_slice": "slice",
    "to_complex": "_to_copy",
    "to_sparse_dim": "to_sparse",
    "trace_of": "trace",
    "upsample_nearest-exact1d": "_upsample_nearest_exact1d",
    "upsample_nearest-exact2d": "_upsample_nearest_exact2d",
    "upsample_nearest-exact3d": "_upsample_nearest_exact3d",
    "vecmat_nd": "matmul",
    "vector_norm": "linalg_vector_norm",
    "vm": "mm",
    "weight_t": "t",
    "xlog1py": "special_xlog1py",
    "xlogy_by": "xlogy",
    "xlogy_of": "xlogy",
    "zero_into": "zero_",
    "zeta": "special_zeta",
}
_VARIANT = re.compile(r"_(all|dim|dims|number|tensor|nd|forward)$")


@cache
def shown(name: str) -> str:
    """PyTorch's name of an operator, for profiles.

    >>> shown("aten::sum_all"), shown("aten::mul"), shown("aten::swap_dims")
    ('aten::sum', 'aten::mul', 'aten::transpose')
    """
    bare = name.removeprefix("aten::")
    if bare not in _SAME and bare.startswith("remove_dims"):
        return "aten::squeeze"
    return "aten::" + _SAME.get(bare, _VARIANT.sub("", bare.removeprefix("sparse_")))
