"""Convolution and reshaping: against PyTorch, the formula and finite differences; what they are recorded as."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn
from scalarviz.scalar.nested import flatten, nest, shape_of
from scalarviz.tape import lower, record

NETS = {
    "conv": lambda: nn.Conv2d(2, 3, 3),
    "conv_stride": lambda: nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 2)),
    "conv_point": lambda: nn.Conv2d(3, 4, 1, bias=False),
    "conv_border": lambda: nn.Conv2d(1, 2, 2, padding=3),
    "cnn": lambda: nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3),
        nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.LayerNorm(6), nn.Linear(6, 5), nn.Softmax(dim=1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NETS)
def test_values_and_gradients_agree_with_pytorch(oracle, compare, name):
    compare(oracle("pictures"), name, NETS[name]())


def by_the_formula(x, weight, bias, stride, padding):
    """The definition in the docstring, term by term."""
    (c, h, w), (out, _, kh, kw) = x.shape, weight.shape
    rows, columns = ((n + 2 * p - k) // s + 1 for n, k, s, p in zip((h, w), (kh, kw), stride, padding, strict=True))
    y = np.zeros((out, rows, columns)) + bias[:, None, None]
    for o, r, q, k, i, j in itertools.product(*map(range, (out, rows, columns, c, kh, kw))):
        a, b = r * stride[0] + i - padding[0], q * stride[1] + j - padding[1]
        if 0 <= a < h and 0 <= b < w:
            y[o, r, q] += weight[o, k, i, j] * x[k, a, b]
    return y


small = st.integers(1, 3)
pairs = st.tuples(small, small)


@settings(max_examples=60, deadline=None)
@given(
    channels=small, out=small, kernel=pairs, stride=pairs, padding=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    rest=st.tuples(st.integers(0, 4), st.integers(0, 4)), bias=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_stride_padding_and_size(values, numbers, channels, out, kernel, stride, padding, rest, bias, seed):
    rng = np.random.default_rng(seed)
    sides = [max(1, k - 2 * p + r) for k, p, r in zip(kernel, padding, rest, strict=True)]
    x = rng.normal(size=(channels, *sides))
    net = nn.Conv2d(channels, out, kernel, stride, padding, bias=bias, seed=seed)
    shift = net.bias.data if bias else np.zeros(out)
    wanted = by_the_formula(x, net.weight.data, shift, stride, padding)
    np.testing.assert_allclose(numbers(net(values(x))), wanted, rtol=1e-12, atol=1e-13)

    def tilted(row):
        y = flatten(net(nest(row, x.shape)))
        return sv.dot(np.linspace(-1, 1, len(y)).tolist(), y)

    net.zero_grad()
    leaves = flatten(values(x))
    tilted(leaves).backward()
    upstream = np.linspace(-1, 1, wanted.size).reshape(wanted.shape)
    unit, step = np.zeros(out), net.weight.data.copy()
    for place in [(0,) * 4, tuple(n - 1 for n in step.shape)]:  # the sum is linear in each weight
        direction = np.zeros_like(step)
        direction[place] = 1.0
        slope = (by_the_formula(x, direction, unit, stride, padding) * upstream).sum()
        assert net.weight.grad[place] == pytest.approx(slope, rel=1e-12, abs=1e-12)
    point = np.zeros_like(x)
    point.flat[-1] = 1.0
    slope = (by_the_formula(point, step, unit, stride, padding) * upstream).sum()
    assert leaves[-1].grad == pytest.approx(slope, rel=1e-12, abs=1e-12)


def test_finite_differences():
    net = nn.Conv2d(2, 3, 2, stride=(1, 2), padding=(0, 1), seed=3)
    points = np.linspace(-1, 1.3, 18).tolist()
    assert sv.gradcheck(lambda *xs: sv.sum([v.tanh() for v in flatten(net(nest(xs, (2, 3, 3))))]), *points)


def test_a_convolution_is_lowered_to_one_instruction():
    net = nn.Sequential(nn.Unflatten((2, 5, 4)), nn.Conv2d(2, 6, 3, padding=1))
    tape = record(net, 40, blocks=net.parameters())
    assert sum(node.code == "const" for node in tape.nodes) == 1  # one zero is the whole border
    plan = lower(tape)
    assert [(i.kind, i.count, i.args.shape) for i in plan.body.instructions] == [("conv", 6 * 20, (20, 18))]
    assert tuple(plan.body.instructions[0].weights) == tuple(range(0, 108, 18))


def test_positions_share_operands_and_weights():
    net = nn.Conv2d(1, 4, 3)
    y = net(np.ones((1, 5, 5)))
    assert y[0][1][2].xs is y[3][1][2].xs
    assert y[0][0][0].layer.matrix is y[0][2][2].layer.matrix
    assert net.weight.held() == []  # no object for any weight


def test_gradients_are_those_of_the_forward_pass_though_weights_move():
    net = nn.Conv2d(1, 3, 3, seed=1)
    x = [[[sv.Value(0.1 * i * j) for j in range(4)] for i in range(4)]]
    y = sv.sum(flatten(net(x)))
    before = net.weight.data.sum(axis=0)[0, 0, 0]
    net.weight.data = np.zeros(net.weight.shape)
    y.backward()
    assert x[0][0][0].grad == pytest.approx(before, rel=1e-12)


def test_initial_values_are_within_pytorchs_bounds():
    net = nn.Conv2d(4, 50, (3, 5), seed=2)
    bound = 1 / math.sqrt(4 * 15)
    assert net.fans(net.weight) == net.fans(net.bias) == (60, 750)
    for array in (net.weight.data, net.bias.data):
        assert 0.9 * bound < abs(array).max() <= bound


def test_module_backward_and_nested_calls():
    net = nn.Sequential(nn.Conv2d(1, 2, 2, seed=1), nn.ReLU(), nn.Flatten(), nn.Linear(2, 1, seed=2))
    x = np.array([[[1.0, -2.0], [0.5, 3.0]]])
    (y,) = net(x)
    assert net(x.tolist())[0].data == y.data
    found = net.backward()
    assert len(found) == 4
    hidden = np.tensordot(net[0].weight.data, x, 3) + net[0].bias.data
    slope = (net[3].weight.data[0] * (hidden > 0))[:, None] * net[0].weight.data.reshape(2, 4)
    np.testing.assert_allclose(found, slope.sum(axis=0), rtol=1e-12)


def test_flatten_and_unflatten_are_inverse(values):
    x = values(np.arange(24.0).reshape(2, 3, 4))
    row = nn.Flatten()(x)
    assert [v.data for v in row] == list(range(24))
    assert nn.Unflatten((2, 3, 4))(row) == x
    assert nn.Flatten()(row) == row
    assert nn.Flatten()(x[0][0][0]) == [x[0][0][0]]
    assert shape_of(nn.Unflatten([24])(row)) == (24,)


def test_copies_names_and_text():
    net = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.AvgPool2d(2, 1), nn.Unflatten((1, 2)))
    assert repr(net).splitlines()[1:4] == [
        "  (0): Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))",
        "  (1): AvgPool2d(kernel_size=2, stride=1, padding=0)",
        "  (2): Unflatten(unflattened_size=(1, 2))",
    ]
    assert net[0].weight[1][0][2][1].name == "0.weight[1][0][2][1]"
    twin = copy.deepcopy(net)
    twin[0].weight[0][0][0][0].data = 9.0
    assert net[0].weight.data[0, 0, 0, 0] != 9.0


PICTURE = np.ones((1, 4, 4))
BAD = [
    (lambda: nn.Conv2d(0, 2, 3), "in_channels must be a whole number >= 1, got 0"),
    (lambda: nn.Conv2d(1, 2.0, 3), "out_channels must be a whole number"),
    (lambda: nn.Conv2d(1, 2, 0), r"kernel_size must be a whole number >= 1 or a pair .* got 0"),
    (lambda: nn.Conv2d(1, 2, (3, 3, 3)), r"kernel_size .* got \(3, 3, 3\)"),
    (lambda: nn.Conv2d(1, 2, "3"), "kernel_size"),
    (lambda: nn.Conv2d(1, 2, 3, stride=0), "stride must be a whole number >= 1"),
    (lambda: nn.Conv2d(1, 2, 3, stride=(1, True)), "stride"),
    (lambda: nn.Conv2d(1, 2, 3, padding=-1), "padding must be a whole number >= 0"),
    (lambda: nn.Conv2d(1, 2, 3, padding=(1, 0.5)), "padding"),
    (lambda: nn.Conv2d(3, 2, 3)(PICTURE), r"Conv2d\(3, 2\) takes a picture of shape \(3, H, W\), got \(1, 4, 4\)"),
    (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.Conv2d(3, 2, 1))(PICTURE),
     r"Conv2d\(3, 2\) '1' .*\(3, H, W\), got \(2, 2, 2\)"),
    (lambda: nn.Conv2d(1, 2, 3)(np.ones(16)), r"\(1, H, W\), got \(16,\); put nn.Unflatten"),
    (lambda: nn.Conv2d(1, 2, 3)(np.ones((5, 1, 4, 4))), r"got \(5, 1, 4, 4\)"),
    (lambda: nn.Conv2d(1, 2, 3)(1.0), r"got \(\)"),
    (lambda: nn.Conv2d(1, 2, 3)([]), r"got \(0,\)"),
    (lambda: nn.Conv2d(1, 2, 3)([[[1.0, 2.0], [3.0]]]), r"ragged: part 0 has shape \(2,\), part 1 has shape \(1,\)"),
    (lambda: nn.Conv2d(1, 2, 3)([[[1.0, "a"]]]), "must be a number, got str"),
    (lambda: nn.Conv2d(1, 2, 5)(PICTURE), r"window of \(5, 5\) is larger than the picture, \(4, 4\)"),
    (lambda: nn.Conv2d(1, 2, (7, 1), padding=1)(PICTURE), r"with its padding \(1, 1\), \(6, 6\)"),
    (lambda: nn.Linear(16, 2)(PICTURE), r"Linear\(16, 2\) takes 16 inputs .* shape \(1, 4, 4\). Put nn.Flatten"),
    (lambda: nn.Perceptron(4)(PICTURE[0]), "Put nn.Flatten"),
    (lambda: nn.Unflatten((1, 2, 2))([1.0, 2.0]), r"Unflatten\(\(1, 2, 2\)\) takes a row of 4 numbers, got .*\(2,\)"),
    (lambda: nn.Unflatten((4,))(PICTURE), r"a row of 4 numbers, got the shape \(1, 4, 4\)"),
    (lambda: nn.Unflatten(1), "needs the shape of one sample"),
    (lambda: nn.Unflatten(()), "needs the shape of one sample"),
    (lambda: nn.Unflatten((2, 0)), "a side must be a whole number >= 1"),
    (lambda: nn.Flatten()([[1.0], [1.0, 2.0]]), r"Flatten\(\): the input is ragged"),
]  # fmt: skip


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_names_the_layer_and_both_shapes(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()
