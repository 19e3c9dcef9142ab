"""What lowering finds in a graph, counted in the printed program, and that each engine computes what was typed."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import TOLERANCE, far, loss_and_gradient
from scalarviz import nn
from scalarviz.scalar import ops
from scalarviz.tape import Node, Tape, lower, trace

N = 6
W, V, B = (nn.Parameter(np.random.default_rng(k).normal(size=shape)) for k, shape in enumerate([(N, N), (N, N), (N,)]))
ATTENTION = [nn.Parameter(np.random.default_rng(k).normal(size=(4, 4))) for k in range(3)]
LONE = [sv.Weight(x) for x in (0.3, -0.7, 1.1, 0.2, 0.5)]
OWN, BARE, SMALL = nn.Linear(N, N, seed=1), nn.Linear(N, N, bias=False, seed=2), nn.Linear(3, 3, seed=3)
BIG = nn.Parameter(0.1 * np.random.default_rng(9).normal(size=600))  # in float32 a sine of 1,000 is good to 1e-4
HELD = [BIG, W, V, B, *ATTENTION, *LONE, *OWN.parameters(), *BARE.parameters(), *SMALL.parameters()]


def found(plan, part="body"):
    """What a program prints, as short words with the number of rows: ``layer 6``, ``tanh 4``."""
    lines = str(getattr(plan, part)).splitlines()[1:]
    forms = {
        r"LAYER \d+ -> (\d+).*": "layer", r"POOL max of \d+, (\d+) rows": "max", r"LOSS .*": "squares 1",
        r"BATCH mean of (\d+) rows?": "mean", r"(?:GATHER|PARAM) (?P<kind>\w+) of (\d+)": "",
        r"DOT (?P<kind>\w+) of \d+(?:, (\d+) rows)?": "", r"(?P<kind>\w+) on (\d+) rows?": "",
    }  # fmt: skip
    made = []
    for line in (text.strip() for text in lines):
        if conv := re.fullmatch(r"CONV \d+ -> (\d+) at (\d+) positions.*", line):
            made.append(f"conv {int(conv[1]) * int(conv[2])}")
            continue
        match, name = next((m, name) for form, name in forms.items() if (m := re.fullmatch(form, line)))
        count = match.groups()[-1] if match.groups() else None
        made.append(name if " " in name else f"{match.groupdict().get('kind', name) or name} {count or 1}")
    return made


def each(f, *lists):
    return [f(*numbers) for numbers in zip(*lists, strict=True)]


def linear(x, matrix=W):
    return [sum(w * v for w, v in zip(row, x, strict=True)) for row in matrix]


def rows(x):
    """Rows that are neither inputs nor functions of inputs alone: ``dot 6``, ``tanh 6``."""
    return [(v * w).tanh() for v, w in zip(x, B, strict=True)]


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


def used_twice(x):
    """A layer on inputs of which one comes twice, and on rows without and with a gradient."""
    h = [v.tanh() for v in SMALL(x[:3])]
    return SMALL([h[0], h[0], x[1]])


def of_rows(graph):
    return lambda x: graph(rows(x))


def more(x, count):
    """So many inputs, made of those of the sample."""
    return [v if k == 0 else (1.0 + 0.25 * k) * v for k in range(1 + count // N) for v in x][:count]


FRONT = ["rows"]
"""What `rows` becomes: a dot and a tanh each, of as many rows as are read."""
GRAPHS = {
    "layer by operators": (linear, ["layer 6"]),
    "with its bias": (lambda x: each(lambda a, b: a + b, linear(x), B), ["layer 6"]),
    "and an input": (lambda x: each(lambda a, r: a + r, linear(x), x), ["layer 6", "add 6"]),
    "two layers": (lambda x: each(lambda a, b: a + b, linear(x), linear(x, V)), ["layer 12", "add 6"]),
    "residual": (lambda x: each(lambda a, r: a + r, OWN(x), x), ["layer 6", "add 6"]),
    "terms in any order": (lambda x: [W[0][0] * x[0] + W[0][1] * x[1], W[0][3] * x[1] + x[0] * W[0][2]], ["layer 2"]),
    "scattered weights": (lambda x: [W[0][0] * x[0] + W[0][1] * x[1], W[0][3] * x[0] + W[0][0] * x[1] + 0.5],
                          ["layer 1", "dot 1"]),
    "matrix by NumPy": (lambda x: list(np.tanh(np.array(x) @ W + B) @ V[:, 1:-1]), ["dot 6", "tanh 6", "dot 4"]),
    "one layer at two places": (lambda x: [*SMALL(x[:3]), *SMALL(x[3:])], ["conv 6"]),
    "a layer on its own results": (lambda x: SMALL(SMALL(x[:3])), ["layer 3", "layer 3"]),
    "an input twice": (used_twice, ["layer 1", "tanh 1", "layer 3"]),
    "sv.sum": (of_rows(lambda h: sv.sum(h) / N), [*FRONT, "weighted 1"]),
    "squares": (of_rows(lambda h: sum(v * v for v in h) / N), [*FRONT, "product 1", "div 1"]),
    "some factors": (of_rows(lambda h: 0.2 * h[0] + 0.3 * h[1] + h[2] / 2 + 1.0), [*FRONT, "weighted 1"]),
    "turned products": (
        of_rows(lambda h: [sum(a * b for a, b in zip(h, h[k:] + h[:k], strict=True)) for k in range(4)]),
        [*FRONT, "product 4"],
    ),
    "products and a row": (of_rows(lambda h: [h[0] * h[1] + h[2] * h[3] + v for v in h[4:]]),
                           [*FRONT, "product 2", "add 2"]),
    "softmax": (of_rows(softmax), [*FRONT, "exp 6", "weighted 1", "div 6"]),
    "rms norm": (of_rows(rms_norm), [*FRONT, "product 1", "div 1", "add 1", "pow 1", "mul 6"]),
    "layer norm": (of_rows(layer_norm), [*FRONT, "weighted 1", "squares 1", "sub 6", "add 1", "pow 1", "mul 6"]),
    "a factor behind a difference": (lambda x: each(lambda a, b: (a - b) * 3.0, rows(x), rows(x[::-1])), None),
    "a sum that others read": (of_rows(lambda h: [(s := h[0] + h[1] + h[2]) + h[3] + h[4] + h[5], s * s]),
                               [*FRONT, "weighted 1", "weighted 1", "mul 1"]),
    "many norms": (lambda x: [v for k in range(4) for v in layer_norm(linear(more(x, 15)[3 * k : 3 * k + N]))],
                   ["conv 24", "weighted 4", "sub 48", "product 4", "div 4", "add 4", "pow 4", "mul 24"]),
    "attention": (lambda x: attention(more(x, 20)),
                  ["conv 60", "product 30", "div 30", "exp 30", "weighted 2", "weighted 2", "weighted 2", "add 4",
                   "div 30", "product 4", "product 4", "product 4", "product 4", "mul 4"]),
    "largest of five": (of_rows(lambda h: [sv.max(h[:5]), sv.max(h[1:])]), [*FRONT, "max 2"]),
    "a largest that others read": (of_rows(lambda h: [m := sv.max(h[:3]), sv.max([m, h[3], h[4]])]), None),
    "bare parameters": (lambda x: [sv.maximum(B[0], x[0]), sv.where(x[1] > B[1], B[2], B[3] * x[2]), B[5],
                                   (x[0] * x[0] + 3.0) ** B[4]], None),
    "weights of one sum": (
        lambda x: sv.dot([LONE[k] for k in (2, 2, 3, 0, 1)],
                         [(LONE[0] * x[0]).sin(), x[0], (LONE[1] * x[1]).exp(), x[2], x[0]], LONE[4]),
        ["dot 2", "sin 1", "exp 1", "dot 1"],
    ),
    "derived weights": (lambda x: [(a := LONE[0] * LONE[1]) * x[0] + (b := (a + LONE[2]).tanh()), b * x[1] + a * x[2],
                                   sv.dot([LONE[3], LONE[4]], [a, b]) * x[0]], ["layer 1"] * 3),
    "encoded inputs": (lambda x: [sv.dot([W[k // N][k % N] for k in range(9)],
                                         [(2.0**k * v).sin() for k in range(3) for v in x[:3]])], ["layer 1"]),
    "totals of parameters": (lambda x: [BIG.sum() * x[0], (BIG * BIG).sum() * x[1] + abs(W).sum(), B.sum()], None),
    "sums over all weights": (lambda x: [sum(w * w for row in W for w in row) * v + sum(B) / N for v in x], None),
    "scores": (lambda x: [a for r in (rows(x), linear(x)) for a in each(lambda p, q: p * q + q * x[0] - p * 0.5, r, x)],
               None),
    "one node twice": (lambda x: [y := (LONE[0] * x[0]).tanh(), y, sv.Value(0.25), x[1], LONE[1], LONE[1]], None),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, (_, expected) in GRAPHS.items() if expected is not None])
def test_a_graph_becomes_few_instructions(name):
    graph, expected = GRAPHS[name]
    made = found(lower(trace(graph, N).only(outputs=True)))
    if expected[0] == "rows":
        assert [word.split()[0] for word in made[:2]] == ["dot", "tanh"]
        made[:2] = ["rows"]
    assert made == expected


def listed(outputs):
    return [outputs] if isinstance(outputs, sv.Value) else outputs


def weighted(outputs, targets):
    """No sum of squares, so that nothing of the graph becomes a part of its loss."""
    return sv.sum([(k + 1.0) * o.sin() for k, o in enumerate(listed(outputs))])


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize(("dtype", "samples"), [
    ("float64", 5), *(pytest.param(*row, marks=pytest.mark.ci)
                      for row in (("float32", 1), ("float32", 40), ("float64", 40))),
])  # fmt: skip
@pytest.mark.parametrize("name", GRAPHS)
def test_every_engine_computes_what_was_typed(name, dtype, samples, engine):
    x = np.random.default_rng(samples).normal(size=(samples, N))
    given = {"data": (x, x[:, :1]), "weights": HELD, "dtype": dtype}
    wanted, got = (loss_and_gradient(GRAPHS[name][0], weighted, engine=each, **given) for each in ("objects", engine))
    assert np.linalg.norm(wanted[:-1]) > 1e-3
    assert far(got, wanted) <= TOLERANCE[dtype] * (10 if dtype == "float32" else 1)


# ---- losses


def errors(y, t):
    return [(a - b).square() for a, b in zip(y, t, strict=True)]


def crossed(y, t):
    """One output in two terms, an output beside an output, and a target against nothing that learns."""
    return sv.sum([(y[0] - t[0]) ** 2, (t[1] - y[0]) ** 2, (y[1] - y[2]) ** 2, (t[2] - 0.5) ** 2, (y[1] - y[1]) ** 2])


ERROR = ["squares 1"]
LOSSES = {
    "mse": (nn.MSELoss(), ERROR), "sum": (nn.MSELoss("sum"), ERROR), "factor": (nn.MSELoss(factor=0.5), ERROR),
    "by operators": (lambda y, t: sv.sum([(a - b) ** 2 for a, b in zip(y, t, strict=True)]), ERROR),
    "mean by Python": (lambda y, t: sum((a - b) ** 2 for a, b in zip(y, t, strict=True)) / 3, ERROR),
    "of one": (lambda y, t: 0.25 * (y[0] - t[0]).square(), ERROR),
    "l1": (nn.L1Loss(), []), "no difference": (lambda y, t: y[0].square(), []),
    "with another": (lambda y, t: (y[0] - t[0]).square() + (y[1] - t[1]).abs(), ERROR),
    "unequal": (lambda y, t: sv.dot([1.0, 2.0], errors(y, t)[:2]), ERROR * 2),
    "and a number": (lambda y, t: 0.5 * errors(y, t)[0] + 0.5 * errors(y, t)[1] + 1.0, ERROR),
    "and a weight": (lambda y, t: sv.dot([0.5, 0.5], errors(y, t)[:2], LONE[0]), ERROR * 2),
    "one read twice": (lambda y, t: sv.sum(s := errors(y, t)) + s[0].tanh(), ERROR * 3),
    "sum read twice": (lambda y, t: 0.5 * (s := sv.sum(errors(y, t))) + s.tanh(), ERROR),
    "a difference that others read": (lambda y, t: (d := y[0] - t[0]).square() * d.tanh(), []),
    "crossed": (crossed, None),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_squared_errors_are_one_instruction_where_nobody_else_reads_them(name):
    loss, expected = LOSSES[name]
    made = found(lower(trace(nn.Linear(2, 3), n_inputs=2, n_targets=3, loss=loss).only(loss=True)))
    if expected is not None:
        assert [one for one in made if one.startswith("squares")] == expected
        assert not expected or not any(one.startswith("square ") for one in made)  # nothing is computed twice
        assert not isinstance(loss, nn.MSELoss) or made == ["layer 3", *ERROR]
    for engine, dtype, samples in itertools.product(("numpy", "numba"), TOLERANCE, (1, 40)):
        random = np.random.default_rng(samples)
        data = random.normal(size=(samples, 2)), random.normal(size=(samples, 3))
        net = nn.Sequential(nn.Linear(2, 3, seed=3), nn.Tanh())
        wanted, got = (loss_and_gradient(net, loss, data, engine=each, dtype=dtype) for each in ("objects", engine))
        assert far(got, wanted) <= TOLERANCE[dtype]


# ---- networks


class Neuron(nn.Module):
    """As objects of a class keep them: weights, and the bias beside them."""

    def __init__(self, n, k):
        numbers = np.random.default_rng(k)
        self.w, self.b = [sv.Weight(v) for v in numbers.normal(size=n)], sv.Weight(numbers.normal())

    def forward(self, x):
        return sum((w * v for w, v in zip(self.w, x, strict=True)), self.b).tanh()


class Neurons(nn.Module):
    def __init__(self, *sizes):
        self.layers = [[Neuron(n, k) for k in range(m)] for n, m in itertools.pairwise(sizes)]

    def forward(self, x):
        for layer in self.layers:
            x = [neuron(x) for neuron in layer]
        return x


def pictures(side):
    return nn.Sequential(
        nn.Unflatten((1, side, side)), nn.Conv2d(1, 2, 3, padding=1, seed=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(2, 3, 3, padding=1, seed=2), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(),
    )  # fmt: skip


NETWORKS = {
    "layers": (nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.Sigmoid()), 3,
               ["layer 4", "tanh 4", "layer 2", "sigmoid 2"]),
    "neurons": (Neurons(3, 5, 4, 1), 3, ["layer 5", "tanh 5", "layer 4", "tanh 4", "layer 1", "tanh 1"]),
    "pictures": (pictures(8), 64, ["conv 128", "relu 128", "max 32", "conv 48", "tanh 48", "max 12"]),
    "a table": (nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(12, 2)), 4, ["gather 12", "layer 2"]),
    "batch norm": (nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, affine=False)), 2,
                   ["layer 3", "mean 3", "sub 3", "square 3", "mean 3", "add 3", "sqrt 3", "div 3", "mul 3"]),
    "classes": (nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Linear(40, 10)), 30,
                ["layer 40", "relu 40", "layer 10"]),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_becomes_few_instructions(name):
    """Their number does not grow with the picture or the layer: that makes lowering and running quick."""
    net, inputs, expected = NETWORKS[name]
    tape = trace(net, inputs)
    plan = lower(tape.only(outputs=True))
    assert found(plan) == expected
    assert (plan.prologue, plan.encode) == (None, None)
    if name == "neurons":
        data = [[0.1, 0.2, 0.3]], [[0.5]]
        with sv.Run(net, nn.MSELoss(), sv.optim.SGD(net.parameters(), lr=0.1), data) as run:
            assert list(run.open().terms(net.layers[0][0].b)["x"]) == [1.0]


# ---- parts, constants, order


def test_parts_are_split_by_how_often_they_must_run():
    w1, w2 = sv.Weight(2.0), sv.Weight(3.0)
    tape = trace(lambda x: (w1 * w2).exp() * x[0] + (x[1] * 5.0).sin(), 2)
    plan = lower(tape)
    assert (found(plan, "prologue"), found(plan, "encode")) == (["param 2", "mul 1", "exp 1"], ["mul 1", "sin 1"])
    assert (plan.n_derived, plan.n_features, lower(tape, encode=False).encode) == (1, 1, None)
    assert [line.split(":")[0] for line in str(plan).splitlines() if line[0] != " "] == ["prologue", "encode", "body"]
    squared = lower(trace(lambda x: (sv.Value(2.0) * 3.0).exp() * x[0] ** 2, 1))
    assert found(squared, "encode") == ["square 1", "mul 1"]  # constants are folded, powers of two squared


@pytest.mark.parametrize("number", [0.0, np.inf, np.nan, 1e-310, 1e300])
def test_a_constant_whose_inverse_is_infinite_is_no_factor(number):
    w, x = sv.Weight(2.0), np.array([[0.5, -1.0, 0.75]])
    model = lambda x: [sum(w * v for v in x) / number, (x[0] * w).tanh() / number + x[1] + x[2]]  # noqa: E731
    with np.errstate(all="ignore"):
        wanted = [np.float64(0.5) / number, np.tanh(np.float64(1.0)) / number - 0.25]
        for engine in ("objects", "numpy", "numba"):
            rule = sv.optim.SGD([w], lr=0.1)
            with sv.Run(model, weighted, rule, (x, x), engine=engine, dtype="float64") as run:
                np.testing.assert_allclose(run.predict(x)[0], wanted, rtol=1e-15)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_a_compensated_sum_keeps_its_order(engine):
    """``(t - s) - y`` is what rounding lost; any other order gives 0."""

    def graph(x):
        s, y = (x[0] * LONE[0]).exp(), (x[1] * LONE[0]).exp()
        return ((s + y) - s) - y

    x = np.array([[1.0, -14.0]], np.float32) / np.float32(LONE[0].data)
    with sv.Run(graph, weighted, sv.optim.SGD(LONE[:1], lr=0.1), (x, x), engine=engine) as run:
        assert 0 < abs(run.predict(x)[0, 0]) < 2e-7


def tape_of(number, code="mul"):
    nodes = (Node("input"), Node("const", number=number), Node(code, (0, 1)), Node("param"), Node("mul", (2, 3)))
    return Tape(nodes, 1, 0, 1, outputs=(4,))


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1.5, 1.5000000000000002), (float("nan"), 2.0)])
def test_plans_are_kept_and_numbers_that_differ_by_a_bit_have_plans_of_their_own(monkeypatch, one, other):
    first, second = lower(tape_of(one)), lower(tape_of(other))
    assert (lower(tape_of(one)).body is first.body, first.body is not second.body) == (True, True)
    found = [[n for p in (plan.encode, plan.body) if p for n in p.constants] for plan in (first, second)]
    np.testing.assert_array_equal(np.signbit(found), np.signbit([[one], [other]]))
    np.testing.assert_array_equal(found, [[one], [other]])
    before = lower(tape_of(one, "sub"))
    monkeypatch.setitem(ops.TABLE, "sub", replace(ops.TABLE["sub"], value="a + b"))
    assert lower(tape_of(one, "sub")).body is not before.body  # a formula that is registered anew


def test_neurons_of_a_layer_share_their_rows():
    """What a layer costs grows with its inputs once."""
    net = nn.Sequential(nn.Conv2d(1, 5, 2, seed=0), nn.Flatten(), nn.Linear(20, 7, seed=1))
    tape = trace(lambda row: net(np.reshape(row, (1, 3, 3))), 9)
    rows = [node.args for node in tape.nodes if node.code == "dot"]
    assert len(rows) == 27
    assert len({id(row) for row in rows}) == len(set(rows)) == 5
