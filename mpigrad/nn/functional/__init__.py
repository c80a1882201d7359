"""Functions of neural networks: layers without state, activations, losses. Their names and arguments are those of
`torch.nn.functional`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from mpigrad._ops.linalg.contractions import bilinear
    from mpigrad._ops.linalg.distances import cosine_similarity, pairwise_distance, pdist
    from mpigrad._ops.nn.activation import celu, elu, gelu, hardtanh, leaky_relu, logsigmoid, relu6, selu, softplus
    from mpigrad._ops.nn.linear import linear

    from ._activation import *
    from ._attention import *
    from ._classification import *
    from ._conv import *
    from ._ctc import *
    from ._dropout import *
    from ._embedding import *
    from ._fractional_pooling import *
    from ._grid import *
    from ._margin import *
    from ._normalization import *
    from ._pad import *
    from ._pooling import *
    from ._regression import *
    from ._unpooling import *
    from ._vision import *
else:
    __getattr__, __dir__ = lazily(__name__)
