"""Names that are imported on first use, by the module that defines them. Made by tools/names.py; do not edit."""

from __future__ import annotations

# The functions of packages that import `*` from modules.
EXPORTS = {
    "mpigrad": {
        "_compile": "compile",
        "_generator": "Generator default_generator",
        "_ops.create.create": """
            as_tensor asarray empty empty_like eye from_numpy full full_like is_tensor ones ones_like scalar_tensor tensor zeros
            zeros_like
        """,
        "_ops.create.legacy": """
            BFloat16Tensor BoolTensor ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor DoubleTensor FloatTensor
            HalfTensor IntTensor LongTensor ShortTensor
        """,
        "_ops.create.random": """
            bernoulli multinomial normal rand rand_like randint randint_like randn randn_like randperm
        """,
        "_ops.create.random_counts": "binomial poisson",
        "_ops.create.ranges": "arange linspace logspace range result_type",
        "_ops.create.windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
        "_ops.elementwise.arithmetic": """
            add conj div divide mul multiply neg negative positive reciprocal rsub sub subtract true_divide
        """,
        "_ops.elementwise.closeness": "allclose equal isclose",
        "_ops.elementwise.compare": """
            bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor eq ge greater greater_equal gt
            isfinite isinf isnan isneginf isposinf isreal le less less_equal logical_and logical_not logical_or logical_xor lt
            ne not_equal signbit
        """,
        "_ops.elementwise.complex_numbers": "angle complex imag polar real view_as_complex view_as_real",
        "_ops.elementwise.functions": """
            abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh cos cosh deg2rad digamma
            erf erfc erfinv exp exp2 expm1 lgamma log log10 log1p log2 polygamma rad2deg rsqrt sgn sigmoid sign sin sinc sinh
            sqrt square tan tanh
        """,
        "_ops.elementwise.minmax": "clamp clamp_max clamp_min clip fmax fmin maximum minimum",
        "_ops.elementwise.modular": "floor_divide fmod gcd lcm remainder",
        "_ops.elementwise.multi_operand": """
            addcdiv addcmul arctan2 atan2 copysign heaviside hypot ldexp lerp logaddexp logaddexp2 nextafter xlogy
        """,
        "_ops.elementwise.powers": "float_power pow",
        "_ops.elementwise.rounding": "ceil fix floor frac nan_to_num round trunc",
        "_ops.elementwise.special_functions": "i0 igamma igammac mvlgamma",
        "_ops.elementwise.where": "where",
        "_ops.index.gather": "gather index_select take_along_dim",
        "_ops.index.index_ops": "index_add index_copy index_fill index_put put take",
        "_ops.index.masked": "argwhere masked_fill masked_scatter masked_select nonzero",
        "_ops.index.rearrange": "combinations flip fliplr flipud repeat_interleave roll rot90 tile",
        "_ops.index.scatter": "scatter scatter_add",
        "_ops.index.scatter_reduce": "scatter_reduce",
        "_ops.linalg.addmm": "addbmm addmm addmv addr baddbmm",
        "_ops.linalg.contractions": "chain_matmul cross ger inner kron outer tensordot",
        "_ops.linalg.distances": "cdist cosine_similarity pairwise_distance pdist",
        "_ops.linalg.einsum": "einsum",
        "_ops.linalg.matmul": "bmm dot matmul mm mv vdot",
        "_ops.nn.activation": "celu logit relu selu",
        "_ops.nn.softmax": "log_softmax softmax",
        "_ops.reduce.counting": "bincount bucketize histc isin searchsorted",
        "_ops.reduce.histograms": "frexp histogram nonzero_static unravel_index",
        "_ops.reduce.index_reduce": "index_reduce renorm",
        "_ops.reduce.minmax": "amax amin aminmax argmax argmin max median min mode nanmedian",
        "_ops.reduce.moments": "std std_mean var var_mean",
        "_ops.reduce.norms": "all any count_nonzero dist frobenius_norm logsumexp nanmean nansum norm nuclear_norm",
        "_ops.reduce.products": "cumprod prod",
        "_ops.reduce.quantiles": "diff nanquantile quantile",
        "_ops.reduce.scans": "cumsum logcumsumexp",
        "_ops.reduce.sorting": "argsort cummax cummin kthvalue msort sort topk unique unique_consecutive",
        "_ops.reduce.statistics": "corrcoef cov cumulative_trapezoid gradient trapezoid trapz vander",
        "_ops.reduce.sums": "mean sum",
        "_ops.shape.broadcasting": """
            atleast_1d atleast_2d atleast_3d broadcast_shapes broadcast_tensors broadcast_to
        """,
        "_ops.shape.joining": """
            block_diag cartesian_prod cat column_stack concat concatenate dstack hstack meshgrid row_stack stack vstack
        """,
        "_ops.shape.reshape": "flatten ravel reshape squeeze unflatten unsqueeze",
        "_ops.shape.slicing": "chunk dsplit hsplit narrow select split split_with_sizes tensor_split unbind vsplit",
        "_ops.shape.strided": "as_strided as_strided_scatter diagonal",
        "_ops.shape.transpose": "adjoint moveaxis movedim permute swapaxes swapdims t transpose",
        "_ops.shape.triangles": """
            diag diag_embed diagflat diagonal_scatter select_scatter slice_scatter trace tril tril_indices triu triu_indices
        """,
        "_ops.shape.view_copies": """
            alias_copy as_strided_copy conj_physical detach_copy diagonal_copy expand_copy is_conj is_distributed is_neg
            narrow_copy permute_copy resolve_conj resolve_neg select_copy split_copy split_with_sizes_copy squeeze_copy t_copy
            transpose_copy unbind_copy unfold_copy unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze_copy view_copy
        """,
        "_ops.sparse.forms": "sparse_coo_tensor",
        "_ops.tensor.convert": "clone detach detach_",
        "_ops.tensor.fill": "fill",
        "_ops.tensor.inplace_functions": """
            abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_
            ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_
            floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_
            reciprocal_ relu_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
        """,
        "_ops.tensor.printing": "set_printoptions",
        "_ops.tensor.query": """
            from_dlpack get_device is_complex is_floating_point is_inference is_nonzero is_same_size is_signed numel to_dlpack
            typename
        """,
        "_ops.tensor.serialize": "load save",
        "_ops.tensor.storage": "UntypedStorage empty_strided frombuffer",
        "_process.blas_threads": "get_num_threads set_num_threads",
        "_settings": """
            are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision
            get_num_interop_threads is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_default_tensor_type
            set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_num_interop_threads set_warn_always
            use_deterministic_algorithms
        """,
        "autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled",
        "linalg._toplevel": """
            cholesky cholesky_inverse cholesky_solve det inverse logdet lu lu_solve lu_unpack matrix_exp matrix_power pinverse
            qr slogdet svd
        """,
        "random": "fork_rng get_rng_state initial_seed manual_seed seed set_rng_state",
    },
    "nn.functional": {
        "_ops.linalg.contractions": "bilinear",
        "_ops.linalg.distances": "cosine_similarity pairwise_distance pdist",
        "_ops.nn.activation": "celu elu gelu hardtanh leaky_relu logsigmoid relu6 selu softplus",
        "_ops.nn.linear": "linear",
        "nn.functional._activation": """
            celu_ elu_ glu gumbel_softmax hardshrink hardsigmoid hardswish hardtanh_ leaky_relu_ log_softmax mish prelu relu
            relu_ rrelu rrelu_ selu_ sigmoid silu softmax softmin softshrink softsign tanh tanhshrink threshold threshold_
        """,
        "nn.functional._attention": "multi_head_attention_forward scaled_dot_product_attention",
        "nn.functional._classification": """
            binary_cross_entropy binary_cross_entropy_with_logits cross_entropy multilabel_soft_margin_loss nll_loss
            soft_margin_loss
        """,
        "nn.functional._conv": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
        "nn.functional._ctc": "ctc_loss",
        "nn.functional._dropout": "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
        "nn.functional._embedding": "embedding embedding_bag one_hot",
        "nn.functional._fractional_pooling": "fractional_max_pool2d fractional_max_pool3d",
        "nn.functional._grid": "affine_grid grid_sample",
        "nn.functional._margin": """
            cosine_embedding_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss
            triplet_margin_loss triplet_margin_with_distance_loss
        """,
        "nn.functional._normalization": """
            batch_norm group_norm instance_norm layer_norm local_response_norm normalize rms_norm
        """,
        "nn.functional._pad": "pad",
        "nn.functional._pooling": """
            adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
            adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d lp_pool1d lp_pool2d lp_pool3d max_pool1d max_pool2d max_pool3d
        """,
        "nn.functional._regression": """
            gaussian_nll_loss huber_loss kl_div l1_loss mse_loss poisson_nll_loss smooth_l1_loss
        """,
        "nn.functional._unpooling": "max_unpool1d max_unpool2d max_unpool3d",
        "nn.functional._vision": "channel_shuffle fold interpolate pixel_shuffle pixel_unshuffle unfold upsample",
    },
    "nn.modules": {
        "nn.modules._lazy_layers": """
            LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d
            LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear
        """,
        "nn.modules.activation": """
            CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish MultiheadAttention
            PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink
            Threshold
        """,
        "nn.modules.adaptive": "AdaptiveLogSoftmaxWithLoss",
        "nn.modules.batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d",
        "nn.modules.channelshuffle": "ChannelShuffle",
        "nn.modules.container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
        "nn.modules.conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
        "nn.modules.distance": "CosineSimilarity PairwiseDistance",
        "nn.modules.dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
        "nn.modules.flatten": "Flatten Unflatten",
        "nn.modules.fold": "Fold Unfold",
        "nn.modules.instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
        "nn.modules.linear": "Bilinear Identity Linear",
        "nn.modules.loss": """
            BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss HingeEmbeddingLoss HuberLoss
            KLDivLoss L1Loss MSELoss MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss
            NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss
        """,
        "nn.modules.module": "Module",
        "nn.modules.normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
        "nn.modules.padding": """
            CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d
            ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d
        """,
        "nn.modules.pixelshuffle": "PixelShuffle PixelUnshuffle",
        "nn.modules.pooling": """
            AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
            AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d
            MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
        """,
        "nn.modules.rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
        "nn.modules.sparse": "Embedding EmbeddingBag",
        "nn.modules.transformer": """
            Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer
        """,
        "nn.modules.upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    },
}
# The methods that modules attach to `Tensor`.
METHODS = {
    "_ops.create.legacy": "__new__",
    "_ops.create.new": "new_empty new_full new_ones new_tensor new_zeros",
    "_ops.create.random": "bernoulli multinomial",
    "_ops.create.random_inplace": "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_",
    "_ops.elementwise.arithmetic": """
        __add__ __iadd__ __imul__ __isub__ __itruediv__ __mul__ __neg__ __pos__ __radd__ __rmul__ __rsub__ __rtruediv__
        __sub__ __truediv__ add add_ conj div div_ divide divide_ mul mul_ multiply multiply_ neg neg_ negative positive
        reciprocal reciprocal_ rsub sub sub_ subtract subtract_ true_divide true_divide_
    """,
    "_ops.elementwise.closeness": "allclose equal isclose",
    "_ops.elementwise.compare": """
        __and__ __eq__ __ge__ __gt__ __iand__ __ilshift__ __invert__ __ior__ __irshift__ __ixor__ __le__ __lshift__ __lt__
        __ne__ __or__ __rand__ __rlshift__ __ror__ __rrshift__ __rshift__ __rxor__ __xor__ bitwise_and bitwise_and_
        bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift
        bitwise_right_shift_ bitwise_xor bitwise_xor_ eq eq_ ge ge_ greater greater_equal gt gt_ isfinite isinf isnan
        isneginf isposinf isreal le le_ less less_equal logical_and logical_and_ logical_not logical_not_ logical_or
        logical_or_ logical_xor logical_xor_ lt lt_ ne ne_ not_equal signbit
    """,
    "_ops.elementwise.complex_numbers": "angle conj_physical imag is_conj is_neg real resolve_conj resolve_neg",
    "_ops.elementwise.functions": """
        __abs__ abs abs_ absolute absolute_ acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh
        arcsinh_ arctan arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan_ atanh atanh_ cos cos_ cosh cosh_ deg2rad
        deg2rad_ digamma digamma_ erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expm1 expm1_ lgamma lgamma_ log
        log10 log10_ log1p log1p_ log2 log2_ log_ polygamma polygamma_ rad2deg rad2deg_ rsqrt rsqrt_ sgn sgn_ sigmoid
        sigmoid_ sign sign_ sin sin_ sinc sinc_ sinh sinh_ sqrt sqrt_ square square_ tan tan_ tanh tanh_
    """,
    "_ops.elementwise.minmax": """
        clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ fmax fmin maximum minimum
    """,
    "_ops.elementwise.modular": """
        __floordiv__ __ifloordiv__ __imod__ __mod__ __rfloordiv__ __rmod__ floor_divide floor_divide_ fmod fmod_ gcd gcd_
        lcm lcm_ remainder remainder_
    """,
    "_ops.elementwise.multi_operand": """
        addcdiv addcdiv_ addcmul addcmul_ arctan2 atan2 atan2_ copysign copysign_ heaviside heaviside_ hypot hypot_ ldexp
        ldexp_ lerp lerp_ logaddexp logaddexp2 logaddexp2_ logaddexp_ nextafter nextafter_ xlogy xlogy_
    """,
    "_ops.elementwise.powers": "__ipow__ __pow__ __rpow__ float_power pow pow_",
    "_ops.elementwise.rounding": """
        ceil ceil_ fix fix_ floor floor_ frac frac_ nan_to_num nan_to_num_ round round_ trunc trunc_
    """,
    "_ops.elementwise.special_functions": "i0 i0_ igamma igamma_ igammac igammac_ mvlgamma mvlgamma_",
    "_ops.elementwise.where": "where",
    "_ops.index.gather": "gather index_select take_along_dim",
    "_ops.index.getitem": "__getitem__",
    "_ops.index.index_ops": """
        index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_ put put_ take
    """,
    "_ops.index.masked": "argwhere masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select nonzero",
    "_ops.index.rearrange": "__reversed__ combinations flip fliplr flipud repeat repeat_interleave roll rot90 tile",
    "_ops.index.scatter": "scatter scatter_ scatter_add scatter_add_",
    "_ops.index.scatter_reduce": "scatter_reduce scatter_reduce_",
    "_ops.index.setitem": "__setitem__",
    "_ops.linalg.addmm": "addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_",
    "_ops.linalg.contractions": "cross ger inner kron outer",
    "_ops.linalg.matmul": "__matmul__ bmm dot matmul mm mv vdot",
    "_ops.nn.activation": "logit logit_ relu relu_",
    "_ops.nn.softmax": "log_softmax softmax",
    "_ops.reduce.counting": "bincount histc",
    "_ops.reduce.histograms": "frexp histogram nonzero_static",
    "_ops.reduce.index_reduce": "index_reduce index_reduce_ renorm renorm_",
    "_ops.reduce.minmax": "amax amin aminmax argmax argmin max median min mode nanmedian",
    "_ops.reduce.moments": "std var",
    "_ops.reduce.norms": "all any count_nonzero dist logsumexp nanmean nansum norm",
    "_ops.reduce.products": "cumprod cumprod_ prod",
    "_ops.reduce.quantiles": "diff nanquantile quantile sum_to_size",
    "_ops.reduce.scans": "cumsum cumsum_ logcumsumexp",
    "_ops.reduce.sorting": "argsort cummax cummin kthvalue msort sort topk unique unique_consecutive",
    "_ops.reduce.statistics": "corrcoef cov",
    "_ops.reduce.sums": "mean sum",
    "_ops.shape.broadcasting": "broadcast_to expand expand_as",
    "_ops.shape.reshape": """
        flatten ravel reshape reshape_as squeeze squeeze_ unflatten unsqueeze unsqueeze_ view view_as
    """,
    "_ops.shape.slicing": """
        __iter__ chunk dsplit hsplit narrow select split split_with_sizes tensor_split unbind vsplit
    """,
    "_ops.shape.strided": "as_strided as_strided_ as_strided_scatter diagonal resize_ resize_as_ unfold",
    "_ops.shape.transpose": """
        H T adjoint mH mT moveaxis movedim permute swapaxes swapaxes_ swapdims swapdims_ t t_ transpose transpose_
    """,
    "_ops.shape.triangles": """
        diag diag_embed diagflat diagonal_scatter fill_diagonal_ select_scatter slice_scatter trace tril tril_ triu triu_
    """,
    "_ops.shape.view_copies": """
        conj_physical_ is_distributed narrow_copy unsafe_chunk unsafe_split unsafe_split_with_sizes
    """,
    "_ops.sparse.forms": """
        _indices _nnz _values coalesce dense_dim indices is_coalesced sparse_dim sparse_mask to_dense to_sparse values
    """,
    "_ops.sparse.resizing": "sparse_resize_ sparse_resize_and_clear_",
    "_ops.tensor.convert": """
        bfloat16 bool byte cdouble cfloat char clone contiguous cpu cuda data detach detach_ double float half int is_pinned
        long pin_memory record_stream short to type type_as
    """,
    "_ops.tensor.fill": "copy_ fill_ set_ zero_",
    "_ops.tensor.inplace_functions": """
        arctan2_ float_power_ greater_ greater_equal_ less_ less_equal_ negative_ not_equal_
    """,
    "_ops.tensor.pickling": "__deepcopy__ __reduce_ex__",
    "_ops.tensor.printing": "__format__ __repr__ __str__",
    "_ops.tensor.query": """
        __array__ __bool__ __complex__ __contains__ __dlpack__ __dlpack_device__ __float__ __index__ __int__ __len__
        data_ptr dim element_size get_device is_complex is_contiguous is_floating_point is_nonzero is_same_size is_signed
        item itemsize nbytes ndimension nelement numel numpy size storage_offset stride tolist
    """,
    "_ops.tensor.sharing": "is_shared share_memory_",
    "_ops.tensor.storage": """
        apply_ as_subclass const_data_ptr dim_order is_cpu is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_nested
        is_quantized is_set_to is_sparse_csr is_vulkan is_xla is_xpu map2_ map_ new new_empty_strided untyped_storage
    """,
    "_ops.tensor.ufuncs": "__array_ufunc__ __rmatmul__",
    "autograd._backward": "backward",
    "autograd._hooks": "register_hook register_post_accumulate_grad_hook retain_grad",
    "linalg._factoring": "cholesky qr svd",
    "linalg._lu": "lu lu_solve",
    "linalg._solving": """
        cholesky_inverse cholesky_solve det inverse logdet matrix_exp matrix_power pinverse slogdet
    """,
}
# The operators that derivatives call as `F.name`.
OPERATORS = {
    "_ops._define.unbroadcast": "cast cast_from conform expand sum_to",
    "_ops._define.views": "read_view write_view",
    "_ops.create.random": "bernoulli",
    "_ops.create.random_counts": "poisson",
    "_ops.elementwise.arithmetic": "add conj conj_of_complex div mul neg reciprocal rsub rsub_number sub",
    "_ops.elementwise.compare": """
        bitwise_not is_complex isfinite isinf isnan isneginf isposinf isreal logical_not signbit
    """,
    "_ops.elementwise.complex_numbers": "angle complex imag polar real to_complex view_as_complex view_as_real",
    "_ops.elementwise.functions": """
        abs acos acosh asin asinh atan atanh cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 lgamma log log10 log1p
        log2 polygamma rad2deg rsqrt sgn sigmoid sign sin sinc sinh sqrt square tan tanh
    """,
    "_ops.elementwise.minmax": """
        clamp clamp_max clamp_max_tensor clamp_min clamp_min_tensor clamp_numbers fmax fmin maximum minimum
    """,
    "_ops.elementwise.modular": """
        div_floor div_trunc floor_divide fmod fmod_number gcd lcm remainder remainder_number remainder_of_number
    """,
    "_ops.elementwise.multi_operand": """
        addcdiv addcmul atan2 copysign copysign_number heaviside hypot ldexp lerp lerp_number logaddexp logaddexp2 nextafter
        xlogy xlogy_by xlogy_of
    """,
    "_ops.elementwise.powers": "pow pow_number rpow",
    "_ops.elementwise.rounding": "ceil floor frac nan_to_num round round_decimals trunc",
    "_ops.elementwise.special_functions": """
        entr erfcx i0 i0e i1 i1e igamma igammac log_ndtr mvlgamma ndtri xlog1py zeta
    """,
    "_ops.elementwise.where": "keep where",
    "_ops.index.gather": "gather gather_back index_select spread_slices",
    "_ops.index.getitem": "index spread_index",
    "_ops.index.index_ops": "index_add index_copy index_fill index_fill_number put spread_flat take zero_flat",
    "_ops.index.masked": "masked_fill masked_fill_number masked_scatter masked_select masked_spread",
    "_ops.index.rearrange": "flip repeat roll rot90",
    "_ops.index.scatter": "scatter scatter_add scatter_value",
    "_ops.index.scatter_reduce": "as_constant scatter_reduce",
    "_ops.index.setitem": "index_put zero_at",
    "_ops.linalg.addmm": "addbmm addmm addmv addr baddbmm",
    "_ops.linalg.contractions": "cross_product",
    "_ops.linalg.distances": "cdist_forward pdist_forward",
    "_ops.linalg.factorizations": "cholesky eig eigh lower_mask old_cholesky qr svd zeros_of",
    "_ops.linalg.fourier": "fft_complex fft_double fft_from_real fft_to_real",
    "_ops.linalg.inverses": """
        cofactors determinant identity_of inverse least_squares matrix_exp pinv slogdet solve_matrix solve_triangle
        solve_vector trace_of
    """,
    "_ops.linalg.lu": "lu lu_factor lu_solve lu_unpack ones_down permutation",
    "_ops.linalg.matmul": "bmm dot matmul_nd matvec_nd mm mm_from_left mt mv outer vdot vecmat_nd vm",
    "_ops.nn.activation": """
        celu elu gelu gelu_tanh hardtanh leaky_relu log_sigmoid logit relu silu softplus threshold_backward
    """,
    "_ops.nn.convolution": "conv conv_input conv_weight",
    "_ops.nn.ctc": "ctc_loss ctc_slopes",
    "_ops.nn.dropout": "native_dropout",
    "_ops.nn.embedding": """
        bag_numbers embedding embedding_bag embedding_bag_max embedding_bags embedding_spread embedding_take
    """,
    "_ops.nn.fold": "channel_shuffle col2im im2col pixel_shuffle pixel_unshuffle",
    "_ops.nn.gates": """
        above between glu hardshrink hardsigmoid hardswish mish outside prelu_kernel rrelu_with_noise softshrink threshold
    """,
    "_ops.nn.grid_sample": "affine_grid_generator grid_sampler_2d grid_sampler_3d",
    "_ops.nn.linear": "weight_t",
    "_ops.nn.losses": """
        binary_cross_entropy binary_cross_entropy_with_logits huber_loss inside logsigmoid_of mse_loss shortfall signs
        smooth_l1_loss soft_margin_loss
    """,
    "_ops.nn.nll": "nll_loss nll_loss2d pick_class spread_class",
    "_ops.nn.normalization": """
        batch_norm_with_statistics instance_norm native_batch_norm native_group_norm native_layer_norm
    """,
    "_ops.nn.pooling": """
        adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d avg_spread
        gather_windows max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices scatter_windows
    """,
    "_ops.nn.resampling": """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d resample upsample_bicubic2d upsample_bilinear2d
        upsample_linear1d upsample_nearest-exact1d upsample_nearest-exact2d upsample_nearest-exact3d upsample_nearest1d
        upsample_nearest2d upsample_nearest3d upsample_trilinear3d
    """,
    "_ops.nn.softmax": "log_softmax softmax",
    "_ops.reduce.histograms": "frexp two_to",
    "_ops.reduce.index_reduce": "index_reduce renorm",
    "_ops.reduce.minmax": """
        amax amin aminmax max_all max_dim median_all median_dim min_all min_dim mode_dim nanmedian_all nanmedian_dim pick
        unpick
    """,
    "_ops.reduce.moments": "std std_mean var var_mean",
    "_ops.reduce.norms": "dist logsumexp nansum vector_norm",
    "_ops.reduce.products": "as_shape constant_mask cumprod others prod_all prod_dim spread_like",
    "_ops.reduce.scans": "cumsum logcumsumexp",
    "_ops.reduce.sorting": "cummax cummin kthvalue sort sort_stable topk",
    "_ops.reduce.sums": "mean_all mean_dim spread sum sum_all sum_dim",
    "_ops.shape.joining": "block_diag cat stack",
    "_ops.shape.padding": """
        circular_pad1d circular_pad2d circular_pad3d constant_pad give_along reflect_pad1d reflect_pad2d reflect_pad3d
        replicate_pad1d replicate_pad2d replicate_pad3d take_along
    """,
    "_ops.shape.reshape": """
        insert_dim insert_dim_ remove_dims remove_dims1 remove_dims2 remove_dims3 remove_dims4 remove_dims5 reshape
        reshape_alias reshape_copied retype view
    """,
    "_ops.shape.slicing": """
        place split split_with_sizes take_all take_key take_new take_slice unbind zeros_like_shaped
    """,
    "_ops.shape.strided": "as_strided diagonal fold_back place_diagonal unfold",
    "_ops.shape.transpose": "permute swap_dims swap_dims_ t t_",
    "_ops.shape.triangles": """
        diagonal_copy diagonal_scatter part select_scatter slice_scatter spread_part trace tril triu zero_part
    """,
    "_ops.sparse.arithmetic": """
        addmm_of_sparse mm_of_sparse sampled_product sparse_addmm sparse_cat sparse_mm sparse_spread sparse_stack
        sparse_sum_dims sparse_tmm
    """,
    "_ops.sparse.embedding": "embedding_rows",
    "_ops.sparse.forms": """
        coalesce dense_gradient mask_like sparse_like sparse_mask sparse_values to_dense to_sparse to_sparse_dim values_like
    """,
    "_ops.sparse.selecting": """
        narrow_copy sparse_embed sparse_index_select sparse_index_spread sparse_insert sparse_narrow sparse_select
    """,
    "_ops.sparse.softmax": "group_totals sparse_log_softmax sparse_softmax",
    "_ops.tensor.convert": "clone clone_contiguous clone_ordered copied move move_to",
    "_ops.tensor.fill": "copy_into fill_into fill_number_into filled_with filled_with_number zero_into",
    "nn.functional._margin": "multi_margin_loss multilabel_margin_loss",
    "nn.modules._recurrent.gru": "gru_layer",
    "nn.modules._recurrent.lstm": "lstm_layer",
    "nn.modules._recurrent.rnn": "rnn_layer",
}
