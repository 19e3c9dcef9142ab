"""Whole programs on the numba engine: every kind of instruction, random graphs, steps, order, threads."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim, rng
from scalarviz.engine.arrays.plan import PlanRunner
from scalarviz.engine.cpu import NumbaTrainer, forward
from scalarviz.engine.cpu.compiled.order import batch_order, orders
from scalarviz.scalar import function
from scalarviz.tape import lower, record

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


def squares(outputs, targets):
    return sv.sum([(o - t).square() for o, t in zip(outputs, targets, strict=True)])


def start(model, weights, x, y, engine, dtype="float64", batch=None, loss=squares, lr=0.1, seed=3):
    optimiser = optim.SGD(weights, lr=lr)
    return Run(model, loss, optimiser, (x, y), batch_size=batch or len(x), engine=engine, dtype=dtype, seed=seed)


def check_against_objects(model, weights, x, y, dtype="float64", batch=None, kinds=()):
    """Loss and gradient of one batch are those of the objects, sample by sample, norm-wise."""
    found = {}
    for engine in ("objects", "numba"):
        run = start(model, weights, x, y, engine, dtype, batch)
        run._training.trainer.gradient(0)  # leaves its numbers in the workspace
        loss = run._training.trainer.gradient(1)
        found[engine] = np.append(run.problem.store.grad.astype(float), loss)
        plan = run.problem.plan
        run.close()
    assert set(kinds) <= {i.kind for p in (plan.body, plan.prologue) if p for i in p.instructions}, str(plan)
    scale = np.linalg.norm(found["objects"])
    assert np.linalg.norm(found["numba"] - found["objects"]) <= TOLERANCE[dtype] * scale
    return found["numba"]


W = [0.3, -0.7, 1.1, 0.2, 0.5, -1.3]


def weights(n=6):
    return [sv.Weight(x) for x in W[:n]]


def layer_twice(w, net, x):
    """A layer on inputs of which one comes twice, and on rows without and with a gradient."""
    h = [v.tanh() for v in net(x)]
    return net([h[0], h[0], x[1]])


def layer_partly(w, net, x):
    """A layer of whose inputs one is used by others too."""
    h = [v.tanh() for v in net(x)]
    return [*net(h), w[0] * h[1].sin()]


def dots(w, net, x):
    h = [(w[0] * x[0]).sin(), (w[1] * x[1]).exp(), x[2]]
    twice = sv.dot([w[2], w[2], w[3], w[0], w[1]], [h[0], h[0], h[1], h[2], x[0]], w[4])
    return [twice, sv.dot([w[5], w[0]], [twice, h[1]]) + 0.25]


def constants(w, net, x):
    h = [(w[k] * x[k]).tanh() for k in range(3)]
    mean = sv.dot([1 / 3] * 3, h)
    return [sv.dot([0.5, -2.0, 0.25, 1.0, 3.0], [*h, mean, x[0]], w[3]), sv.sum([*h, *h]), mean]


def rows(w, net, x):
    h = [(w[k] * x[k]).tanh() for k in range(3)]
    return [sv.dot(h, [h[1], h[1], x[2]], w[3]), sv.dot(h, h), sv.dot(x, h)]


def bare(w, net, x):
    """Parameters as rows: compared, selected, raised to a power."""
    return [sv.maximum(w[0], x[0]), sv.where(x[1] > w[1], w[2], w[3] * x[2]), (x[0] + 3.0) ** w[4], w[5]]


def derived(w, net, x):
    """Parameter-only nodes, one of them used twice, and one made of another."""
    a = w[0] * w[1]
    b = (a + w[2]).tanh()
    return [a * x[0] + b, b * x[1] + a * x[2], sv.dot([w[3], w[4]], [a, b]) * x[0]]


def encoded(w, net, x):
    """Input-only nodes."""
    waves = [(2.0**k * v).sin() for k in range(3) for v in x]
    return [sv.dot([w[k % 6] for k in range(9)], waves), (w[0] * waves[4]).tanh()]


KINDS = {
    layer_twice: {"layer", "op"},
    layer_partly: {"layer"},
    dots: {"dot"},
    constants: {"weighted"},
    rows: {"product"},
    bare: {"param"},
    derived: set(),
    encoded: {"dot"},
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("samples", [1, 5, 64])
@pytest.mark.parametrize("graph", KINDS, ids=lambda f: f.__name__)
def test_every_kind_of_instruction_agrees_with_objects(graph, samples, dtype):
    w, net = weights(), nn.Linear(3, 3, seed=5)
    generator = np.random.default_rng(samples)
    x = generator.uniform(-1, 1, (samples, 3))
    y = generator.uniform(-1, 1, (samples, len(graph(w, net, [sv.Value(0.1)] * 3))))
    held = [*w, *(net.parameters() if graph in (layer_twice, layer_partly) else [])]
    check_against_objects(lambda v: graph(w, net, v), held, x, y, dtype, kinds=KINDS[graph])


@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (3, 3), (4, 4), (5, 9), (9, 5), (16, 13)])
@pytest.mark.parametrize("bias", [True, False])
def test_layers_of_every_remainder_agree_with_objects(sizes, bias):
    n, m = sizes
    net = nn.Sequential(nn.Linear(n, m, bias=bias, seed=1), nn.Tanh(), nn.Linear(m, 2, bias=bias, seed=2))
    generator = np.random.default_rng(0)
    x, y = generator.uniform(-1, 1, (21, n)), generator.uniform(-1, 1, (21, 2))
    check_against_objects(net, net.parameters(), x, y, kinds={"layer"})


SMOOTH = ["tanh", "sigmoid", "softplus", "square", "sin", "cos", "relu", "abs", "leaky_relu", "neg"]
PAIRS = ["add", "sub", "mul", "maximum", "minimum"]


@st.composite
def graphs(draw):
    """A recipe of a random graph over 3 inputs and 4 weights, as a list of steps."""
    steps = []
    for count in range(draw(st.integers(3, 14))):
        node = st.integers(0, 6 + count)
        kind = draw(st.sampled_from(["unary", "pair", "pair", "dot", "const dot", "row dot", "where"]))
        if kind == "unary":
            steps.append((draw(st.sampled_from(SMOOTH)), [draw(node)]))
        elif kind == "pair":
            steps.append((draw(st.sampled_from(PAIRS)), [draw(node), draw(node)]))
        else:
            steps.append((kind, draw(st.lists(node, min_size=4, max_size=4))))
    return steps


def build(steps, nodes):
    """The last nodes of the graph that the recipe describes."""
    nodes = list(nodes)
    for name, at in steps:
        a = [nodes[k] for k in at]
        if name == "dot":
            made = sv.dot([nodes[3], nodes[5], nodes[4]], a[:3], nodes[6])
        elif name == "const dot":
            made = sv.dot([0.5, -1.5, 0.25], a[:3])
        elif name == "row dot":
            made = sv.dot(a[:2], a[2:])
        elif name == "where":
            made = sv.where(a[0] < a[1], a[2], a[3])
        elif name == "leaky_relu":
            made = sv.leaky_relu(a[0], 0.1)
        else:
            made = function(name)(*a)
        nodes.append(made.tanh() if name in ("square", "mul", "row dot") else made)  # keep numbers small
    return nodes[-3:]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@settings(max_examples=40, deadline=None)
@given(steps=graphs(), seed=st.integers(0, 1000))
def test_random_graphs_agree_with_objects(dtype, steps, seed):
    generator = np.random.default_rng(seed)
    w = [sv.Weight(v) for v in generator.uniform(-1, 1, 4)]
    x, y = generator.uniform(-1, 1, (9, 3)), generator.uniform(-1, 1, (9, 3))
    # in float32 a comparison may go the other way; the values are chosen so that they are exact there
    x, y = x.astype(np.float32).astype(float), y.astype(np.float32).astype(float)
    for weight in w:
        weight.data = float(np.float32(weight.data))

    def model(v):
        *first, last = build(steps, [*v, *w])
        return [*first, last + w[0]]  # a graph that reads no weight at all is refused

    check_against_objects(model, w, x, y, dtype)


def mlp(*sizes):
    layers = []
    for k, (n, m) in enumerate(pairwise(sizes)):
        layers += [nn.Linear(n, m, seed=k), nn.Tanh()]
    return nn.Sequential(*layers)


def data(n):
    generator = np.random.default_rng(n)
    return generator.uniform(-1, 1, (n, 3)), generator.uniform(0, 1, (n, 2))


@pytest.mark.parametrize(("samples", "batch"), [(40, 40), (40, 7), (3000, 3000), (700, 300)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_steps_in_one_call_equal_steps_in_many_bit_for_bit(samples, batch, dtype):
    ends = []
    for chunks in ([6], [1] * 6, [4, 2]):
        model = mlp(3, 5, 2)
        run = Run(
            model, nn.MSELoss(), optim.Adam(model.parameters(), lr=0.05), data(samples), batch_size=batch,
            engine="numba", dtype=dtype, seed=9,
        )  # fmt: skip
        trainer, done, losses = run._training.trainer, 0, []
        for count in chunks:
            losses.append(trainer.train(done, count, 0.05))
            done += count
        store = run.problem.store
        ends.append(b"".join(a.tobytes() for a in (store.value, store.grad, run.problem.previous, *run.problem.state)))
        ends[-1] += np.concatenate(losses).tobytes()
        run.close()
    assert ends[0] == ends[1] == ends[2]


def test_previous_holds_the_values_before_the_last_step():
    model = mlp(3, 4, 2)
    run = start(model, model.parameters(), *data(30), "numba", lr=0.5)
    trainer, problem = run._training.trainer, run.problem
    problem.trained[:] = True
    trainer.train(0, 3, 0.5)
    np.testing.assert_array_equal(problem.previous - 0.5 * problem.store.grad, problem.store.value)


@pytest.mark.parametrize(("n", "batch"), [(2, 1), (10, 3), (257, 16), (1024, 100), (70_000, 513)])
def test_the_kernel_draws_the_batches_of_rng(n, batch):
    left, right, rounds = rng.shape_of(n)
    shape, words = np.array([left, right, np.uint64(rounds)], np.uint64), np.array(rng.split(2**40 + 5), np.uint64)
    found = np.empty(batch, np.int64)
    for step in (0, 1, n // batch - 1, n // batch, 5 * (n // batch) + 1, 2**33):
        batch_order(found, step, n, words, shape)
        np.testing.assert_array_equal(found, rng.batch_indices(2**40 + 5, step, n, batch))


@pytest.mark.parametrize(
    ("n", "batch"), [(2, 1), (3, 1), (4, 1), (10, 3), (100, 30), (256, 1), (257, 5), (70_000, 513)]
)
@pytest.mark.parametrize("steps", [1, 7, 16, 64])
def test_the_kernel_looks_up_many_steps_as_rng_has_them_one_by_one(n, batch, steps):
    left, right, rounds = rng.shape_of(n)
    shape, words = np.array([left, right, np.uint64(rounds)], np.uint64), np.array(rng.split(2**40 + 5), np.uint64)
    found = np.empty(steps * batch, np.int64)
    for first in (0, 3, 2**33 + 1):
        orders(found, first, batch, n, words, shape)
        one_by_one = [rng.batch_indices(2**40 + 5, first + k, n, batch) for k in range(steps)]
        np.testing.assert_array_equal(found, np.concatenate(one_by_one))


def test_the_kernel_looks_up_many_steps_of_draws_as_one_by_one():
    words, shape, found = np.array(rng.split(9), np.uint64), np.zeros(3, np.uint64), np.empty(21, np.int64)
    orders(found, 5, 3, 10, words, shape)
    np.testing.assert_array_equal(found, np.concatenate([rng.drawn_indices(9, 5 + k, 10, 3) for k in range(7)]))


@pytest.mark.parametrize("block", [1, 7, 64, 4096])
def test_the_block_of_lanes_changes_nothing_but_rounding(block):
    model = mlp(3, 5, 2)
    run = start(model, model.parameters(), *data(100), "numba")
    run.problem.block = block
    expected = run._training.trainer.gradient(0), run.problem.store.grad.copy()
    loss = NumbaTrainer(run.problem).gradient(0)
    assert loss == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(run.problem.store.grad, expected[1], rtol=0, atol=1e-14)


def test_untrained_weights_keep_value_and_state_and_get_a_gradient():
    model = mlp(3, 4, 2)
    run = Run(
        model, nn.MSELoss(), optim.Adam(model.parameters(), lr=0.1), data(30), batch_size=30, engine="numba",
        dtype="float64",
    )  # fmt: skip
    problem = run.problem
    trainer = run._training.trainer
    problem.trained[:] = np.arange(len(problem.trained)) % 3 != 0
    before = problem.store.value.copy()
    trainer.train(0, 4, 0.1)
    still = ~problem.trained
    np.testing.assert_array_equal(problem.store.value[still], before[still])
    assert (problem.store.value[problem.trained] != before[problem.trained]).all()
    for array in problem.state:
        assert (array[still] == 0).all()
        assert (array[problem.trained] != 0).all()
    assert (problem.store.grad[still] != 0).all()


def test_a_large_update_goes_in_blocks():
    """More parameters than the update's block, with a rest."""
    w = nn.Linear(37, 31, seed=0)
    generator = np.random.default_rng(0)
    x, y = generator.uniform(-1, 1, (8, 37)), generator.uniform(-1, 1, (8, 31))
    ends = []
    for engine in ("numpy", "numba"):
        run = Run(w, nn.MSELoss(), optim.Adam(w.parameters(), lr=0.1), (x, y), batch_size=8, engine=engine,
                  dtype="float64")  # fmt: skip
        before = run.problem.store.value.copy()
        run._training.trainer.train(0, 3, 0.1)
        ends.append(run.problem.store.value.copy())
        run.problem.store.value[:] = before
        run.close()
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_come_through_sums(bad):
    """No reduction swallows them, and the padding of a tile does not make any."""
    found = {}
    for engine in ("objects", "numba"):
        model = nn.Linear(3, 3, seed=0)
        run = start(model, model.parameters(), *(data(40)[0],) * 2, engine, "float32")
        clean = run._training.trainer.gradient(0), run.problem.store.grad.copy()
        assert np.isfinite(clean[0])
        assert np.isfinite(clean[1]).all()
        run.problem.data.parts[0][1, 17] = bad
        found[engine] = np.append(run._training.trainer.gradient(0), run.problem.store.grad)
    assert not np.isfinite(found["numba"]).any()
    np.testing.assert_array_equal(found["numba"], found["objects"])


def test_two_trainers_work_in_two_threads():
    def make(seed):
        model = mlp(3, 6, 2)
        run = start(model, model.parameters(), *data(200 + seed), "numba", batch=100, lr=0.2, seed=seed)
        run.problem.trained[:] = True
        return run

    alone = [make(k) for k in range(2)]
    for run in alone:
        run._training.trainer.train(0, 300, 0.2)
    together = [make(k) for k in range(2)]
    threads = [threading.Thread(target=run._training.trainer.train, args=(0, 300, 0.2)) for run in together]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, b in zip(alone, together, strict=True):
        assert a.problem.store.value.tobytes() == b.problem.store.value.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_forward_gives_the_outputs_of_the_numpy_tier(dtype):
    w, net = weights(), nn.Linear(3, 3, seed=5)
    plan = lower(record(lambda x: [*derived(w, net, x), *encoded(w, net, x)], 3).only(outputs=True))
    theta = np.array(W, dtype)[: plan.n_parameters]
    runner = PlanRunner(plan, dtype)
    x = np.random.default_rng(0).uniform(-1, 1, (3, 1000))
    found = forward(plan, theta, runner.encode(x))
    wanted = runner.rows(theta, x, plan.body.outputs)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=0, atol=50 * np.finfo(dtype).eps)
