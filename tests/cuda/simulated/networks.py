"""Networks, losses and layers: gradients of the CUDA engine against the objects."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import engine_models as agree
import numpy as np
import pytest
import test_gathers
import test_gradient_rows as gradient_rows
import test_losses
import test_norm
import test_pool
import test_random_graphs as random_branches

import scalarviz as sv
from kit.drawn import Drawn, drawn_losses
from kit.runs import loss_and_gradient
from scalarviz import Run, nn, optim
from scalarviz.engine.cuda import trainer
from scalarviz.scalar.nested import flatten

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


def gradient(net, loss, data, engine, dtype="float64", batch=None):
    """Loss and gradient of the second batch, the numbers of the first one left in memory."""
    with Run(net, loss, optim.SGD(net.parameters(), lr=0.1), data, engine=engine, dtype=dtype, batch_size=batch,
             seed=5) as run:  # fmt: skip
        run._training.trainer.gradient(0)
        return np.append(run._training.trainer.gradient(1), run.problem.store.grad.astype(float))


def check(make, loss, data, dtype="float64", batch=None):
    wanted = gradient(make(), loss, data, "objects", dtype, batch)
    found = gradient(make(), loss, data, "cuda", dtype, batch)
    assert np.linalg.norm(wanted[1:]) > 1e-6
    assert np.linalg.norm(found[1:] - wanted[1:]) <= TOLERANCE[dtype] * np.linalg.norm(wanted[1:])
    assert found[0] == pytest.approx(wanted[0], rel=TOLERANCE[dtype])


def samples(n_in, n_out, n=7, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_in)), rng.uniform(0.1, 0.9, (n, n_out))


# ---- how the work is cut


CUTS = {
    "one chunk": {"chunk_bytes": 10**6, "threads": 32, "slices": 1, "loss_slices": 1},
    "chunks of one lane": {"chunk_bytes": 1, "threads": 2, "slices": 4},
    "chunks of some": {"chunk_bytes": 3000, "threads": 4, "slices": 2, "loss_slices": 2},
    "many slices": {"chunk_bytes": 10**6, "threads": 16, "slices": 32, "loss_slices": 32},
    "thin blocks": {"threads": 1}, "as it is": {"chunk_bytes": 32 << 20, "threads": 128, "slices": 32},
}  # fmt: skip


@pytest.mark.parametrize("batch", [11, 5, 1])
@pytest.mark.parametrize("cut", CUTS)
def test_however_the_work_is_cut_it_is_the_same(cut, batch, monkeypatch):
    monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, **CUTS[cut]))
    check(agree.Expression, nn.MSELoss(), samples(3, 4, 11), batch=batch)


# ---- tables that are read by number


@pytest.mark.parametrize("most", [4096, 2], ids=["walked", "sorted"])
@pytest.mark.parametrize(("dtype", "batch"), [("float64", 23), ("float32", 5), ("float64", 1)])
def test_tables(dtype, batch, most, monkeypatch):
    monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, sorted_rows=most))
    check(test_gathers.Letters, nn.MSELoss(), test_gathers.data(), dtype, batch)


@pytest.mark.parametrize("most", [4096, 2], ids=["walked", "sorted"])
def test_numbers_that_a_table_does_not_have_scatter_nothing(most, monkeypatch):
    monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, sorted_rows=most))
    net = test_gathers.Computed()
    data = test_gathers.COMPUTED, np.arange(20.0).reshape(10, 2)
    found, wanted = (gradient(net, nn.MSELoss(), data, engine) for engine in ("cuda", "objects"))
    assert np.isnan([found[0], wanted[0]]).all()
    assert np.isfinite(wanted[1:]).all()
    np.testing.assert_allclose(found[1:], wanted[1:], rtol=1e-13)


# ---- layers and losses


ACTIVATIONS = [nn.Tanh, nn.Sigmoid, nn.ReLU, nn.LeakyReLU, nn.Softplus, nn.Identity, nn.Softmax]


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_activations(kind):
    check(lambda: nn.Sequential(nn.Linear(2, 3, seed=1), kind()), nn.MSELoss(), samples(2, 3))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("name", test_losses.LOSSES)
def test_losses_of_numbers(name, reduction):
    def make():
        return nn.Sequential(nn.Linear(2, 3, seed=1), nn.Sigmoid())

    check(make, test_losses.LOSSES[name](reduction), samples(2, 3), batch=4)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_loss_of_classes(reduction):
    x, _ = samples(2, 3)
    for given in ({}, {"weight": [0.5, 2.0, 1.5], "label_smoothing": 0.2}):
        loss = nn.CrossEntropyLoss(reduction=reduction, **given)
        check(lambda: nn.Linear(2, 3, seed=1), loss, (x, [0, 2, 1, -100, 0, 2, 2]), batch=5)


def behind_a_layer(kind, sides):
    """A module on lists of those sides, behind a layer: what it reads has a gradient."""
    n = int(np.prod(sides))
    return nn.Sequential(nn.Linear(2, n, seed=1), nn.Tanh(), nn.Unflatten(sides), kind, nn.Flatten())


def check_behind_a_layer(kind, sides, batch=3):
    n_out = len(flatten(kind([v.tolist() for v in np.ones(sides)]) if len(sides) > 1 else kind([1.0] * sides[0])))
    check(lambda: behind_a_layer(kind, sides), nn.MSELoss("sum"), samples(2, n_out, 4), batch=batch)


SIDES = {"layer_norm": (5,), "layer_norm_inner": (2, 3), "batch_norm1d_long": (3, 2), "batch_norm2d": (3, 2, 1),
         "batch_norm2d_plain": (2, 2, 1)}  # fmt: skip


@pytest.mark.parametrize("name", test_norm.NETS)
def test_norms(name):
    check_behind_a_layer(test_norm.NETS[name]().eval(), SIDES.get(name, (4,)))


@pytest.mark.parametrize("name", test_pool.NETS)
def test_pools(name):
    check_behind_a_layer(test_pool.NETS[name](), (1, 4, 3))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("options", [{}, {"padding": 1, "bias": False}, {"stride": 2, "padding": 1}])
def test_convolutions(options, dtype):
    conv = nn.Conv2d(2, 2, 2, seed=3, **options)
    n_out = len(flatten(conv(np.ones((2, 3, 3)).tolist())))
    check(lambda: behind_a_layer(conv, (2, 3, 3)), nn.MSELoss(), samples(2, n_out, 3), dtype)


# ---- odd graphs


class Twice(nn.Module):
    """Rows that an instruction of each kind reads twice."""

    def __init__(self):
        self.first, self.layer, self.w = nn.Linear(2, 3, seed=1), nn.Linear(4, 2, seed=2), sv.Weight(0.6)

    def forward(self, x):
        a, b, c = self.first(x)
        h = self.layer([a, b, a, x[0]])
        k = self.layer([b, b, x[0], x[0]])
        return [
            a * a, b + b, sv.max([a, a, b]), sv.dot([a, b, a], [a, a, c]), sv.dot([0.5, 2.0, -1.0], [a, a, b]),
            sv.dot([self.w, self.w], [a, a]), sv.where(a < a, b, b) / b.square().exp(), *h, *k, sv.maximum(c, c),
        ]  # fmt: skip


class Odd(nn.Module):
    """Outputs that are a parameter, an input, a constant, a derived number twice; a weight and an input for nothing."""

    def __init__(self):
        self.w, self.aside = [sv.Weight(x) for x in (0.3, -0.7)], sv.Weight(2.0)

    def forward(self, x):
        self.aside * x[1]
        derived = (self.w[0] * self.w[1]).exp()
        return [self.w[0], x[0], sv.Value(0.5), derived, derived, derived * x[0], self.w[1].tanh()]


class Made(nn.Module):
    """Weights that a layer makes of weights, once a step; those before and behind its activation are both used."""

    def __init__(self):
        self.layer, self.w = nn.Linear(2, 3, seed=3), [sv.Weight(x) for x in (0.4, -0.8)]

    def forward(self, x):
        made = self.layer([w.tanh() for w in self.w])
        turned = [v.tanh() for v in made]
        return [sv.dot(turned, [x[0], x[1], x[0]]), made[0] * x[0], made[1], made[2] * turned[0] + x[1]]


def alone(outputs, targets):
    """A loss that has one row, which is an output."""
    return outputs[-1]


def against_itself(o, t):
    """Squares and differences of one row, and the factor inside."""
    return 0.3 * ((o[0] - o[0]) ** 2 + (o[1] - t[0]) ** 2 + (t[1] - o[0]) ** 2) + sv.sum([(v - v) for v in o])


def one_output_twice(o, t):
    """A squared error in which an output stands in two terms."""
    return sv.sum([(o[0] - t[0]) ** 2, (o[1] - t[1]) ** 2, (o[0] - t[2]) ** 2])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("loss", [nn.MSELoss(), alone, against_itself, one_output_twice])
@pytest.mark.parametrize("make", [Twice, Odd, Made])
def test_odd_graphs(make, loss, dtype):
    n_out = len(make()([0.1, 0.2]))
    check(make, loss, samples(2, n_out, 5), dtype, batch=3)


def test_a_bare_weight_is_model_and_loss():
    w = sv.Weight(0.5)
    for engine in ("objects", "cuda"):
        with Run(lambda x: w, lambda o, t: o, optim.SGD([w], lr=0.1), ([[1.0]], [[1.0]]), engine=engine) as run:
            run.step(2)
            assert (run.loss, run.frame().gradient.tolist()) == (pytest.approx(0.4), [1.0])
        w.data = 0.5


@pytest.mark.parametrize("wiring", ["plain", "again", "apart"])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_wirings(wiring, dtype):
    def make():
        nn.init.manual_seed(5)
        return agree.network([2, 3, 4, 2], wiring)

    n_out = len(make()([0.1, 0.2]))
    check(make, nn.MSELoss(), samples(2, n_out, 6), dtype, batch=5)


@pytest.mark.parametrize("name", gradient_rows.TRAPS)
def test_what_has_no_derivative_hands_on_nothing(name):
    graph, numbers, expected = gradient_rows.TRAPS[name]
    assert gradient_rows.gradient(graph, numbers, "cuda", 4) == expected


def test_random_graphs_with_branches(make_oracle):
    """Kinks, NaN and infinities; a quotient of a difference loses digits."""
    compared = 0
    for seed in range(25):
        wanted = random_branches.gradients(make_oracle.branching, seed, "objects")
        if wanted is not None:
            found = random_branches.gradients(make_oracle.branching, seed, "cuda", samples=3)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=str(seed))
            compared += 1
    assert compared > 15


# ---- random networks


def drawn(seed):
    """A network, a loss and data as in the tests of the other engines."""
    draw, rng = Random(seed), np.random.default_rng(seed)
    shape = (draw.randint(1, 9),) if seed % 3 else (draw.randint(1, 2), draw.randint(2, 6), draw.randint(2, 6))
    net = Drawn(draw, shape)
    loss, outputs = draw.choice(drawn_losses(net)), net.last.out_features
    classes = isinstance(loss, nn.CrossEntropyLoss)
    targets = rng.integers(0, outputs, 4) if classes else rng.random((4, outputs))
    return net, loss, (rng.normal(size=(4, *shape)), targets)


def check_drawn(seed, dtype):
    net, loss, data = drawn(seed)
    wanted = loss_and_gradient(net, loss, data, engine="objects", dtype=dtype)
    found = loss_and_gradient(net, loss, data, engine="cuda", dtype=dtype)
    assert np.linalg.norm(found - wanted) <= TOLERANCE[dtype] * np.linalg.norm(wanted)


def weights_of(net):
    return sum(p.data.size for p in net.parameters())


SMALL = [seed for seed in range(40) if weights_of(drawn(seed)[0]) <= 40][:8]


@pytest.mark.parametrize("seed", SMALL)
def test_random_networks(seed):
    check_drawn(seed, "float64")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.cuda) for seed in range(12, 40))])
def test_more_random_networks(seed):
    for dtype in TOLERANCE:
        check_drawn(seed, dtype)
