"""Sums that are typed: how few instructions they become, and that they mean what was typed."""

from __future__ import annotations

import itertools
import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine.arrays.program import RowProgram
from scalarviz.run.opened.uses import uses_in
from scalarviz.tape import lower, record

N = 6
W, V, B = (nn.Parameter(np.random.default_rng(k).normal(size=shape)) for k, shape in enumerate([(N, N), (N, N), (N,)]))


def linear(x, matrix=W):
    return [sum(w * v for w, v in zip(row, x, strict=True)) for row in matrix]


def rows(x):
    """Rows that are neither inputs nor functions of inputs alone."""
    return [(v * w).tanh() for v, w in zip(x, B, strict=True)]


def each(f, *lists):
    return [f(*numbers) for numbers in zip(*lists, strict=True)]


def made(graph, inputs=N, **more):
    """What a graph becomes, with counts of rows: ``layer 6``."""
    body = lower(record(graph, inputs, **more).only(outputs=True, loss=True)).body
    return [f"{i.op or i.kind} {i.count}" for i in body.instructions]


def softmax(r):
    e = [v.exp() for v in r]
    total = sum(e)
    return [v / total for v in e]


def mean(r):
    return sum(r) / len(r)


def layer_norm(r):
    m = mean(r)
    scale = (sum((v - m) ** 2 for v in r) / len(r) + 1e-5) ** -0.5
    return [(v - m) * scale for v in r]


def rms_norm(r):
    scale = (sum(v * v for v in r) / len(r) + 1e-5) ** -0.5
    return [v * scale for v in r]


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (linear, ["layer 6"]),
        (lambda x: each(lambda a, b: a + b, linear(x), B), ["layer 6"]),
        (lambda x: each(lambda a, b: b + a, linear(x), B), ["layer 6"]),
        (lambda x: each(lambda a, r: a + r, linear(x), x), ["layer 6", "add 6"]),
        (lambda x: each(lambda a, r, b: r + (a + b), linear(x), x, B), ["layer 6", "add 6"]),
        (lambda x: each(lambda a, r: a - r, linear(x), x), ["layer 6", "sub 6"]),
        (lambda x: each(lambda a, r: r - a, linear(x), x), ["layer 6", "sub 6"]),
        (lambda x: each(lambda a, r: -(a + r), linear(x), x), ["layer 6", "add 6", "neg 6"]),
        (lambda x: each(lambda a: a * 0.5, linear(x)), ["layer 6", "mul 6"]),
        (lambda x: each(lambda a, b: a + b, linear(x), linear(x, V)), ["layer 12", "add 6"]),
        (lambda x: each(lambda a, r: a + r, nn.Linear(N, N)(x), x), ["layer 6", "add 6"]),
        (lambda x: each(lambda a, b, r: a + b + r, nn.Linear(N, N, bias=False)(x), B, x), ["layer 6", "add 6"]),
        (lambda x: [sum(w * v for w, v in zip(column, x, strict=True)) for column in zip(*W, strict=True)], ["dot 6"]),
        (lambda x: each(lambda w, v, b: w * v + b, W[0], x, B), ["dot 6"]),
    ],
)
def test_layers_by_hand(graph, expected):
    assert made(graph) == expected


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (mean, ["weighted 1"]),
        (lambda h: sum(h) * 0.25, ["weighted 1"]),
        (lambda h: sv.sum(h) / N, ["weighted 1"]),
        (lambda h: sum(v * v for v in h) / N, ["product 1", "div 1"]),
        (lambda h: sum(v**2 for v in h), ["product 1"]),
        (lambda h: 0.2 * h[0] + 0.3 * h[1] + h[2] / 2 + 1.0, ["weighted 1"]),
        (lambda h: [sum(a * b for a, b in zip(h, h[k:] + h[:k], strict=True)) for k in range(4)], ["product 4"]),
        (lambda h: [h[0] * h[1] + h[2] * h[3] + v for v in h[4:]], ["product 2", "add 2"]),
        (lambda h: [sum(h[k : k + 3]) for k in range(4)], ["weighted 4"]),
        (softmax, ["exp 6", "weighted 1", "div 6"]),
        (rms_norm, ["product 1", "div 1", "add 1", "pow 1", "mul 6"]),
        (layer_norm, ["weighted 1", "squares 1", "sub 6", "add 1", "pow 1", "mul 6"]),
        (lambda h: h[0] + h[1], ["add 1"]),
        (lambda h: (h[0] - h[1]) - h[2], ["sub 1", "sub 1"]),
    ],
)
def test_sums_of_rows(graph, expected):
    found = made(lambda x: graph(rows(x)))
    assert found[0].startswith("dot")
    assert found[1].startswith("tanh")
    assert found[2:] == expected


def test_norms_of_many_rows_run_together():
    found = made(lambda x: [v for k in range(4) for v in layer_norm(linear(x[3 * k : 3 * k + N]))], 15)
    assert found == ["conv 24", "weighted 4", "sub 48", "product 4", "div 4", "add 4", "pow 4", "mul 24"]


def attention(x, width=4, heads=2, positions=5):
    """Causal attention with nothing but operators; `x` are the positions one behind the other."""
    size, out = width // heads, []
    xs = [x[t * width : (t + 1) * width] for t in range(positions)]
    q, k, v = ([linear(one, matrix) for one in xs] for matrix in ATTENTION)
    for t in range(positions):
        for h in range(heads):
            part = slice(h * size, (h + 1) * size)
            scores = [sum(a * b for a, b in zip(q[t][part], k[s][part], strict=True)) / size**0.5 for s in range(t + 1)]
            weights = softmax(scores)
            out += [sum(w * v[s][h * size + j] for s, w in enumerate(weights)) for j in range(size)]
    return out


ATTENTION = [nn.Parameter(np.random.default_rng(k).normal(size=(4, 4))) for k in range(3)]


def test_attention_by_hand():
    """Scores of all heads and positions are one instruction; sums over as many positions run together."""
    assert made(attention, 20) == [
        "conv 60", "product 30", "div 30", "exp 30",
        "weighted 2", "weighted 2", "weighted 2", "add 4", "div 30",
        "product 4", "product 4", "product 4", "product 4", "mul 4",
    ]  # fmt: skip


class Neuron(nn.Module):
    """As objects of a class keep them: weights, and the bias beside them."""

    def __init__(self, n, k, bias_first=False):
        rng = np.random.default_rng(k)
        if bias_first:
            self.b = sv.Weight(rng.normal())
        self.w = [sv.Weight(v) for v in rng.normal(size=n)]
        if not bias_first:
            self.b = sv.Weight(rng.normal())

    def forward(self, x):
        return sum((w * v for w, v in zip(self.w, x, strict=True)), self.b).tanh()


class Neurons(nn.Module):
    def __init__(self, *sizes, bias_first=False):
        pairs = itertools.pairwise(sizes)
        self.layers = [[Neuron(n, k, bias_first) for k in range(m)] for n, m in pairs]

    def forward(self, x):
        for layer in self.layers:
            x = [neuron(x) for neuron in layer]
        return x


@pytest.mark.parametrize("bias_first", [False, True])
def test_neurons_with_their_biases_are_layers(bias_first):
    net = Neurons(3, 5, 4, 1, bias_first=bias_first)
    expected = ["layer 5", "tanh 5", "layer 4", "tanh 4", "layer 1", "tanh 1"]
    assert made(net, 3) == expected
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), ([[0.1, 0.2, 0.3]], [[0.5]])) as run:
        assert [f"{i.op or i.kind} {i.count}" for i in run.problem.plan.body.instructions] == [*expected, "squares 1"]


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("samples", [1, 5, 40])
def test_neurons_learn_as_they_do_by_hand(engine, samples):
    rng = np.random.default_rng(samples)
    data = rng.normal(size=(samples, 3)), rng.normal(size=(samples, 1))
    net = Neurons(3, 5, 4, 1)
    loss = nn.MSELoss()
    for x, t in zip(*data, strict=True):
        (loss(net(x.tolist()), t.tolist()) / samples).backward()
    expected = [weight.grad for weight in net.parameters()]
    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.1), data, engine=engine, dtype="float64")
    run.step()
    found = [p.grad for p in net.parameters()]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.linalg.norm(expected))
    run.close()


def test_the_bias_of_a_neuron_is_one_in_an_opened_step():
    net = Neurons(3, 5, 4, 1)
    with sv.Run(
        net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), ([[0.1, 0.2, 0.3]], [[0.5]]), dtype="float64"
    ) as run:
        body = RowProgram(run.problem.plan.body, np.dtype(float))
        kinds = [next(uses_in(body, index)).kind for index in range(20)]
    assert kinds == ["weight", "weight", "weight", "bias"] * 5


def test_squared_errors_by_hand():
    def loss(o, t):
        return sum((a - b) ** 2 for a, b in zip(o, t, strict=True)) / 3

    (layer, squares) = lower(record(nn.Linear(2, 3), 2, 3, loss=loss).only(loss=True)).body.instructions
    assert (layer.kind, squares.kind, squares.numbers[0]) == ("layer", "squares", pytest.approx(1 / 3))


def test_what_others_read_stays():
    """Taps, outputs and shared rows are computed as they were typed, and once."""
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    tape = record(lambda x: each(lambda a, b: a + b, net(x), x), 3)
    assert [len(taps) for _, taps in lower(tape).body.taps] == [3, 3, 3]

    def shared(x):
        h = rows(x)
        s = h[0] + h[1] + h[2]
        return [s + h[3] + h[4] + h[5], s * s]

    assert made(shared)[2:] == ["weighted 1", "weighted 1", "mul 1"]


def test_a_compensated_sum_keeps_its_order():
    """``(t - s) - y`` is what rounding lost; any other order gives 0."""

    def graph(x):
        s, y = (x[0] * W[0][0]).exp(), (x[1] * W[0][1]).exp()
        t = s + y
        return (t - s) - y

    plan = lower(record(graph, 2))
    body = RowProgram(plan.body, np.dtype(np.float32))
    theta = np.ones(plan.n_parameters, np.float32)
    x = np.array([[1.0], [-14.0]], np.float32)
    a, b = np.exp(x[:, 0])
    assert body.forward(theta, x)[plan.body.outputs[0], 0] == ((a + b) - a) - b != 0


def test_factors_are_not_multiplied_out():
    """``(a - b) * c`` is exact where a and b are close, ``a*c - b*c`` is not."""
    found = made(lambda x: [(a - b) * 3.0 for a, b in zip(rows(x), rows(x), strict=True)])
    assert found[-2:] == ["sub 6", "mul 6"]


@pytest.mark.parametrize("number", [0.0, math.inf, math.nan, 1e-310, 1e300])
def test_unusual_constants(number):
    """A constant whose inverse is infinite is no factor."""
    w = sv.Weight(2.0)
    tape = record(lambda x: [sum(w * v for v in x) / number, (x[0] * w).tanh() / number + x[1] + x[2]], 3)
    plan = lower(tape)
    x = np.array([0.5, -1.0, 0.75])
    found = RowProgram(plan.body, np.dtype(float)).forward(np.array([2.0]), x[:, None])[plan.body.outputs, 0]
    with np.errstate(all="ignore"):
        expected = [np.float64(0.5) / number, np.tanh(np.float64(1.0)) / number - 0.25]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


# ---- expressions drawn at random: the walk over objects is the oracle

UNARY = {"neg": lambda a: -a, "tanh": lambda a: a.tanh(), "square": lambda a: a**2, "half": lambda a: a / 2.0,
         "scaled": lambda a: -0.75 * a, "plus": lambda a: a + 0.5, "minus": lambda a: 1.0 - a}  # fmt: skip
BINARY = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
STEPS = st.tuples(
    st.sampled_from([*UNARY, *BINARY, "add", "add", "sub", "sum", "products", "layer"]), st.integers(0, 2**32 - 1)
)
EXPRESSIONS = st.lists(STEPS, min_size=3, max_size=25)


def build(steps, x, w):
    """The values of an expression; each step reads some of the last ones."""
    made_so_far = [*x, w[0] * x[0], w[1] * x[1]]
    for what, seed in steps:
        rng = Random(seed)
        recent = made_so_far[-8:]
        one, other = rng.choice(recent), rng.choice(recent)
        if what in UNARY:
            found = UNARY[what](one)
        elif what in BINARY:
            found = BINARY[what](one, other if rng.random() < 0.7 else w[rng.randrange(len(w))])
        elif what == "sum":
            found = sum(rng.choices(recent, k=4))
        elif what == "products":
            found = sum(a * b for a, b in zip(rng.choices(recent, k=3), rng.choices(recent, k=3), strict=True))
        else:
            first = rng.randrange(len(w) - 3)
            found = sum(w[first + k] * v for k, v in enumerate(rng.choices(recent, k=3))) + other
        made_so_far.append(found)
    return [made_so_far[-1], made_so_far[len(made_so_far) // 2], made_so_far[-3]]  # one that others read, too


WEIGHTS = nn.Parameter(np.random.default_rng(5).normal(size=8))
NUMBERS = st.lists(st.floats(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, math.inf, math.nan]), min_size=3, max_size=3)


def by_objects(steps, numbers, upstream):
    WEIGHTS.zero_grad()
    outputs = build(steps, [sv.Value(n) for n in numbers], WEIGHTS)
    total = sum(u * o for u, o in zip(upstream, outputs, strict=True))
    total.backward()
    return np.array([o.data for o in outputs]), np.array(WEIGHTS.grad)


def by_plan(steps, numbers, upstream):
    plan = lower(record(lambda x: build(steps, x, WEIGHTS), 3, blocks=[WEIGHTS]), encode=False)
    body, theta = RowProgram(plan.body, np.dtype(float)), WEIGHTS.data.ravel()
    assert plan.prologue is None
    values = body.forward(theta, np.array(numbers)[:, None])
    adjoints, grad = np.zeros_like(values), np.zeros(len(theta))
    for row, u in zip(plan.body.outputs, upstream, strict=True):
        adjoints[row] += u
    body.backward(values, adjoints, theta, grad)
    return values[plan.body.outputs, 0], grad


@given(steps=EXPRESSIONS, numbers=NUMBERS)
@settings(max_examples=150, deadline=None)
def test_random_expressions_are_what_was_typed(steps, numbers):
    upstream = [1.0, -0.5, 2.0]
    (wanted, slopes), (found, gradient) = (f(steps, numbers, upstream) for f in (by_objects, by_plan))
    for a, b in ((found, wanted), (gradient, slopes)):
        scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)
        if scale < 1e100:  # beyond, sums in another order overflow elsewhere
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * scale, equal_nan=True)


@pytest.mark.parametrize("samples", [1, 5, 40])
@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("seed", range(5))
def test_random_expressions_on_every_engine(seed, engine, samples):
    draw = Random(seed)
    words = [*UNARY, *BINARY, "add", "sub", "sum", "sum", "products", "products", "layer", "layer"]
    steps = [(draw.choice(words), draw.randrange(2**32)) for _ in range(30)]
    rng = np.random.default_rng(seed)
    data = rng.uniform(-1, 1, (samples, 3)), rng.normal(size=(samples, 3))
    ends = []
    for which in ("objects", engine):
        run = sv.Run(
            lambda x: [o.tanh() for o in build(steps, x, WEIGHTS)],
            lambda o, t: o[0] * t[0] + o[1] * t[1] - o[2] + t[2],
            optim.SGD([WEIGHTS], lr=0.1), data, engine=which, dtype="float64",
        )  # fmt: skip
        run._training.trainer.gradient(0)
        value = run._training.trainer.gradient(0)  # on a workspace that holds the numbers of the last one
        ends.append(np.append(run._store.grad.astype(float), value))
        run.close()
    assert np.linalg.norm(ends[0]) > 1e-3
    assert np.linalg.norm(ends[1] - ends[0]) <= 1e-11 * np.linalg.norm(ends[0])


MODELS = {
    "residual": lambda x: each(lambda a, r: (a + r).tanh() + r, linear(x), x),
    "two layers": lambda x: each(lambda a, b, c: a - b + c, linear(x), linear(rows(x), V), B),
    "transposed": lambda x: [sum(w * v for w, v in zip(c, rows(x), strict=True)) + 0.5 for c in zip(*W, strict=True)],
    "one bias": lambda x: [W[0][5] * h + W[0][k] * x[0] + B[0] for k, h in enumerate(rows(x))],
    "norms": lambda x: layer_norm(linear(x)) + rms_norm(rows(x)) + softmax(linear(x, V)),
    "shared": lambda x: [sum(h * h for h in rows(x)) + sum(rows(x)) / 3 + x[0]] * N,
    "prologue": lambda x: [sum(w * w for row in W for w in row) * v + sum(B) / N for v in x],
    "scores": lambda x: [a for r in (rows(x), linear(x)) for a in each(lambda p, q: p * q + q * x[0] - p * 0.5, r, x)],
}


@pytest.mark.parametrize("samples", [1, 5, 40])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("name", MODELS)
def test_engines_agree(name, engine, dtype, samples):
    ends = []
    rng = np.random.default_rng(samples)
    outputs = len(MODELS[name]([sv.Value(0.1 * k) for k in range(N)]))
    data = rng.normal(size=(samples, N)), rng.normal(size=(samples, outputs))
    for which in ("objects", engine):
        run = sv.Run(MODELS[name], nn.MSELoss(), optim.SGD([W, V, B], lr=0.1), data, engine=which, dtype=dtype)
        value = run._training.trainer.gradient(0)
        run._training.trainer.gradient(0)  # on a workspace that holds the numbers of the last one
        ends.append(np.append(run._store.grad.astype(float), value))
        run.close()
    assert np.linalg.norm(ends[0]) > 1e-3
    assert np.linalg.norm(ends[1] - ends[0]) <= (1e-12 if dtype == "float64" else 1e-5) * np.linalg.norm(ends[0])
