"""Operators on Values: gradients as PyTorch has them, layers that engines know, and inputs that do not fit.

Each operator is called by itself, through the table that files are loaded by, so that one that is wrong is named.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.refusals import Refusal
from scalarviz import nn, optim
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.imported.operators.table import TABLE, Call
from scalarviz.nn._array import Values, values
from scalarviz.onnx.graph import Node
from scalarviz.scalar.value import as_value
from scalarviz.tape.lower import lower

OPSET = 22


def call(operator, inputs, opset=OPSET, outputs=1, **attributes):
    names = tuple(f"y{k}" for k in range(outputs))
    node = Node(operator, tuple("x" * (k + 1) for k in range(len(inputs))), names, attributes, "n")
    return TABLE[operator](Call(node, tuple(inputs), opset))


def as_values(array):
    return values([as_value(x) for x in np.asarray(array, np.float64).ravel().tolist()], np.shape(array))


def i64(*numbers):
    return np.array(numbers, np.int64)


# ---- PyTorch

X = np.random.default_rng(3).normal(size=(2, 4, 6))
PICTURE = np.random.default_rng(4).normal(size=(2, 4, 7, 6))
KERNEL = np.random.default_rng(5).normal(size=(6, 2, 3, 2))
BIAS = np.random.default_rng(6).normal(size=6)
ROWS, TABLE_2 = np.random.default_rng(7).normal(size=(3, 5)), np.random.default_rng(8).normal(size=(5, 4))
TIES = np.array([[1.0, -2.0, 1.0, 0.0], [0.0, 0.0, 3.0, 3.0]])
CHANNELS = [np.random.default_rng(k).normal(size=4) for k in range(9, 13)]

CASES = {
    "abs at 0": ("Abs", [TIES], {}, lambda t, x: t.abs(x)),
    "relu at 0": ("Relu", [TIES], {}, lambda t, x: t.relu(x)),
    "leaky relu at 0": ("LeakyRelu", [TIES], {"alpha": 0.1}, lambda t, x: t.nn.functional.leaky_relu(x, 0.1)),
    "clip on its bounds": ("Clip", [TIES, 0.0, 1.0], {}, lambda t, x, *_: t.clamp(x, 0.0, 1.0)),
    "max of equals": ("Max", [TIES, TIES[:, ::-1].copy()], {}, lambda t, a, b: t.maximum(a, b)),
    "min of equals": ("Min", [TIES, TIES[:, ::-1].copy()], {}, lambda t, a, b: t.minimum(a, b)),
    "largest, the first of equals": (
        "MaxPool", [TIES[:, None]], {"kernel_shape": (4,)}, lambda t, x: t.nn.functional.max_pool1d(x, 4),
    ),
    "broadcast product": ("Mul", [X, X[0, :, :1]], {}, lambda t, a, b: a * b),
    "power": ("Pow", [np.abs(X), X[0]], {}, lambda t, a, b: a**b),
    "gelu": ("Gelu", [X], {}, lambda t, x: t.nn.functional.gelu(x)),
    "selu": ("Selu", [X], {}, lambda t, x: t.nn.functional.selu(x)),
    "celu": ("Celu", [X], {"alpha": 0.7}, lambda t, x: t.nn.functional.celu(x, 0.7)),
    "mish": ("Mish", [X], {}, lambda t, x: t.nn.functional.mish(x)),
    "hard swish": ("HardSwish", [X], {}, lambda t, x: t.nn.functional.hardswish(x)),
    "prelu": ("PRelu", [X, np.full((4, 1), 0.2)], {}, lambda t, x, a: t.nn.functional.prelu(x, a.reshape(-1))),
    "softmax": ("Softmax", [X], {"axis": 1}, lambda t, x: t.softmax(x, 1)),
    "log softmax": ("LogSoftmax", [X], {}, lambda t, x: t.log_softmax(x, -1)),
    "matrix product": ("MatMul", [X, X.transpose(0, 2, 1)], {}, lambda t, a, b: a @ b),
    "gemm": (
        "Gemm", [ROWS, TABLE_2.T.copy(), TABLE_2[0]], {"transB": 1, "alpha": 0.5, "beta": 2.0},
        lambda t, a, b, c: 0.5 * (a @ b.T) + 2.0 * c,
    ),
    "convolution in groups": (
        "Conv", [PICTURE, KERNEL, BIAS],
        {"group": 2, "strides": (2, 1), "dilations": (2, 1), "pads": (1, 0, 1, 0)},
        lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, (2, 1), (1, 0), (2, 1), 2),
    ),
    "convolution of rows, the same sides": (
        "Conv", [X, KERNEL[:4, :, :, 0].repeat(2, 1)], {"auto_pad": "SAME_UPPER"},
        lambda t, x, w: t.nn.functional.conv1d(x, w, padding="same"),
    ),
    "transposed convolution": (
        "ConvTranspose", [PICTURE, KERNEL[:4].copy(), np.ones(4)],
        {"group": 2, "strides": (2, 3), "pads": (1, 0, 1, 0), "dilations": (2, 1), "output_padding": (1, 2)},
        lambda t, x, w, b: t.nn.functional.conv_transpose2d(x, w, b, (2, 3), (1, 0), (1, 2), 2, (2, 1)),
    ),
    "sum by names": (
        "Einsum", [X, X.transpose(1, 2, 0).copy()], {"equation": "bij, kjb -> bik"},
        lambda t, a, b: t.einsum("bij,kjb->bik", a, b),
    ),
    "sum by names, of three": (
        "Einsum", [X[0], X[1].T.copy(), X[0]], {"equation": "ij,jk,il->kl"},
        lambda t, a, b, c: t.einsum("ij,jk,il->kl", a, b, c),
    ),
    "diagonal": ("Einsum", [X[:, :, :4].copy()], {"equation": "...ii"}, lambda t, x: t.einsum("bii->b", x)),
    "parts replaced": (
        "ScatterND", [X, np.array([[0, 2], [1, 0]]), X[0, :2]], {},
        lambda t, x, u: t.index_put(x, (t.tensor([0, 1]), t.tensor([2, 0])), u),
    ),
    "a larger picture": (
        "Resize", [PICTURE, np.empty(0, np.float32), np.array([1, 1, 2, 1.5], np.float32)], {"mode": "cubic"},
        lambda t, x, *_: t.nn.functional.interpolate(x, scale_factor=(2, 1.5), mode="bicubic"),
    ),
    "a smaller picture": (
        "Resize", [PICTURE, np.empty(0, np.float32), np.empty(0, np.float32), i64(2, 4, 3, 4)],
        {"mode": "linear", "antialias": 1, "exclude_outside": 1},
        lambda t, x, *_: t.nn.functional.interpolate(x, (3, 4), mode="bilinear", antialias=True),
    ),
    "mean pool": (
        "AveragePool", [PICTURE],
        {"kernel_shape": (3, 2), "strides": (2, 2), "pads": (1, 1, 1, 1), "ceil_mode": 1, "count_include_pad": 1},
        lambda t, x: t.nn.functional.avg_pool2d(x, (3, 2), (2, 2), (1, 1), True, True),
    ),
    "max pool": (
        "MaxPool", [PICTURE], {"kernel_shape": (3, 2), "dilations": (1, 2), "pads": (1, 0, 1, 0)},
        lambda t, x: t.nn.functional.max_pool2d(x, (3, 2), (1, 1), (1, 0), (1, 2)),
    ),
    "batch norm": (
        "BatchNormalization", [PICTURE, *CHANNELS[:3], np.abs(CHANNELS[3])], {},
        lambda t, x, w, b, m, v: (x - m[:, None, None]) / t.sqrt(v + 1e-5)[:, None, None] * w[:, None, None]
        + b[:, None, None],
    ),
    "batch norm in training": (
        "BatchNormalization", [PICTURE, *CHANNELS[:2], np.zeros(4), np.ones(4)], {"training_mode": 1},
        lambda t, x, w, b, m, v: t.nn.functional.batch_norm(x, None, None, w, b, True),
    ),
    "layer norm": (
        "LayerNormalization", [X, X[0], X[1]], {"axis": 1},
        lambda t, x, w, b: t.nn.functional.layer_norm(x, (4, 6), w, b),
    ),
    "group norm": (
        "GroupNormalization", [PICTURE, *CHANNELS[:2]], {"num_groups": 2},
        lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b),
    ),
    "instance norm": (
        "InstanceNormalization", [PICTURE, *CHANNELS[:2]], {},
        lambda t, x, w, b: t.nn.functional.instance_norm(x, None, None, w, b),
    ),
    "mean": ("ReduceMean", [X, i64(0, 2)], {}, lambda t, x: x.mean((0, 2), keepdim=True)),
    "log of sums of exponentials": ("ReduceLogSumExp", [X, i64(1)], {"keepdims": 0}, lambda t,
        x: t.logsumexp(x, 1)),
    "length": ("ReduceL2", [X, i64(-1)], {"keepdims": 0}, lambda t, x: x.norm(dim=-1)),
    "product": ("ReduceProd", [X, i64(2)], {"keepdims": 0}, lambda t, x: x.prod(2)),
    "choice": ("Where", [X > 0, X, X[::-1].copy()], {}, lambda t, c, a, b: t.where(c, a, b)),
    "rows of a table": ("Gather", [TABLE_2, i64(0, 4, 0)], {}, lambda t, x, *_: x[[0, 4, 0]]),
    "border of what is inside": (
        "Pad", [X, i64(0, 0, 2, 0, 0, 1)], {"mode": "reflect"},
        lambda t, x: t.nn.functional.pad(x, (2, 1), mode="reflect"),
    ),
}  # fmt: skip


ROUGH = {"celu", "selu"}
"""The standard's constants of selu are those of float32, and PyTorch takes 1 / alpha of celu in float32."""


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_pytorchs(torch, name):
    operator, inputs, attributes, function = CASES[name]
    near = 1e-6 if name in ROUGH else 1e-9
    arrays = [np.asarray(x) for x in inputs]
    floats = [x.dtype == np.float64 and x.ndim > 0 for x in arrays]
    made = [as_values(x) if is_float else x for x, is_float in zip(arrays, floats, strict=True)]
    tensors = [torch.tensor(x, requires_grad=is_float) for x, is_float in zip(arrays, floats, strict=True)]
    (found, *_), wanted = (
        call(operator, made, **attributes),
        function(torch, *[x for x in tensors if x.dtype != torch.int64]),
    )
    np.testing.assert_allclose(found.data.reshape(wanted.shape), wanted.detach().numpy(), rtol=near, atol=1e-12)
    shares = np.random.default_rng(0).normal(size=found.shape)
    (found * shares).sum().backward()
    (wanted * torch.tensor(shares.reshape(wanted.shape))).sum().backward()
    for x, tensor, is_float in zip(made, tensors, floats, strict=True):
        if is_float:
            expected = 0.0 if tensor.grad is None else tensor.grad.numpy()
            np.testing.assert_allclose(x.grad, np.broadcast_to(expected, x.shape), rtol=near, atol=0.1 * near)


# ---- what engines make of it


class Operators(nn.Module):
    """A module whose forward is a function of one array with a side of 1 in front, for the sample."""

    def __init__(self, function, shape, **parts):
        self.function, self.shape = function, shape
        for name, part in parts.items():
            setattr(self, name, nn.Parameter(np.asarray(part, float)))

    def forward(self, x):
        return self.function(self, values(x, (1, *self.shape))).ravel().tolist()


WEIGHT, BOTH = np.arange(12.0).reshape(4, 3), {"weight": np.arange(12.0).reshape(4, 3), "bias": np.ones(4)}


def gemm(net, x):
    return call("Gemm", [x, net.weight.as_values(), net.bias.as_values()], transB=1)[0]


def product_and_sum(net, x):
    return call("Add", [call("MatMul", [x, net.weight.as_values().T])[0], net.bias.as_values()])[0]


def convolution(net, x):
    return call("Conv", [x, net.weight.as_values()], pads=(1, 1, 1, 1))[0]


def gather(net, x):
    return call("Gather", [net.weight.as_values(), x])[0]


@pytest.mark.parametrize(("net", "inputs", "unit"), [
    (Operators(gemm, (3,), **BOTH), 3, "LAYER 3 -> 4 with bias"),
    (Operators(product_and_sum, (3,), **BOTH), 3, "LAYER 3 -> 4 with bias"),
    (Operators(convolution, (1, 5, 5), weight=np.ones((2, 1, 2, 2))), 25, "CONV 4 -> 2 at 36 positions"),
    (Operators(gather, (1,), weight=WEIGHT), 1, "GATHER gather of 3"),
])  # fmt: skip
def test_operators_with_weights_are_layers_for_engines(net, inputs, unit):
    assert unit in str(lower(sv.record(net, inputs)))
    if net.function in (gemm, product_and_sum):
        assert [y.data for y in net([1.0, 2.0, 3.0])] == (WEIGHT @ [1.0, 2.0, 3.0] + 1).tolist()


def test_a_row_that_is_not_there_is_named():
    net = Operators(gather, (1,), weight=WEIGHT)
    assert [y.data for y in net([2.0])] == WEIGHT[2].tolist()
    Refusal(net, InputError, ("no row 4", "table of 4")).check([4.0])


def trained(net, inputs, predict=False, **options):
    """The inputs of a run, what it predicts before it trains, its weights and its loss after three steps."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (8, inputs)) if inputs == 1 else rng.normal(size=(8, inputs))
    rule, data = optim.SGD(net.parameters(), lr=0.1), (x, rng.normal(size=(8, 2)))
    with sv.Run(net, nn.MSELoss(), rule, data, batch_size=4, seed=3, dtype="float64", **options) as run:
        before = run.predict(x) if predict else None
        run.step(3)
        return x, before, [np.array(part.data) for part in net.parameters()], run.loss


def test_constants_that_a_computed_number_chooses_are_found_by_comparing():
    table = np.array([[1.0, -1.0], [2.0, 5.0], [0.5, 3.0]])
    chosen = Operators(
        lambda net, x: call("Mul", [call("Gather", [table, x])[0], net.w.as_values()])[0], (1,), w=[1, 1]
    )
    x, found, _, _ = trained(chosen, 1, predict=True, engine="numpy")
    np.testing.assert_allclose(found, table[x[:, 0]])


def normed(net, x):
    parts = [net.scale.as_values(), net.shift.as_values(), np.zeros(2), np.ones(2)]
    found = call("Gemm", [x, net.weight.as_values()], transB=1)[0]
    return call("BatchNormalization", [found, *parts], training_mode=1, outputs=3)[0]


def dropped(net, x):
    return call("Gemm", [call("Dropout", [x, np.float32(0.5), np.array(True)])[0], net.weight.as_values()], transB=1)[0]


START = np.array([[0.3, -0.2, 0.5], [0.1, 0.4, -0.6]])
TRAINED = {
    "norm": (lambda: Operators(normed, (3,), weight=START, scale=[1, 1], shift=[0, 0]),
             lambda: nn.Sequential(nn.Linear(3, 2, bias=False), nn.BatchNorm1d(2)), ("objects", "numpy")),
    "dropout": (lambda: Operators(dropped, (3,), weight=START),
                lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 2, bias=False)), ("numpy",)),
}  # fmt: skip


@pytest.mark.parametrize(("name", "engine"), [(name, engine) for name, row in TRAINED.items() for engine in row[2]])
def test_in_training_they_are_our_own_layers(name, engine):
    """These are compared with PyTorch elsewhere."""
    net, twin = (make() for make in TRAINED[name][:2])
    next(part for part in twin if isinstance(part, nn.Linear)).weight.data = START
    _, _, found, loss = trained(net, 3, engine=engine)
    _, _, wanted, twins = trained(twin, 3, engine=engine)
    assert loss == pytest.approx(twins, rel=1e-9)
    for array, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(array, other, rtol=1e-9, atol=1e-12)


# ---- what does not fit

SIX, THREE, HALF, MOST = np.ones(6), np.ones(3), as_values([0.5]), ("134,217,728 numbers",)
UNFIT = {
    "sides": ("Reshape", [SIX, i64(4, 2)], {}, "(6,)", "4, 2"),
    "computed sides": ("Reshape", [SIX, as_values([3.0, 2.0])], {}, "input 1", "computed"),
    "no sides": ("Reshape", [SIX], {}, "input 1 is missing"),
    "matrices": ("MatMul", [as_values(np.ones((2, 3))), np.ones((2, 3))], {}, "(2, 3) and (2, 3)"),
    "channels": ("Conv", [np.ones((1, 3, 5)), np.ones((2, 2, 3))], {}, "1 groups"),
    "window": ("MaxPool", [np.ones((1, 1, 3))], {"kernel_shape": (5,)}, "larger than the input"),
    "border": ("MaxPool", [np.ones((1, 1, 3))], {"kernel_shape": (2,), "auto_pad": "MORE"}, "SAME_UPPER",
        "SAME_LOWER"),
    "shapes": ("Add", [THREE, as_values(np.ones(4))], {}, "(3,)", "(4,)"),
    "no slope": ("Floor", [HALF], {}, "derivative"), "rounding": ("Cast", [HALF], {"to": 7}, "int64"),
    "a type": ("Cast", [np.ones(2)], {"to": 16}, "16"), "an index": ("Gather", [THREE, i64(3)], {}, "-3", "2"),
    "terabytes": ("ConstantOfShape", [i64(1 << 20, 1 << 20)], {}, *MOST),
    "many Values": ("Expand", [as_values([1.0]), i64(1 << 30)], {}, "2,000,000 Values"),
    "a wide border": ("Pad", [np.ones(2), i64(1 << 60, 1 << 60)], {}, *MOST),
    "tiles": ("Tile", [np.ones(2), i64(1 << 40)], {}, *MOST),
    "a range": ("Range", [np.array(0), np.array(1 << 40), np.array(1)], {}, *MOST),
    "an outer sum": ("Add", [as_values(np.ones((2000, 1))), np.ones(2000)], {}, "2,000,000 Values"),
    "a pool's border": ("AveragePool", [np.ones((1, 1, 3))], {"kernel_shape": (2,), "pads": (0, 1 << 40)},
        "134,217,728"),
    "a scale": ("Resize", [np.ones((1, 1, 4)), np.ones(0), np.array([1.0, 1.0, 1e9])], {}, "65536"),
    "a ratio": ("Dropout", [np.ones(2), np.float32(1.5), np.array(True)], {}, "1.5"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_is_said_in_one_line_that_names_the_node(name):
    operator, inputs, attributes, *facts = UNFIT[name]
    given = [np.asarray(x) if isinstance(x, np.generic) else x for x in inputs]
    with pytest.raises(InputError, match=f"^{operator} 'n': [^\n]*$") as caught:
        call(operator, given, **attributes)
    assert [fact for fact in facts if fact not in str(caught.value)] == []


SETTINGS = {
    "axis": (0, 1, -1, 5, -7), "axes": ((0,), (1, -1), (9,), ()), "perm": ((1, 0), (0, 0)), "group": (0, 1, 2, -1),
    "kernel_shape": ((2,), (1, 1), (0,), ()), "strides": ((1,), (0,), (1, 2)), "to": (1, 7, 9, 99),
        "keepdims": (0, 1),
    "pads": ((0, 0), (1, 1, 1, 1), (-1, 0), (10**9, 10**9)), "auto_pad": ("SAME_UPPER", "X"),
        "num_groups": (0, 1, 2),
    "blocksize": (0, 1, 2), "mode": ("DCR", "reflect", "constant", "bad"), "p": (0, 1, 2), "alpha": (0.5, "a"),
    "batch_dims": (0, 1, -1), "size": (0, 3), "value": (np.ones(1), np.ones(3)), "dtype": (1, 55),
        "split": ((1, 1),),
}  # fmt: skip


@st.composite
def operands(draw):
    sides = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    kind = draw(st.sampled_from(["Values", "float32", "int64", "bool", "odd"]))
    if kind == "odd":
        return np.array(draw(st.lists(st.sampled_from([0, 1, 2, -1, 2**40, -(2**62)]), max_size=3)), np.int64)
    numbers = np.random.default_rng(draw(st.integers(0, 99))).normal(size=sides) * 3
    return as_values(numbers) if kind == "Values" else np.asarray(numbers).astype(kind)


@settings(max_examples=400)
@given(
    st.sampled_from(sorted(TABLE)),
    st.lists(st.none() | operands(), max_size=4),
    st.dictionaries(st.sampled_from(sorted(SETTINGS)), st.integers(0, 9), max_size=3),
    st.sampled_from([9, 12, 17, 22]),
)
def test_whatever_is_given_an_operator_computes_or_says_why_not(operator, inputs, chosen, opset):
    attributes = {name: SETTINGS[name][k % len(SETTINGS[name])] for name, k in chosen.items()}
    try:
        found = call(operator, inputs, opset, outputs=2, **attributes)
    except ScalarvizError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return
    assert all(isinstance(x, Values) or x.dtype != object for x in found)
