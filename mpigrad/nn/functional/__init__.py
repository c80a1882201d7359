"""Functions of neural networks: layers without state, activations, losses."""

from __future__ import annotations

from mpigrad._ops.linalg.contractions import bilinear
from mpigrad._ops.linalg.distances import cosine_similarity, pairwise_distance, pdist
from mpigrad._ops.nn.activation import celu, elu, gelu, hardtanh, leaky_relu, logsigmoid, relu6, selu, softplus
from mpigrad._ops.nn.linear import linear

from ._activation import (
    celu_,
    elu_,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh_,
    leaky_relu_,
    log_softmax,
    mish,
    prelu,
    relu,
    relu_,
    rrelu,
    rrelu_,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from ._attention import multi_head_attention_forward, scaled_dot_product_attention
from ._classification import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    multilabel_soft_margin_loss,
    nll_loss,
    soft_margin_loss,
)
from ._conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ._ctc import ctc_loss
from ._dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from ._embedding import embedding, embedding_bag, one_hot
from ._fractional_pooling import fractional_max_pool2d, fractional_max_pool3d
from ._grid import affine_grid, grid_sample
from ._margin import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from ._normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from ._pad import pad
from ._pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from ._regression import gaussian_nll_loss, huber_loss, kl_div, l1_loss, mse_loss, poisson_nll_loss, smooth_l1_loss
from ._unpooling import max_unpool1d, max_unpool2d, max_unpool3d
from ._vision import channel_shuffle, fold, interpolate, pixel_shuffle, pixel_unshuffle, unfold, upsample
