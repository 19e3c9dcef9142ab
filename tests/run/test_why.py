"""Why a weight moved, what if it were another, and which moved most: tables that add up, of a run that stays put."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, OutOfRangeError, StateError, TypeMismatchError, UnknownNameError
from scalarviz.run.opened.adding import column as made_column

X = np.random.default_rng(0).random((64, 3))


def rgb(optimizer=None, engine="numpy", dtype="float32", **options):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    make = optimizer or (lambda p: optim.SGD(p, lr=0.5))
    return Run(net, nn.MSELoss(), make(net.parameters()), (X, 1 - X), engine=engine, dtype=dtype, **options)


def number(text):
    return float(text.replace("−", "-").replace(",", ""))


def column(text, last):
    """The numbers of the last column, from the line below the head to the one that begins with `last`."""
    lines = text.splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("sample"))
    end = next(k for k, line in enumerate(lines) if line.startswith(last))
    return [number(line.split()[-1]) for line in lines[head + 1 : end + 1]]


@pytest.mark.parametrize("seed", range(5))
def test_the_column_adds_up_as_printed(seed):
    run = rgb(optim.Adam, batch_size=16, seed=seed)
    run.step(5)
    for index in range(run.n_weights):
        text = str(run.why(index))
        *rows, total = column(text, "sum")
        assert len(rows) == 9
        assert sum(rows) == pytest.approx(total, abs=1e-12)
        for line in text.splitlines()[3:11]:
            _, delta, x, product = line.split()
            decimals = len(product.partition(".")[2])
            assert round(number(delta) * number(x), decimals) == pytest.approx(number(product), abs=1e-15)
        gradient = number(next(line for line in text.splitlines() if line.startswith("/ 16")).split()[-1])
        assert float(f"{total / 16:.3g}") == float(f"{gradient:.3g}")


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_the_engines_own_gradient_stands_beside_that_of_the_same_step(engine):
    run = rgb(engine=engine)
    run.step(5)
    own = run.frame().gradient[4]
    why = run.why("0.weight[1][1]")
    assert (why.step, why.engine_gradient, why.now) == (5, own, run.values[4])
    assert why.gradient == pytest.approx(own, rel=1e-4)
    assert why.update.after == pytest.approx(why.now, rel=1e-6)
    coming = run.why("0.weight[1][1]", step=6)
    assert (coming.step, coming.engine_gradient, coming.now) == (6, None, None)
    run.step(1)
    assert coming.update.after == pytest.approx(run.values[4], rel=1e-6)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8), st.floats(-1e3, 1e3), st.booleans(),
       st.integers(-30, 30))  # fmt: skip
def test_any_column_adds_up(numbers, others, more, power):
    numbers, others = [x * 10.0**power for x in numbers], others * 10.0**power if more else 0.0
    total = math.fsum([*numbers, others])
    made = made_column(numbers, others, total, more=more)
    written = [Decimal(text.replace("−", "-")) for text in (*made.rows, made.rest, made.total)]
    assert sum(written[:-1]) == written[-1]
    largest = max(map(abs, [*numbers, total]))
    for number, text in zip([*numbers, others, total], written, strict=True):
        assert abs(Decimal(number) - text) <= Decimal(largest) * Decimal("0.0006")


def test_it_is_printed(capsys):
    run = rgb()
    why = run.why(run.model[0].weight[2][1])
    assert capsys.readouterr().out == f"{why}\n"
    lines = str(why).splitlines()
    assert lines[0].startswith("Why 0.weight[2][1] will move in step 1: ")
    assert any(line.startswith("56 more") for line in lines)
    assert "w' = w − lr · g" in lines


def test_printing_where_there_are_few_letters(monkeypatch):
    printed = []

    def to_a_pipe(text):
        text.encode("cp1252")
        printed.append(text)

    monkeypatch.setattr("builtins.print", to_a_pipe)
    rgb(optim.Adam).why(0)
    assert "w' = w - lr / (1 - 0.9^t) * m' / (sqrt v' / sqrt (1 - 0.999^t) + 1e-08)" in printed[0]


@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam])
def test_asking_leaves_no_trace(optimizer):
    asked, other = (rgb(lambda p: optimizer(p, lr=0.1), "numba", batch_size=16) for _ in range(2))
    for run in (asked, other):
        run.step(40)
        run.set_weights(0, np.full(9, 0.25))
        run.step(20)
    frame = asked.frame()
    asked.why(3), asked.why(3, step=7), asked.why(5, step=41), asked.compare(3, 50)
    again = asked.frame()
    for name in ("values", "gradient", "update", "computed", "frozen"):
        assert np.array_equal(getattr(frame, name), getattr(again, name)), name
    assert (frame.step, frame.loss, frame.lr, frame.edited) == (again.step, again.loss, again.lr, again.edited)
    for run in (asked, other):
        run.step(25)
    assert np.array_equal(asked.values, other.values)
    assert np.array_equal(asked.history.loss, other.history.loss)
    assert len(asked.branches) == len(other.branches) == 1


def test_asked_in_the_past_it_stays_there():
    run = rgb(optim.Adam, batch_size=16)
    run.step(40)
    run.to(20)
    values = run.values.copy()
    assert run.why(0).step == 20
    assert run.why(0, step=35).step == 35
    assert run.why(0, step=41).now is None
    assert run.steps == 20
    assert np.array_equal(run.values, values)
    assert run.span == (0, 40)


def test_a_weight_that_was_set_since_says_so():
    run = rgb()
    run.step(3)
    run.model[0].weight[0][0].data = 2.0
    why = run.why(0)
    assert why.step == 3
    assert why.now == 2.0
    assert "Since then it was changed: it is 2 now." in str(why)


def test_what_stays_says_why():
    run = rgb()
    run.model[0].weight[0][0].frozen = True
    assert "w' = w: it is frozen" in str(run.why(0))
    lone = sv.Weight(0.5, name="lone")
    read = sv.Weight(0.3, name="read")
    model = lambda x: [read * x[0]]  # noqa: E731
    run = Run(model, nn.MSELoss(), optim.SGD([lone, read], lr=0.1), (X[:, :1], X[:, 1:2]), engine="numpy")
    text = str(run.why("lone"))
    assert "nothing that the loss is made of reads it: its gradient is 0" in text
    assert "w' = w: the optimiser does not hold it, or the loss does not read it" in text


def test_a_weight_that_is_used_several_times_names_the_places():
    layer = nn.Linear(3, 3, seed=1)
    net = nn.Sequential(layer, nn.Tanh(), layer)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X), engine="numpy")
    text = str(run.why(0))
    assert "where" in text
    assert "0 (2)[0]" in text
    assert "120 more" in text
    assert {int(use) for use in run.open().terms(0)["use"]} == {0, 1}


@pytest.mark.parametrize("loss", ["mean", "sum"])
def test_sums_are_not_divided(loss):
    net = nn.Sequential(nn.Linear(3, 3, seed=1))
    run = Run(net, nn.MSELoss(reduction=loss), optim.SGD(net.parameters(), lr=0.01), (X, X), engine="numpy")
    why = run.why(0)
    assert why.divisor == (64 if loss == "mean" else 1)
    assert why.total / why.divisor == pytest.approx(why.gradient, rel=1e-12)
    assert ("/ 64 = gradient" in str(why)) == (loss == "mean")


def test_numbers_that_are_none_are_printed_as_they_are():
    net = nn.Sequential(nn.Linear(3, 3, seed=1))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.01), (X, X), engine="numpy")
    run._store.value[:9] = np.inf  # as a run that diverged has them
    why = run.why(0, step=1)
    assert "inf" in str(why)
    assert len(why.rows) == 8


# wrong questions


def test_wrong_questions():
    run, other = rgb(), rgb()
    run.step(5)
    with pytest.raises(UnknownNameError, match=r"no weight is called '0.wieght\[0\]\[0\]'.*did you mean 0.weight"):
        run.why("0.wieght[0][0]")
    with pytest.raises(InputError, match=r"has the shape \(3, 3\), so a weight of it has 2 numbers"):
        run.why("0.weight[0]")
    with pytest.raises(InputError, match=r"shape \(3, 3\), counted from 0"):
        run.why("0.weight[3][0]")
    with pytest.raises(InputError, match="no weight of this run"):
        run.why(other.model[0].weight[0][0])
    with pytest.raises(TypeMismatchError, match=r"0\.weight is 9 weights; say which one"):
        run.why(run.model[0].weight)
    with pytest.raises(OutOfRangeError, match="there is no number 12"):
        run.why(12)
    for wrong in (1.5, None, True, [0]):
        with pytest.raises(TypeMismatchError, match="a weight is a Weight, its name"):
            run.why(wrong)
    for step in (0, 7, 100):
        with pytest.raises(InputError, match=f"there is no step {step}; allowed: 1 to 6, the coming one"):
            run.why(0, step=step)
    with pytest.raises(InputError, match="whole number"):
        run.why(0, step=1.5)
    with pytest.raises(InputError, match="there is no step 6; allowed: 0 to 5"):
        run.compare(0, 6)
    with pytest.raises(InputError, match="whole number"):
        run.compare(0, 2, most=-1)
    assert run.steps == 5


def test_a_closed_run_answers_nothing():
    run = rgb()
    run.step(3)
    opened = run.open()
    run.close()
    for question in (lambda: run.why(0), lambda: run.compare(0, 1), run.open):
        with pytest.raises(StateError, match="closed"):
            question()
    assert opened.terms(0).sum == pytest.approx(opened.gradient[0], rel=1e-12)  # what was opened stays


def test_a_run_whose_weights_another_one_has():
    run = rgb()
    net = run.model
    Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    with pytest.raises(StateError, match="took over the weights"):
        run.why(0)


# two steps


def test_the_weights_that_moved_most():
    run = rgb(optim.Adam)
    seen = {0: run.values.copy()}
    for step in (10, 25):
        run.step(step - run.steps)
        seen[step] = run.values.copy()
    found = run.compare(10, 25, most=3)
    assert np.array_equal(found.before, seen[10])
    assert np.array_equal(found.by, seen[25] - seen[10])
    order = np.argsort(-np.abs(seen[25].astype(float) - seen[10]))[:3]
    assert [row.index for row in found.rows] == order.tolist()
    assert [row.name for row in found.rows] == [run.weight_name(i) for i in order]
    text = str(found)
    assert text.startswith("Step 10 to step 25: 12 of 12 weights moved, loss ")
    assert text.endswith("9 more, each by less")
    for line in text.splitlines()[3:6]:
        before, after, by = (Decimal(word.replace("−", "-")) for word in line.split()[-3:])
        assert before + by == after
    back = run.compare(25, 10)
    assert np.array_equal(back.by, -found.by)
    assert run.compare(5, 5).changed == 0


def test_what_is_frozen_did_not_move():
    run = rgb()
    for weight in run.model[0].weight[0]:
        weight.frozen = True
    run.step(5)
    found = run.compare(0, 5, most=20)
    moved = {row.index for row in found.rows}
    assert moved.isdisjoint({0, 1, 2})
    assert found.changed == len(moved)


# what if


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_loss_along_a_weight_is_that_of_the_batch(dtype):
    run = rgb(optim.Adam, dtype=dtype, batch_size=16)
    run.step(7)
    opened = run.open()
    along = opened.loss_along("0.weight[1][2]")
    x, y = (part[opened.batch] for part in run.samples())
    assert along.weights[16] == along.value == opened.values[5]
    assert along.weights[0] < along.after < along.weights[-1]
    for weight, loss in zip(along.weights, along.losses, strict=True):
        values = run.values.copy()
        values[5] = weight
        assert loss == pytest.approx(run.evaluate(x, y, values), rel=1e-12)
    fine = opened.loss_along(5, points=3)
    assert len(fine.weights) == 3
    near = opened.loss, opened.gradient[5]
    assert along.tangent[16] == pytest.approx(near[0], rel=1e-12)
    step = 1e-3 if dtype == "float32" else 1e-5
    values = np.stack([run.values, run.values]).astype(np.float64)
    values[:, 5] += [-step, step]
    low, high = (run.evaluate(x, y, v) for v in values)
    assert (high - low) / (2 * step) == pytest.approx(along.slope, rel=2e-2 if dtype == "float32" else 1e-6)


def test_what_if_reaches_beyond_a_large_step():
    opened = rgb(lambda p: optim.SGD(p, lr=500.0)).open()
    for index in range(12):
        along = opened.loss_along(index, points=9)
        assert along.weights[0] < along.after < along.weights[-1]
        assert abs(along.after - along.value) == pytest.approx(500 * abs(along.slope))
    assert np.abs(opened.new_values - opened.values).max() > 2


def test_what_if_with_few_or_wrong_points():
    opened = rgb().open()
    for points in (2, 0, -1, 2.5, None):
        with pytest.raises(InputError, match="points"):
            opened.loss_along(0, points)


# outer products


@pytest.mark.parametrize("sample", [None, 3])
def test_outer_products_sum_up_to_the_gradient(sample):
    net = nn.Sequential(nn.Linear(3, 5, seed=1), nn.Tanh(), nn.Linear(5, 3, seed=2))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X), batch_size=16, engine="numpy")
    run.step(3)
    opened = run.open(sample=sample)
    for stage in (s for s in opened.stages if s.weight is not None):
        total = np.zeros(stage.weight.shape)
        for part in opened.outer_products(stage.name):
            total += np.outer(part.delta, part.x)
            np.testing.assert_allclose(part.total, total, atol=1e-14)
            assert part.sample == opened.batch[part.count - 1]
        assert part.count == len(opened.batch)
        np.testing.assert_allclose(part.total, stage.weight.of(opened.gradient), atol=1e-14)
        np.testing.assert_allclose(part.bias, stage.bias.of(opened.gradient), atol=1e-14)
        few = list(opened.outer_products(stage.name, counts=[1, 4]))
        assert [p.count for p in few] == sorted({1, 4, 16} if sample is None else {1})
        np.testing.assert_allclose(few[-1].total, total, atol=1e-14)


@pytest.mark.parametrize("counts", [None, [3, 7, 30], [64], [1]])
def test_outer_products_of_a_batch_in_several_blocks(counts, monkeypatch):
    run = rgb(dtype="float64")
    run.open()
    run._network.lanes = 5
    monkeypatch.setattr("scalarviz.run.opened.passes.KEPT_BYTES", 0)
    opened = run.open()
    parts = list(opened.outer_products("0", counts))
    assert [part.count for part in parts] == (sorted({*counts, 64}) if counts else list(range(1, 65)))
    y = 1 / (1 + np.exp(-(X @ opened.values[:9].reshape(3, 3).T + opened.values[9:])))
    deltas = 2 / 3 * (y - (1 - X)) * y * (1 - y) / 64
    for part in parts:
        np.testing.assert_allclose(part.total, deltas[: part.count].T @ X[: part.count], atol=1e-15)
        np.testing.assert_allclose(part.bias, deltas[: part.count].sum(axis=0), atol=1e-15)
        np.testing.assert_allclose(part.delta, deltas[part.count - 1], atol=1e-15)


def test_outer_products_of_what_is_no_layer():
    opened = rgb().open()
    with pytest.raises(UnknownNameError, match="there is no stage '7'; allowed: 0, 1"):
        opened.outer_products("7")
    with pytest.raises(InputError, match="stage '1' is sigmoid; linear ones: '0'"):
        opened.outer_products("1")
    with pytest.raises(InputError, match="a count"):
        opened.outer_products("0", counts=[0])
