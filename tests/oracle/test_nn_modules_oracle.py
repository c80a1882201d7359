"""Modules beside PyTorch: the same text, state, outputs and gradients for the same weights."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # tiny problems: threads would only wait for each other

# constructor | shapes of inputs; i<n> before a shape: whole numbers below n
MODULES = """
Linear(4, 3) | 5,4
Linear(4, 3, bias=False) | 2,5,4
Bilinear(3, 4, 2) | 5,3 | 5,4
Identity(7, a=1) | 2,3
Conv1d(4, 6, 3, 2, 1, 2, groups=2) | 2,4,9
Conv2d(2, 4, 3, padding=1) | 2,2,5,5
Conv2d(2, 4, (3, 2), padding="same", bias=False, padding_mode="circular") | 1,2,5,5
Conv2d(2, 2, 3, padding=1, padding_mode="reflect") | 1,2,5,5
Conv3d(1, 2, 2) | 1,1,3,3,3
ConvTranspose1d(2, 4, 3, 2, 1, 1) | 2,2,5
ConvTranspose2d(2, 4, 3, 2, 1, 1, groups=2) | 1,2,4,4
MaxPool1d(2) | 2,2,6
MaxPool2d(2, padding=1) | 2,2,6,6
MaxPool3d(2) | 1,1,4,4,4
AvgPool1d(3) | 2,2,6
AvgPool2d(2, padding=1, count_include_pad=False) | 2,2,6,6
AvgPool3d(2) | 1,1,4,4,4
LPPool1d(2, 3) | 2,2,6
LPPool2d(2, 2) | 2,2,6,6
LPPool3d(2, 2) | 1,2,4,4,4
ConvTranspose3d(2, 3, 2, 2) | 1,2,3,3,3
AdaptiveMaxPool3d(2) | 1,1,4,4,4
MaxUnpool1d(2) | 2,2,3 | i6:2,2,3
MaxUnpool2d((2, 3), padding=(0, 1)) | 1,2,3,3 | i42:1,2,3,3
InstanceNorm3d(2, affine=True) | 1,2,3,3,3
AdaptiveAvgPool1d(3) | 2,2,7
AdaptiveAvgPool2d((2, 3)) | 2,2,7,7
AdaptiveAvgPool3d(2) | 1,1,4,4,4
AdaptiveMaxPool1d(3) | 2,2,7
AdaptiveMaxPool2d(2) | 2,2,7,7
BatchNorm1d(4) | 5,4
BatchNorm1d(4, momentum=None) | 5,4,3
BatchNorm2d(3, affine=False) | 2,3,4,4
BatchNorm1d(4, track_running_stats=False, bias=False) | 5,4
BatchNorm3d(2) | 2,2,2,2,2
LayerNorm(4) | 5,4
LayerNorm((3, 4), bias=False) | 5,3,4
LayerNorm(4, elementwise_affine=False) | 5,4
GroupNorm(2, 4) | 2,4,3
RMSNorm(4) | 5,4
InstanceNorm1d(3) | 2,3,5
InstanceNorm2d(3, affine=True, track_running_stats=True) | 2,3,4,4
InstanceNorm2d(3) | 3,4,4
LocalResponseNorm(2) | 2,4,3,3
Embedding(7, 3) | i7:2,4
Embedding(7, 3, padding_idx=2) | i7:5
Embedding(7, 3, padding_idx=-1, scale_grad_by_freq=True) | i7:3,5
EmbeddingBag(7, 3) | i7:2,4
EmbeddingBag(7, 3, mode="sum", padding_idx=2) | i7:2,4
EmbeddingBag(7, 3, mode="max") | i7:2,4
Dropout(0.0) | 2,3
Dropout1d(0.0) | 2,3,4
Dropout2d(0.0) | 2,3,4,4
AlphaDropout(0.0) | 2,3
ReLU() | 2,3
ReLU(inplace=True) | 2,3
ReLU6() | 2,3
ELU(0.5) | 2,3
CELU(0.5) | 2,3
SELU() | 2,3
GELU() | 2,3
GELU("tanh") | 2,3
SiLU() | 2,3
Mish() | 2,3
Sigmoid() | 2,3
Tanh() | 2,3
LogSigmoid() | 2,3
Softsign() | 2,3
Tanhshrink() | 2,3
Softplus(2.0, 1.0) | 2,3
Softshrink(0.3) | 2,3
Hardshrink(0.3) | 2,3
Hardtanh(-0.5, 0.7) | 2,3
Hardsigmoid() | 2,3
Hardswish() | 2,3
LeakyReLU(0.2) | 2,3
PReLU() | 2,3
PReLU(3, 0.1) | 2,3,2
Threshold(0.1, 20.0) | 2,3
GLU() | 2,4
Softmax(dim=1) | 2,3
Softmax2d() | 2,3,2,2
LogSoftmax(dim=-1) | 2,3
Softmin(dim=0) | 2,3
Flatten() | 2,3,4
Unflatten(1, (2, 3)) | 2,6
ZeroPad2d(1) | 1,2,3,3
ConstantPad1d((1, 2), 3.5) | 1,2,3
ReflectionPad2d((1, 1, 2, 0)) | 1,2,3,3
ReplicationPad1d(2) | 1,2,3
CircularPad2d(1) | 1,2,3,3
Upsample(scale_factor=2) | 1,2,3,3
Upsample(size=(5, 4), mode="bilinear") | 1,2,3,3
UpsamplingBilinear2d(scale_factor=2) | 1,2,3,3
PixelShuffle(2) | 1,4,3,3
PixelUnshuffle(2) | 1,1,4,4
ChannelShuffle(2) | 1,4,2,2
Unfold(2) | 1,2,4,4
Fold((4, 4), 2, stride=2) | 1,8,4
CosineSimilarity(1) | 3,4 | 3,4
PairwiseDistance(2) | 3,4 | 3,4
L1Loss() | 3,4 | 3,4
MSELoss(reduction="sum") | 3,4 | 3,4
SmoothL1Loss(beta=0.5) | 3,4 | 3,4
HuberLoss(delta=0.5) | 3,4 | 3,4
CrossEntropyLoss(label_smoothing=0.1) | 5,4 | i4:5
NLLLoss(ignore_index=1) | 5,4 | i4:5
BCEWithLogitsLoss() | 5,4 | 5,4
KLDivLoss(reduction="batchmean") | 5,4 | 5,4
HingeEmbeddingLoss() | 5,4 | 5,4
MarginRankingLoss(0.2) | 5 | 5 | 5
TripletMarginLoss() | 5,4 | 5,4 | 5,4
TripletMarginWithDistanceLoss() | 5,4 | 5,4 | 5,4
PoissonNLLLoss() | 5,4 | 5,4
MultiMarginLoss() | 5,4 | i4:5
MultiLabelSoftMarginLoss() | 5,4 | 5,4
RNN(3, 4) | 5,2,3
RNN(3, 4, 2, "relu", batch_first=True) | 2,5,3
LSTM(3, 4) | 5,2,3
LSTM(3, 4, 2, bidirectional=True, batch_first=True) | 2,5,3
LSTM(3, 4, bias=False) | 5,3
LSTM(3, 4, 2, proj_size=2, bidirectional=True) | 5,2,3
GRU(3, 4, 2, bidirectional=True) | 5,2,3
GRU(3, 4, bias=False) | 5,2,3 | 1,2,4
RNNCell(3, 4) | 2,3 | 2,4
RNNCell(3, 4, nonlinearity="relu", bias=False) | 2,3
LSTMCell(3, 4) | 2,3
GRUCell(3, 4) | 3 | 4
MultiheadAttention(4, 2) | 5,2,4 | 6,2,4 | 6,2,4
MultiheadAttention(4, 2, bias=False, batch_first=True) | 2,5,4 | 2,6,4 | 2,6,4
MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True) | 5,2,4 | 6,2,3 | 6,2,5
MultiheadAttention(4, 2) | 5,4 | 6,4 | 6,4
TransformerEncoderLayer(4, 2, 8, 0.0) | 5,2,4
TransformerEncoderLayer(4, 2, 8, 0.0, "gelu", norm_first=True, batch_first=True, bias=False) | 5,2,4
TransformerDecoderLayer(4, 2, 8, 0.0) | 5,2,4 | 6,2,4
TransformerDecoderLayer(4, 2, 8, 0.0, norm_first=True) | 5,2,4 | 6,2,4
Transformer(4, 2, 1, 2, 8, 0.0) | 5,2,4 | 6,2,4
Sequential(OrderedDict(a=nn.Linear(4, 3), b=nn.Sequential(nn.Tanh(), nn.Linear(3, 2)))) | 5,4
""".strip().splitlines()


def build(T: Any, text: str) -> Any:
    from collections import OrderedDict

    return eval("nn." + text, {"nn": T.nn, "OrderedDict": OrderedDict}).to(T.float64)


def values(spec: str, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    whole = re.match(r"i(\d+):(.*)", spec)
    shape = tuple(int(each) for each in (whole[2] if whole else spec).split(","))
    return random.integers(0, int(whole[1]), shape) if whole else random.standard_normal(shape) * 0.7


def flat(value: Any) -> list[Any]:
    return [each for item in value for each in flat(item)] if isinstance(value, (tuple, list)) else [value]


def run(T: Any, module: Any, arrays: list[np.ndarray]) -> list[Any]:
    """Outputs, gradients of inputs and parameters, and buffers after two calls."""
    inputs = [T.tensor(each) for each in arrays]
    leaves = [each.requires_grad_() for each in inputs if each.is_floating_point()]
    given = [each * 1 if each.is_floating_point() else each for each in inputs]
    module(*given)
    again = [each * 1 if each.is_floating_point() else each for each in given]
    outs = [each for each in flat(module(*again)) if each is not None]
    total = sum(((each * each).sum() + each.sum() for each in outs if each.requires_grad), T.zeros(()))
    if total.requires_grad:
        total.backward()
    wanted = [*leaves, *module.parameters()]
    grads = [None if each.grad is None else each.grad.numpy() for each in wanted]
    return [each.detach().numpy() for each in outs] + grads + [each.numpy() for each in module.buffers()]


@pytest.mark.parametrize("line", MODULES)
def test_same_as_pytorch(line: str) -> None:
    text, *specs = (part.strip() for part in line.split("|"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's notes about its own fast paths
        theirs, ours = build(torch, text), build(mpigrad, text)
        assert repr(ours) == repr(theirs)
        state = theirs.state_dict()
        assert list(ours.state_dict()) == list(state)
        ours.load_state_dict({key: mpigrad.tensor(value.numpy()) for key, value in state.items()})
        arrays = [values(spec, seed) for seed, spec in enumerate(specs)]
        for mode in (True, False):
            made = [run(T, module.train(mode), arrays) for T, module in ((torch, theirs), (mpigrad, ours))]
            for place, (want, got) in enumerate(zip(*made)):
                assert (want is None) == (got is None), f"value {place} of {text}"
                if want is not None:
                    assert want.dtype == got.dtype
                    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9, err_msg=f"value {place} of {text}")


def same_after(ours: Any, theirs: Any, arrays: list[np.ndarray]) -> None:
    """Both after one call, with the same weights: the same text, state, outputs and gradients."""
    for T, module in ((torch, theirs), (mpigrad, ours)):
        module(*(T.tensor(each) for each in arrays))
    assert repr(ours) == repr(theirs) and type(ours).__name__ == type(theirs).__name__
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict({key: mpigrad.tensor(value.numpy()) for key, value in state.items()})
    for want, got in zip(run(torch, theirs, arrays), run(mpigrad, ours, arrays)):
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)


LAZY = """
LazyLinear(3) | 5,4
LazyLinear(3, bias=False) | 2,5,4
LazyConv1d(4, 3, 2) | 2,3,9
LazyConv2d(4, 3, padding=1, groups=2) | 2,2,5,5
LazyConv2d(4, 3, bias=False) | 2,5,5
LazyConv3d(2, 2) | 1,1,3,3,3
LazyConvTranspose1d(2, 3, 2) | 2,3,5
LazyConvTranspose2d(4, 3, 2, 1, 1, groups=2) | 1,2,4,4
LazyConvTranspose3d(2, 2) | 1,2,3,3,3
LazyBatchNorm1d() | 5,4
LazyBatchNorm2d(affine=False) | 2,3,4,4
LazyBatchNorm3d(track_running_stats=False) | 2,2,2,2,2
LazyInstanceNorm1d() | 2,3,5
LazyInstanceNorm2d(track_running_stats=False) | 2,3,4,4
LazyInstanceNorm3d(affine=False) | 1,2,3,3,3
Sequential(nn.LazyConv1d(2, 3), nn.Flatten(), nn.LazyLinear(2)) | 2,3,5
""".strip().splitlines()


@pytest.mark.parametrize("line", LAZY)
def test_lazy_modules_take_their_sizes_from_the_first_input(line: str) -> None:
    text, *specs = (part.strip() for part in line.split("|"))
    ours, theirs = build(mpigrad, text), build(torch, text)
    assert repr(ours) == repr(theirs)
    same_after(ours, theirs, [values(spec, seed) for seed, spec in enumerate(specs)])


def test_lazy_modules_take_their_sizes_from_a_state() -> None:
    lazy, state = mpigrad.nn.LazyLinear(3), mpigrad.nn.Linear(5, 3).state_dict()
    assert repr(lazy.weight) == "<UninitializedParameter>" and lazy.has_uninitialized_params()
    lazy.load_state_dict(state)
    assert not lazy.has_uninitialized_params() and lazy.weight.shape == (3, 5)
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        mpigrad.nn.LazyConv1d(4, 2, groups=2)(mpigrad.zeros(1, 3, 5))


@pytest.mark.parametrize("text", ["(16, 20, [5, 10])", "(16, 20, [3], div_value=2.0, head_bias=True)"])
def test_adaptive_softmax(text: str) -> None:
    made = []
    for T in (torch, mpigrad):
        module = build(T, f"AdaptiveLogSoftmaxWithLoss{text}")
        if made:
            assert repr(module) == repr(made[0][0])
            module.load_state_dict({key: mpigrad.tensor(value.numpy()) for key, value in made[0][0].state_dict().items()})
        x, y = T.tensor(values("7,16", 0)).requires_grad_(), T.tensor([0, 4, 5, 9, 10, 19, 2])
        output, loss = module(x, y)
        loss.backward()
        single = module(x[3], y[3]).output
        found = [output, loss, module.log_prob(x), module.predict(x), single, x.grad, *(p.grad for p in module.parameters())]
        made.append([module, [each.detach().numpy() for each in found]])
    for want, got in zip(made[0][1], made[1][1]):
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)


def test_ctc_loss() -> None:
    found = []
    for T in (torch, mpigrad):
        module = T.nn.CTCLoss(1, reduction="sum", zero_infinity=True)
        x = T.tensor(values("6,2,4", 0)).requires_grad_()
        loss = module(x.log_softmax(2), T.tensor([[0, 2, 3], [3, 3, 0]]), T.tensor([6, 5]), T.tensor([3, 2]))
        loss.backward()
        found.append([repr(module), loss.detach().numpy(), x.grad.numpy()])
    assert found[0][0] == found[1][0]
    for want, got in zip(found[0][1:], found[1][1:]):
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_pooling_with_given_chances(dims: int) -> None:
    found = []
    for T in (torch, mpigrad):
        x = T.tensor(values("2,3" + ",7" * dims, 0)).requires_grad_()
        chances = T.tensor(np.random.default_rng(1).uniform(size=(2, 3, dims)))
        make = getattr(T.nn, f"FractionalMaxPool{dims}d")
        out, where = make(2, output_size=(4, 3, 5)[:dims], return_indices=True, _random_samples=chances)(x)
        ratio = make(3, output_ratio=0.5, _random_samples=chances)(x)
        ((out**2).sum() + ratio.sum()).backward()
        found.append([each.detach().numpy() for each in (out, where, ratio, x.grad)])
    for want, got in zip(*found):
        np.testing.assert_allclose(got, want)


ERRORS = """
nn.FractionalMaxPool2d(2) | nn.FractionalMaxPool2d(2, 2, 0.5) | nn.FractionalMaxPool2d(2, output_ratio=1.5)
nn.AdaptiveLogSoftmaxWithLoss(4, 5, []) | nn.AdaptiveLogSoftmaxWithLoss(4, 5, [5])
nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(T.zeros(2, 4), T.tensor([1, 7]))
nn.MaxUnpool1d(2)(T.zeros(1, 2, 2), T.zeros(1, 2, 3, dtype=T.int64))
nn.Conv2d(3, 4, 3, groups=2) | nn.Conv2d(4, 3, 3, groups=2) | nn.Conv2d(4, 3, 3, 2, padding="same")
nn.Conv2d(4, 3, 3, groups=0) | nn.ConvTranspose2d(4, 3, 3, padding_mode="reflect") | nn.BatchNorm1d(3)(T.zeros(3))
nn.BatchNorm2d(3)(T.zeros(3, 3)) | nn.InstanceNorm1d(3)(T.zeros(3))
nn.InstanceNorm2d(3, affine=True)(T.zeros(1, 2, 2, 2)) | nn.GroupNorm(2, 3) | nn.Embedding(3, 4, padding_idx=5)
nn.Embedding(3, 4, padding_idx=-5) | nn.Embedding(3, 4, _weight=T.zeros(3, 3))
nn.Embedding.from_pretrained(T.zeros(3)) | nn.MultiheadAttention(5, 2) | nn.MultiheadAttention(0, 2)
nn.LSTM(3, 4, proj_size=4) | nn.LSTM(3, 4, proj_size=-4) | nn.GRU(3, 4, proj_size=2) | nn.LSTM(3, 4, dropout=2)
nn.LSTM(3, 0) | nn.LSTM(3, 4, 0) | nn.LSTM(3, 4.0) | nn.RNN(3, 4, nonlinearity="x") | nn.LSTM(3, 4)(T.zeros(3))
nn.LSTM(3, 4)(T.zeros(2, 2, 5)) | nn.LSTM(3, 4)(T.zeros(2, 2, 3), (T.zeros(2, 2, 4), T.zeros(2, 2, 4)))
nn.LSTM(3, 4)(T.zeros(2, 2, 3), (T.zeros(1, 2, 4), T.zeros(1, 2, 5)))
nn.LSTM(3, 4)(T.zeros(2, 3), (T.zeros(1, 2, 4), T.zeros(1, 2, 4))) | nn.LSTM(3, 4)(T.zeros(2, 2, 3, dtype=T.float64))
nn.GRU(3, 4)(T.zeros(3)) | nn.GRU(3, 4)(T.zeros(2, 2, 3), T.zeros(1, 4))
nn.GRU(3, 4)(T.zeros(2, 3), T.zeros(1, 2, 4)) | nn.GRU(3, 4)(T.zeros(2, 2, 3), T.zeros(1, 3, 4))
nn.LSTMCell(3, 4)(T.zeros(2, 2, 3)) | nn.LSTMCell(3, 4)(T.zeros(2, 5))
nn.LSTMCell(3, 4)(T.zeros(2, 3), (T.zeros(3, 4), T.zeros(3, 4)))
nn.LSTMCell(3, 4)(T.zeros(2, 3), (T.zeros(2, 5), T.zeros(2, 4))) | nn.GRUCell(3, 4)(T.zeros(2, 3), T.zeros(2, 2, 5))
nn.Dropout(2) | nn.Module().forward(1) | nn.Module(1) | nn.Module(a=1) | nn.Module().x
nn.Linear(2, 2).load_state_dict({}) | nn.Linear(2, 2).load_state_dict({"weight": T.zeros(2, 2), "bias": T.zeros(3)})
nn.Linear(2, 2, False).load_state_dict({"weight": T.zeros(2, 2), "other": T.zeros(2), "a.b": T.zeros(1)})
nn.Linear(2, 2).load_state_dict([1]) | nn.Linear(2, 2).load_state_dict({"weight": T.zeros(2, 2), "bias": 3})
nn.Linear(2, 2).register_parameter("a.b", None) | nn.Linear(2, 2).register_parameter("", None)
nn.Linear(2, 2).register_parameter("forward", None) | nn.Linear(2, 2).register_parameter(1, None)
nn.Linear(2, 2).register_parameter("a", T.zeros(1)) | nn.Linear(2, 2).register_buffer("a.b", None)
nn.Linear(2, 2).register_buffer("weight", None) | nn.Linear(2, 2).add_module("a.b", None)
nn.Linear(2, 2).add_module("a", 1) | nn.Linear(2, 2).__setattr__("weight", T.zeros(2)) | nn.Linear(2, 2).train(1)
nn.Linear(2, 2).get_submodule("a") | nn.Linear(2, 2).get_submodule("weight") | nn.Linear(2, 2).get_parameter("a")
nn.Linear(2, 2).get_parameter("forward") | nn.Linear(2, 2).get_buffer("weight") | nn.Linear(2, 2).to(T.int64)
nn.Sequential(nn.ReLU())[1] | nn.Sequential(1) | nn.ModuleList([nn.ReLU()])[3] | nn.ModuleDict({"a": 1})
nn.ModuleDict([("a",)]) | nn.ParameterList()(1) | nn.Parameter(T.tensor([1])) | nn.init.calculate_gain("x")
nn.init.kaiming_uniform_(T.zeros(2, 2), mode="x") | nn.init.xavier_uniform_(T.zeros(2)) | nn.init.eye_(T.zeros(2))
nn.init.dirac_(T.zeros(2)) | nn.init.orthogonal_(T.zeros(2)) | nn.init.sparse_(T.zeros(2), 0.1)
"""


@pytest.mark.parametrize("text", [part for line in ERRORS.strip().splitlines() for part in line.split(" | ")])
def test_same_complaints(text: str) -> None:
    def attempt(T: Any) -> Any:
        try:
            eval(text, {"nn": T.nn, "T": T})
        except Exception as error:
            said = str(error).replace("torch.", "mpigrad.").replace("mpigrad.nn.modules.module.", "")
            return type(error).__name__, said
        return "no error"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert attempt(mpigrad) == attempt(torch)
