"""Rows of a table chosen by number, on every engine: against the same as a layer over one-hot inputs, and by hand."""

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import ENGINES, loss_and_gradient
from scalarviz import nn, optim

ROWS, WIDTH, PLACES = 5, 3, 4
every = pytest.mark.parametrize("engine", ENGINES)


class Letters(nn.Module):
    """A table read at several places, by all columns at three of them and by some at the last."""

    def __init__(self):
        self.table = nn.Embedding(ROWS, WIDTH, seed=1)
        self.out = nn.Linear(PLACES * WIDTH - 1, 2, seed=2)

    def rows(self, x):
        return self.table(x)

    def forward(self, x):
        *rows, last = self.rows(x)
        return [v.tanh() for v in self.out([*(v for row in rows for v in row), *last[1:]])]


class OneHot(Letters):
    """The same with a layer in the place of the table, whose inputs are 0 and 1."""

    def __init__(self):
        super().__init__()
        self.table = nn.Linear(ROWS, WIDTH, bias=False)
        self.table.weight.data = nn.Embedding(ROWS, WIDTH, seed=1).weight.data.T

    def rows(self, x):
        return [self.table(x[k * ROWS : (k + 1) * ROWS]) for k in range(PLACES)]


def data(samples=23):
    draw = np.random.default_rng(4)
    ids = draw.integers(0, ROWS, (samples, PLACES))
    return ids, draw.normal(size=(samples, 2))


@every
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-13), ("float32", 2e-6)])
@pytest.mark.parametrize("batch", [1, 4, 23])
def test_a_table_is_a_layer_over_one_hot_inputs(batch, dtype, tolerance, engine):
    ids, targets = data()
    found = {}
    for kind, x in ((Letters, ids), (OneHot, np.eye(ROWS)[ids].reshape(len(ids), -1))):
        net, by = kind(), "numpy" if kind is OneHot else engine
        options = {"batch_size": batch, "engine": by, "dtype": dtype}
        run = sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (x, targets), **options)
        run.step()
        gradient = run.frame().gradient
        run.step(4)
        table = [run.tensors[0].of(numbers) for numbers in (gradient, run.values)]
        turned = [t.T if kind is OneHot else t for t in table]
        found[kind] = [*run.history.loss, *turned, gradient[15:], run.values[15:].copy(), run.predict(x)]
    for ours, wanted in zip(found[Letters], found[OneHot], strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=tolerance)


class Computed(nn.Module):
    """The id is computed: 0 to 2 of a table of three for small inputs, beyond it, below it or between for others."""

    def __init__(self):
        self.table = nn.Parameter(np.array([[0.5, 1.0], [-1.0, 2.0], [0.25, -0.5]]))

    def forward(self, x):
        return self.table[x[0] * x[1]]


COMPUTED = np.array([[1, 2], [1, 1], [0, 5], [-1, 1], [1, 3], [0.5, 1], [2, 1], [1e18, 1e18], [-3e9, 2], [1, -0.0]])
THERE = np.array([True, True, True, False, False, False, True, False, False, True])


@every
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("samples", [[0], [3], [7], range(10)])
def test_an_id_that_the_table_does_not_have_is_nan_and_scatters_nothing(samples, dtype, engine):
    """The model computes it, so nobody could have refused it."""
    net, ids, there = Computed(), COMPUTED[samples], THERE[samples]
    targets, start = np.arange(20.0).reshape(10, 2)[samples], net.table.data.copy()
    rows = (ids[there, 0] * ids[there, 1]).astype(int)
    wanted = np.zeros((3, 2))
    np.add.at(wanted, rows, 2 * (start[rows] - targets[there]))
    found = loss_and_gradient(net, nn.MSELoss(reduction="sum"), (ids, targets), engine=engine, dtype=dtype)
    np.testing.assert_allclose(found[:-1].reshape(3, 2), wanted, rtol=1e-6)
    assert np.isnan(found[-1]) == (not there.all())
    net.table.data = start
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (ids, targets), engine=engine, dtype=dtype) as run:
        said = run.predict(ids)
    np.testing.assert_array_equal(np.isnan(said), ~there[:, None].repeat(2, 1))
    np.testing.assert_array_equal(said[there], start[rows])


@every
def test_a_table_that_is_a_layer_too_gets_both_gradients(engine):
    draw = np.random.default_rng(1)
    ids, targets = draw.integers(0, 4, (9, 1)), draw.normal(size=(9, 4))
    layer = nn.Linear(3, 4, bias=False, seed=3)
    weight = layer.weight.data.copy()
    found = loss_and_gradient(lambda x: layer(layer.weight[x[0]]), nn.MSELoss("sum"), (ids, targets), engine=engine,
                              weights=layer.parameters(), dtype="float64")  # fmt: skip
    rows = weight[ids[:, 0]]
    up = 2 * (rows @ weight.T - targets)
    wanted = up.T @ rows
    np.add.at(wanted, ids[:, 0], up @ weight)
    np.testing.assert_allclose(found[:-1].reshape(4, 3), wanted, rtol=1e-12)
