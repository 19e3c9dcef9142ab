"""What a forward computes by itself, between the layers and without any, as nodes: against the same in float64."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import InputError
from scalarviz.scalar import Value, ops
from scalarviz.scalar.kernel import kernel
from scalarviz.scalar.value import apply

sys.path.append(str(Path(__file__).parent))
from exported import agrees, by_hand, operators, session, weights


class Made(nn.Module):
    """A module of a function and its parts."""

    def __init__(self, function, **parts):
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.function(self, x)


def made(function, **parts):
    return Made(function, **parts)


# ---- operations

POSITIVE = {"log", "sqrt", "pow"}
LIMITED = {"binary_cross_entropy": (0.1, 0.9)}


@pytest.mark.parametrize("name", [name for name in ops.TABLE if not name.startswith(("test_", "doc_"))])
def test_every_operation_of_the_table_is_written(tmp_path, name):
    op = kernel(name)
    count = len(ops.get(name).args)
    low, high = LIMITED.get(name, (0.2, 2.0) if name in POSITIVE else (-3.0, 3.0))

    def function(self, x):
        inside = [low + (high - low) * sv.sigmoid(v) for v in x]
        few = [apply(op, *(inside[k + i] for i in range(count))) for k in range(3)]
        return [*few, *(apply(op, inside[k], *[0.3] * (count - 1)) for k in range(2))]

    agrees(made(function), tmp_path, (5,), given=(5,), samples=20, bound=1e-5)


def test_an_operation_of_the_user_is_written_by_its_formula(tmp_path):
    if "test_onnx_bump" not in ops.TABLE:
        sv.register("test_onnx_bump", "a b", "where(a != b, log1p(abs(a)) * erfc(b), (a < 1) + 2)", ("0", "0"))
        sv.register("test_onnx_seven", "a", "7 - 2 * -3", ("0",))
    bump, seven = kernel("test_onnx_bump"), kernel("test_onnx_seven")
    net = made(
        lambda self, x: [apply(bump, x[0], x[1]), apply(bump, x[1], x[1]), apply(seven, x[0]), apply(seven, 2.0)]
    )
    agrees(net, tmp_path, (2,), given=(2,))


# ---- any graph

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "mul", "sub", "tanh", "sigmoid", "maximum", "where", "clip", "dot", "max", "constant",
                         "weight", "layer", "sum", "product", "relu", "mean"]),
        st.integers(0, 2**20), st.integers(0, 2**20), st.integers(0, 2**20),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


class Random(nn.Module):
    """A graph that numbers say: each step takes some of the values that there are and makes more."""

    def __init__(self, steps):
        self.steps, self.w = steps, nn.Parameter(np.linspace(-1, 1, 6).reshape(2, 3))
        self.layer = nn.Linear(3, 2, seed=4)

    def forward(self, x):
        there = list(x)
        for what, *numbers in self.steps:
            a, b, c = (there[n % len(there)] for n in numbers)
            there += self.step(what, a, b, c, numbers)
        return there[-5:]

    def step(self, what, a, b, c, numbers):
        if what in ("tanh", "sigmoid", "relu"):
            return [getattr(sv, what)(a)]
        if what in ("add", "mul", "sub", "maximum"):
            return [sv.tanh(getattr(sv, what)(a, b))]
        if what == "weight":
            return [self.w[numbers[0] % 2][numbers[1] % 3] * a]
        if what == "constant":
            return [Value(0.25 * (numbers[0] % 8)), a * 0.5 + numbers[1] % 3]
        ways = {
            "where": lambda: [sv.where(a > b, c, a)],
            "clip": lambda: [sv.clip(a, -1.0, 1.0), sv.clip(a, b, b + 1.0)],
            "dot": lambda: [sv.dot([a, b], [c, 0.5]), sv.dot([0.5, 0.25, 0.25], [a, b, c], a)],
            "max": lambda: [sv.max([a, b, c]), sv.min([a, b])],
            "layer": lambda: list(self.layer([a, b, c])),
            "sum": lambda: [sv.tanh(sv.sum([a, b, c, 1.0, a]))],
            "product": lambda: [sv.tanh(v) for v in self.w @ [a, b, c]],
            "mean": lambda: [sv.mean([a, b])],
        }
        return ways[what]()


@settings(max_examples=25, deadline=None)
@given(steps=STEPS)
def test_any_graph_is_written(tmp_path_factory, steps):
    agrees(Random(steps), tmp_path_factory.getbasetemp(), (3,), given=(3,), samples=2)


# ---- parts of graphs


def conv_by_hand(self, x):
    patches = [[x[y + i][z + j] for i in range(2) for j in range(2)] for y in range(3) for z in range(3)]
    return [self.kernels @ patch + self.bias for patch in patches]


def recurrent(self, x):
    h = [Value(0.0), Value(0.0)]
    for number in x:
        h = [v.tanh() for v in self.cell([number, *h])]
    return h


def residual(self, x):
    for layer in self.layers:
        x = [a + b.relu() for a, b in zip(x, layer(x), strict=True)]
    return x


GRAPHS = {
    "a line": (lambda: made(lambda self, x: self.slope * x + self.offset, slope=sv.Weight(2.0), offset=sv.Weight(1.0)),
               (), {}),
    "rows of a parameter": (lambda: made(lambda self, x: [(self.w[k] * x[k]).sum() for k in range(3)],
                                         w=nn.Parameter(np.arange(6.0).reshape(3, 2))), (3,), {}),
    "a product with a parameter": (lambda: made(lambda self, x: self.w @ x + self.b, w=nn.Parameter(np.ones((2, 3))),
                                                b=nn.Parameter([1.0, 2.0])), (3,), {}),
    "a convolution by hand": (lambda: made(conv_by_hand, kernels=nn.Parameter(np.arange(8.0).reshape(2, 4)),
                                           bias=nn.Parameter([0.5, -0.5])), (4, 4), {}),
    "a cell that is called again": (lambda: made(recurrent, cell=nn.Linear(3, 2, seed=5)), (6,), {}),
    "residuals": (lambda: made(residual, layers=[nn.Linear(4, 4, seed=k) for k in range(3)]), (4,), {}),
    "tied weights": (lambda: made(lambda self, x: [a.tanh() for a in self.layer(self.layer(x))],
                                  layer=nn.Linear(3, 3, seed=1)), (3,), {}),
    "sums of weights": (lambda: made(lambda self, x: [x[0] * (self.w * self.w).sum(), self.w.sum() + x[1],
                                                      abs(self.w).sum()], w=nn.Parameter([1.0, -2.0, 3.0])), (2,), {}),
    "a table": (lambda: made(lambda self, x: [self.t[x[0]][1], self.t[x[1]][0] * 2.0, sv.gather(self.u, x[2])],
                             t=nn.Parameter(np.arange(8.0).reshape(4, 2)), u=nn.Parameter([5.0, 6.0, 7.0, 8.0])),
                (3,), {"ids": 4}),
    "an id that is a number too": (lambda: made(lambda self, x: [*self.t(x[0]), x[0] * 0.5 + x[1]],
                                                t=nn.Embedding(4, 2, seed=0)), (2,), {"ids": 4}),
    "softmax": (lambda: made(lambda self, x: sv.softmax([10.0 * v for v in x])), (5,), {}),
    "log-sum-exp": (lambda: made(lambda self, x: sv.logsumexp(x)), (5,), {}),
    "arrays": (lambda: made(lambda self, x: (np.array(x).reshape(2, 2).T @ self.w).exp(),
                            w=nn.Parameter(np.eye(2))), (4,), {}),
    "an input as it is": (lambda: made(lambda self, x: [x[2], x[0]]), (3,), {}),
    "an input, part of it twice": (lambda: made(lambda self, x: [*x, *x]), (3,), {}),
    "a number that is known": (lambda: made(lambda self, x: [x[0], 2.5, Value(-1.0)]), (1,), {}),
    "known numbers alone": (lambda: made(lambda self, x: [self.w[0] * 2.0, Value(3.0)], w=nn.Parameter([4.0])),
                            (2,), {}),
    "some of a layer's numbers": (lambda: made(lambda self, x: [self.a(x)[1], self.a(x)[0] + x[2]],
                                               a=nn.Linear(3, 2, seed=0)), (3,), {}),
    "a layer of two others": (lambda: made(lambda self, x: self.c([*self.a(x), *self.b(x[:2]), 1.0]),
                                           a=nn.Linear(3, 2, seed=0), b=nn.Linear(2, 2, seed=1),
                                           c=nn.Linear(5, 2, seed=2)), (3,), {}),
    "channels of a picture": (lambda: made(lambda self, x: self.c([[[v * 2.0 for v in row] for row in x[0]], x[1]]),
                                           c=nn.Conv2d(2, 2, 2, seed=0)), (2, 3, 3), {}),
    "an activation of a list": (lambda: made(lambda self, x: [self.a(v) for v in x], a=nn.Tanh()), (3,), {}),
    "ragged": (lambda: made(lambda self, x: [[x[0]], [x[1], x[2]]]), (3,), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_a_function_of_ones_own_is_written(tmp_path, name):
    make, shape, more = GRAPHS[name]
    net = make()
    model = agrees(net, tmp_path, shape, given=shape, **more)
    written, known = weights(model), net.state_dict()
    for part in known.keys() & written.keys():
        np.testing.assert_array_equal(written[part], known[part].astype(np.float32))
    assert set(known) <= set(written)


def test_what_is_alike_is_one_node(tmp_path):
    """100 numbers, each the tangent of a product and a sum: three nodes for all of them, none for each."""
    net = made(lambda self, x: [(v * 2.0 + 1.0).tanh() for v in x])
    assert operators(agrees(net, tmp_path, (100,), given=(100,))) == ["Mul", "Add", "Tanh"]


def test_a_layer_at_many_places_is_one_product(tmp_path):
    net = made(lambda self, x: [self.layer([v, v * v]) for v in x], layer=nn.Linear(2, 3, seed=0))
    assert operators(agrees(net, tmp_path, (9,), given=(9,))).count("MatMul") == 1


class Doubled(nn.Linear):
    """A layer that computes something else than the one that it is made of."""

    def forward(self, x):
        return [2.0 * v for v in super().forward(x)]


class Named(nn.Linear):
    """A layer of another name."""


def test_a_subclass_is_written_as_what_it_computes(tmp_path):
    assert "Mul" in operators(agrees(Doubled(2, 3, seed=0), tmp_path, (2,)))
    assert operators(agrees(Named(2, 3, seed=0), tmp_path, (2,))) == ["Gemm"]


def test_a_layer_whose_forward_was_replaced_is_written_as_what_it_computes(tmp_path):
    net = nn.Sequential(nn.Linear(2, 2, seed=0), nn.ReLU())
    net[0].forward = lambda x: [x[0] - x[1], x[1]]
    assert "Gemm" not in operators(agrees(net, tmp_path, (2,), given=(2,)))


def test_a_module_is_written_in_evaluation_and_left_in_training(tmp_path):
    net = nn.Sequential(nn.Linear(3, 4, seed=0), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2, seed=1))
    net[2].eval()
    assert operators(agrees(net, tmp_path, (3,))) == ["Gemm", "BatchNormalization", "Gemm"]
    assert [module.training for module in net] == [True, True, False, True]
    branch = made(lambda self, x: [v * (5.0 if self.training else 1.0) for v in x])
    agrees(branch, tmp_path, (2,), given=(2,))


def test_a_norm_without_running_statistics_takes_those_of_the_batch(tmp_path):
    net = nn.Sequential(nn.Linear(3, 4, seed=0), nn.BatchNorm1d(4, track_running_stats=False))
    net.to_onnx(tmp_path / "net.onnx")
    x = np.random.default_rng(0).standard_normal((6, 3))
    [got] = session(tmp_path / "net.onnx").run(None, {"input": x.astype(np.float32)})
    wanted = np.array([[v.data for v in row] for row in net[1]([net[0](row.tolist()) for row in x])])
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_several_inputs_and_outputs(tmp_path):
    class Both(nn.Module):
        def __init__(self):
            self.a, self.b = nn.Linear(2, 3, seed=0), nn.Linear(4, 3, seed=1)

        def forward(self, x, y):
            left, right = self.a(x), self.b(y)
            return [p + q for p, q in zip(left, right, strict=True)], [[v] for v in right]

    net = Both()
    net.to_onnx(tmp_path / "net.onnx", [(2,), (4,)])
    run = session(tmp_path / "net.onnx")
    assert [port.name for port in run.get_inputs()] == ["input_0", "input_1"]
    assert [port.shape for port in run.get_outputs()] == [["N", 3], ["N", 3, 1]]
    x, y = np.ones((2, 2), np.float32), np.full((2, 4), 0.5, np.float32)
    first, second = run.run(None, {"input_0": x, "input_1": y})
    sums, right = net(x[0].tolist(), y[0].tolist())
    np.testing.assert_allclose(first, [[v.data for v in sums]] * 2, rtol=1e-6)
    np.testing.assert_allclose(second[0].ravel(), [v.data for [v] in right], rtol=1e-6)


def test_attention_itself_takes_three_inputs(tmp_path):
    net = nn.MultiheadAttention(4, 2, seed=0)
    net.to_onnx(tmp_path / "net.onnx", [(3, 4), (5, 4), (5, 4)])
    q, k = np.random.default_rng(0).standard_normal((2, 1, 5, 4)).astype(np.float32)
    got = session(tmp_path / "net.onnx").run(None, {"input_0": q[:, :3], "input_1": k, "input_2": k})
    outputs, shares = net(q[0, :3].tolist(), k[0].tolist(), k[0].tolist())
    for found, wanted in zip(got, (outputs, shares), strict=True):
        np.testing.assert_allclose(found[0], [[v.data for v in row] for row in wanted], atol=1e-6)


def test_weights_that_belong_to_nobody_are_in_the_file_too(tmp_path):
    outside = sv.Weight(3.0)
    agrees(made(lambda self, x: [outside * v for v in x]), tmp_path, (2,), given=(2,))


def test_one_sample_and_many(tmp_path):
    net = nn.Sequential(nn.Linear(3, 2, seed=0), nn.Softmax())
    for samples in (1, 2, 1000):
        agrees(net, tmp_path, (3,), samples=samples)


def test_double_precision(tmp_path):
    """onnxruntime has not every node in float64; the standard's own reference has."""
    from onnx.reference import ReferenceEvaluator

    net = nn.Sequential(nn.Linear(3, 4, seed=0), nn.ELU(0.3), nn.LayerNorm(4), nn.Linear(4, 2, seed=1), nn.GELU())
    net.to_onnx(tmp_path / "net.onnx", dtype="float64")
    x = np.random.default_rng(0).standard_normal((5, 3))
    [got] = ReferenceEvaluator(str(tmp_path / "net.onnx")).run(None, {"input": x})
    wanted = by_hand(net, x)
    assert got.dtype == np.float64
    assert np.linalg.norm(got - wanted) <= 1e-7 * np.linalg.norm(wanted)
    np.testing.assert_array_equal(weights(onnx.load(tmp_path / "net.onnx"))["0.weight"], net[0].weight.data)


def test_numbers_beyond_float32_are_refused(tmp_path):
    net = nn.Linear(1, 1, seed=0)
    net.weight.data = [[1e300]]
    with pytest.raises(InputError, match=r"weight.*float64"):
        net.to_onnx(tmp_path / "net.onnx")
    net.to_onnx(tmp_path / "net.onnx", dtype="float64")
    net.weight.data = [[math.inf]]
    net.to_onnx(tmp_path / "net.onnx")  # an infinity is one in float32 too


class Several(nn.Module):
    """What it returns is made of a layer's outputs."""

    def __init__(self, returned):
        self.layer, self.returned = nn.Linear(2, 2, seed=0), returned

    def forward(self, x):
        return self.returned(x, self.layer(x))


@pytest.mark.parametrize("returned", [
    lambda x, y: (y, [y[0]]), lambda x, y: ([y[1], y[0]], y), lambda x, y: (y, y), lambda x, y: (x, y, x),
    lambda x, y: (y, [v.tanh() for v in y]),
])  # fmt: skip
def test_an_output_may_be_made_of_another_one_or_be_it(tmp_path, returned):
    net = Several(returned)
    net.to_onnx(tmp_path / "net.onnx", (2,))
    x = np.array([[0.3, -0.4], [1.5, 0.25]], np.float32)
    rows = [[[v.data for v in part] for part in net(row.tolist())] for row in x]
    for got, wanted in zip(
        session(tmp_path / "net.onnx").run(None, {"input": x}), zip(*rows, strict=True), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
