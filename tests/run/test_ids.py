"""Ids that data brings are whole and in range wherever it enters; what is not is refused with its place."""

from __future__ import annotations

import re

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, OutOfRangeError, TracingError, TypeMismatchError
from scalarviz.run.ids import check_tables
from scalarviz.tape import Node, Table, Tape


class Pair(nn.Module):
    """Two ids of one table, the second of a smaller one as well; and a number that is none."""

    def __init__(self):
        self.large, self.small = nn.Embedding(9, 2, seed=1), nn.Embedding(5, 2, seed=2)
        self.out = nn.Linear(7, 1, seed=3)

    def forward(self, x):
        return self.out([*self.large(x[0]), *self.large(x[1]), *self.small(x[1]), x[2]])


X = np.array([[8, 4, 0.5], [0, 0, -7.0], [3, 2, 100.0]])
Y = np.array([[1.0], [2.0], [3.0]])


def run_on(x, y=Y, loss=None, **rest):
    net = Pair()
    return Run(net, loss or nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), engine="numpy", **rest)


def bad(sample, column, number):
    x = X.copy()
    x[sample, column] = number
    return x


BAD = [(1, 0, 9.0), (2, 0, -1.0), (0, 1, 5.0), (2, 1, 1.5), (1, 0, 1e300), (1, 1, -0.5)]


@pytest.mark.parametrize(("sample", "column", "number"), BAD)
def test_every_entrance_says_which_sample_and_column(sample, column, number):
    run, x = run_on(X), bad(sample, column, number)
    one = x[sample]
    entrances = {
        "data": lambda: run_on(x),
        "refill": lambda: run.refill(x, Y),
        "add_samples": lambda: run.add_samples(x, Y),
        "predict": lambda: run.predict(x),
        "evaluate": lambda: run.evaluate(x, Y),
    }
    before = run.values.copy()
    for name, entrance in entrances.items():
        with pytest.raises(
            InputError, match=re.escape(f"{name}: the inputs: sample {sample}, column {column} is {number};")
        ):
            entrance()
    for entrance in (lambda: run.frame(one), lambda: run.activations(one), lambda: run.request_frame(one)):
        with pytest.raises(InputError, match=f"probe: .*column {column}"):
            entrance()
    with pytest.raises(InputError, match=f"open: .*column {column}"):
        run.open(sample=(one, Y[0]))
    run.step(2)
    assert not np.array_equal(run.values, before)
    assert np.isfinite(run.loss)


def test_numbers_that_are_no_ids_are_left_alone():
    assert np.isfinite(run_on(X).predict(X)).all()
    assert np.isfinite(run_on(X.astype(np.float32)).evaluate(X, Y))


def test_an_id_among_the_targets():
    table = nn.Parameter([[1.0], [2.0]])

    def loss(outputs, targets):
        return (outputs[0] - table[targets[0]][0]).square()

    net = nn.Linear(1, 1, seed=0)
    run = Run(net, loss, optim.SGD(net.parameters(), lr=0.1), ([[0.5], [1.0]], [[0], [1]]), engine="numpy")
    for entrance in (
        lambda: run.set_targets([[0], [2]]),
        lambda: run.evaluate([[0.5], [0.5]], [[1], [2]]),
        lambda: Run(net, loss, optim.SGD(net.parameters(), lr=0.1), ([[0.5], [1.0]], [[0], [2]])),
    ):
        with pytest.raises(InputError, match="the targets: sample 1, column 0 is 2"):
            entrance()


def test_a_changed_model_checks_the_data_that_is_there():
    run = run_on(X)

    class Smaller(Pair):
        def __init__(self):
            super().__init__()
            self.large = nn.Embedding(8, 2, seed=1)

    with pytest.raises(InputError, match=r"change: the inputs: sample 0, column 0 is 8"):
        run.change(model=Smaller())


def test_a_table_that_float32_cannot_name_is_refused():
    nodes = (Node("input"), Node("gather", (0,), table=Table(2**24 + 1, 1)))
    tape = Tape(nodes, 1, 0, 2**24 + 1)
    with pytest.raises(InputError, match=r"16,777,217 rows: float32 .* dtype=\"float64\""):
        check_tables(tape, "float32")
    check_tables(tape, "float64")
    check_tables(Tape((Node("input"), Node("gather", (0,), table=Table(2**24, 1))), 1, 0, 2**24), "float32")


@pytest.mark.parametrize("id", [9, -1, 1.5, np.nan, np.inf, sv.Value(9.0)])
def test_by_hand_an_id_that_there_is_not_raises(id):
    with pytest.raises(OutOfRangeError, match=r"no row .* from 0 to 8"):
        nn.Embedding(9, 2)(id)
    with pytest.raises(OutOfRangeError):
        sv.gather(nn.Embedding(9, 2).weight, id)


@pytest.mark.parametrize(
    ("attempt", "text"),
    [
        (lambda: sv.gather([sv.Weight(1.0)], 0), "nn.Embedding"),
        (lambda: sv.gather(((sv.Weight(1.0),),), 0), "nn.Embedding"),
        (lambda: sv.gather(None, 0), "must be a Parameter"),
        (lambda: sv.gather(nn.Parameter([1.0]), "0"), "must be a number"),
        (lambda: sv.gather(nn.Parameter([1.0]), None), "must be a number"),
        (lambda: nn.Embedding(3, 2)("a"), "Embedding"),
    ],
)
def test_what_is_no_table_or_no_id(attempt, text):
    with pytest.raises(TypeMismatchError, match=text):
        attempt()


@pytest.mark.parametrize("sizes", [(0, 2), (2, 0), (1.5, 2), (2, True)])
def test_sizes_of_an_embedding(sizes):
    with pytest.raises(InputError, match="Embedding: "):
        nn.Embedding(*sizes)


def test_a_list_that_is_read_by_a_recorded_number_names_the_way_out():
    rows = [[sv.Weight(1.0)], [sv.Weight(2.0)]]
    with pytest.raises(TracingError, match=r"nn\.Embedding"):
        sv.record(lambda x: rows[x[0]], 1)


def test_by_hand_the_row_is_the_weights_themselves():
    table = nn.Embedding(4, 3, seed=0)
    row = table(2)
    assert row == [table.weight[2][k] for k in range(3)]
    sv.sum([v * v for v in row]).backward()
    np.testing.assert_array_equal(table.weight.grad[2], 2 * table.weight.data[2])
    assert not table.weight.grad[[0, 1, 3]].any()


def test_indices_before_and_behind_a_value():
    table = nn.Parameter(np.arange(24.0).reshape(2, 3, 4))
    one, two = sv.Value(1.0), sv.Value(2.0)
    assert np.shape(table[one]) == (3, 4)
    assert table[1, two, 3] is table[1][2][3]
    assert table[one, 2, 3] is table[1, 2, 3]
    assert [v.data for v in table[1][two]] == [20.0, 21.0, 22.0, 23.0]
    with pytest.raises(InputError, match="one index may be a Value"):
        table[one, one]

    net = sv.record(lambda x: [table[1, x[0], 3], table[x[0], 0, -1], *table[0][x[0]]], 1)
    found = [(n.index, n.table) for n in net.nodes if n.code == "gather"]
    assert found[0] == (15, Table(3, 4))
    assert found[1] == (3, Table(2, 12))
    assert found[2:] == [(k, Table(3, 4)) for k in range(4)]


def test_the_weights_of_a_table_in_an_opened_step():
    run = run_on(X, dtype="float64")
    run.step(1)
    opened = run.open()
    for index in range(run.n_weights):
        terms = opened.terms(index)
        assert terms.sum == pytest.approx(float(opened.gradient[index]), rel=1e-12, abs=1e-14)
        if run.weight_name(index).startswith(("large", "small")):
            assert {use.kind for use in terms.uses} <= {"gather"}
            np.testing.assert_array_equal(np.isin(terms.array["x"], (0.0, 1.0)), True)
