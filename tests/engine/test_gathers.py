"""Rows of a table chosen by number, on every engine: against the same as a layer over one-hot inputs, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.tape import lower, record
from scalarviz.tape.passes import fold_constants

ENGINES = ["objects", "numpy", "numba"]
ROWS, WIDTH, PLACES = 5, 3, 4


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


def gradient(run, step=1):
    value = run._training.trainer.gradient(step)
    return value, run._store.grad.astype(float).copy()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-13), ("float32", 2e-6)])
@pytest.mark.parametrize("batch", [1, 4, 23])
def test_a_table_is_a_layer_over_one_hot_inputs(batch, dtype, tolerance, engine):
    ids, targets = data()
    found = {}
    for kind, x in ((Letters, ids), (OneHot, np.eye(ROWS)[ids].reshape(len(ids), -1))):
        net = kind()
        run = Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (x, targets), batch_size=batch,
                  engine="numpy" if kind is OneHot else engine, dtype=dtype)  # fmt: skip
        value, grad = gradient(run)
        run.step(5)
        table = [run.tensors[0].of(numbers) for numbers in (grad, run.values)]
        turn = [t.T if kind is OneHot else t for t in table]
        found[kind] = [value, *turn, grad[ROWS * WIDTH :], run.values[ROWS * WIDTH :].copy(), run.predict(x)]
    for ours, wanted in zip(found[Letters], found[OneHot], strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=tolerance)


def test_the_lookups_of_a_table_are_one_instruction():
    """All places read all columns but the last, which reads fewer."""
    net = Letters()
    body = lower(record(net, PLACES, 2, loss=nn.MSELoss()).only(loss=True)).body
    found = [(i.args.shape[1], len(i.weights)) for i in body.instructions if i.kind == "gather"]
    assert sorted(found) == [(1, WIDTH - 1), (PLACES - 1, WIDTH)]


def test_a_number_that_is_known_chooses_while_recording():
    table = nn.Parameter([[1.0, 2.0], [3.0, 4.0]])
    there, not_there = (
        fold_constants(record(lambda x, factor=factor: [a * x[0] for a in table[sv.Value(0.5) * factor]], 1)).nodes
        for factor in (2.0, 5.0)
    )
    assert [node.index for node in there if node.code == "param"] == [2, 3]
    assert [np.isnan(node.number) for node in not_there if node.code == "const"] == [True, True]
    assert not [node for node in (*there, *not_there) if node.code == "gather"]


class Computed(nn.Module):
    """The id is computed: 0 to 2 of a table of three for small inputs, beyond it, below it or between for others."""

    def __init__(self):
        self.table = nn.Parameter(np.array([[0.5, 1.0], [-1.0, 2.0], [0.25, -0.5]]))

    def forward(self, x):
        return self.table[x[0] * x[1]]


COMPUTED = np.array([[1, 2], [1, 1], [0, 5], [-1, 1], [1, 3], [0.5, 1], [2, 1], [1e18, 1e18], [-3e9, 2], [1, -0.0]])
THERE = [True, True, True, False, False, False, True, False, False, True]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", [1, 10])
def test_an_id_that_the_table_does_not_have_is_nan_and_scatters_nothing(batch, dtype, engine):
    """The model computes it, so nobody could have refused it."""
    net, there = Computed(), np.array(THERE)
    targets = np.arange(20.0).reshape(10, 2)
    run = Run(net, nn.MSELoss(reduction="sum"), optim.SGD(net.parameters(), lr=0.1), (COMPUTED, targets),
              batch_size=batch, engine=engine, dtype=dtype)  # fmt: skip
    said = run.predict(COMPUTED)
    np.testing.assert_array_equal(np.isnan(said), ~there[:, None].repeat(2, 1))
    ids = (COMPUTED[there, 0] * COMPUTED[there, 1]).astype(int)
    np.testing.assert_array_equal(said[there], net.table.data[ids])
    for step in range(10 if batch == 1 else 1):
        chosen = run.problem.indices(step)
        value, grad = gradient(run, step)
        wanted = np.zeros((3, 2))
        inside = chosen[there[chosen]]
        rows = (COMPUTED[inside, 0] * COMPUTED[inside, 1]).astype(int)
        np.add.at(wanted, rows, 2 * (net.table.data[rows] - targets[inside]))
        np.testing.assert_allclose(grad.reshape(3, 2), wanted, rtol=1e-6)
        assert np.isnan(value) == (not there[chosen].all())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_that_is_a_layer_too_gets_both_gradients(engine):
    """Tied weights: rows are looked up, and multiplied."""
    draw = np.random.default_rng(1)
    ids, targets = draw.integers(0, 4, (9, 1)), draw.normal(size=(9, 4))

    class Tied(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(3, 4, bias=False, seed=3)

        def forward(self, x):
            return self.layer(self.layer.weight[x[0]])

    net = Tied()
    weight = net.layer.weight.data.copy()
    run = Run(net, nn.MSELoss(reduction="sum"), optim.SGD(net.parameters(), lr=0.1), (ids, targets), engine=engine,
              dtype="float64")  # fmt: skip
    _, grad = gradient(run)
    rows = weight[ids[:, 0]]
    up = 2 * (rows @ weight.T - targets)
    wanted = up.T @ rows
    np.add.at(wanted, ids[:, 0], up @ weight)
    np.testing.assert_allclose(grad.reshape(4, 3), wanted, rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_chosen_by_weights_alone(engine):
    """The id is made of parameters: the lookup is done once a step."""
    choice, table = sv.Weight(1.0), nn.Parameter([0.5, 2.0, -1.0])

    class Chosen(nn.Module):
        def __init__(self):
            self.choice, self.table = choice, table

        def forward(self, x):
            return [self.table[self.choice + 1.0] * x[0]]

    net = Chosen()
    x = np.array([[1.0], [2.0]])
    run = Run(net, nn.MSELoss(), optim.SGD([net.table], lr=0.1), (x, 0 * x), engine=engine, dtype="float64")
    _, grad = gradient(run)
    assert run.tensors[[t.name for t in run.tensors].index("table")].of(grad).tolist() == [0.0, 0.0, -5.0]


def test_threads_change_no_bit():
    draw = np.random.default_rng(0)
    x, y = draw.integers(0, ROWS, (3000, PLACES)), draw.normal(size=(3000, 2))
    found = []
    for threads in (1, 2):
        net = Letters()
        run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), engine="numba", threads=threads)
        run.step(3)
        found.append(run.values.copy())
    np.testing.assert_array_equal(*found)
