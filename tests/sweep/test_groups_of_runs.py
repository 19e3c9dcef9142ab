"""Groups of runs: their quartiles against NumPy's, their counts, the order of a wall."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.sweep.groups import by_loss, groups, loss_of, quartiles, swept
from scalarviz.sweep.result import Result


def run(number, loss=1.0, state="done", reached=None, **options):
    return Result(number, options, number, state, 10, loss, reached=reached, metrics={"right": number})


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_quartiles_are_numpys(numbers):
    assert quartiles(numbers) == pytest.approx(np.quantile(numbers, [0.25, 0.5, 0.75]), rel=1e-9, abs=1e-6)


def test_what_diverged_counts_as_infinite_and_no_numbers_have_no_quartiles():
    assert quartiles([1.0, math.inf]) == (math.inf, math.inf, math.inf)
    assert quartiles([1.0, 2.0, 3.0, 4.0, math.inf]) == (2.0, 3.0, 4.0)
    assert all(math.isnan(part) for part in quartiles([]))


def test_runs_are_grouped_by_a_value_in_the_order_of_the_grid():
    some = [run(0, lr=0.5, hidden="8"), run(1, lr=0.1, hidden="8"), run(2, lr=0.5, hidden="8")]
    assert [(group.value, len(group.results)) for group in groups(some, "lr")] == [(0.5, 2), (0.1, 1)]
    assert swept(some) == ["lr"]
    (every,) = groups(some)
    assert every.results == tuple(some)


def test_values_that_are_equal_but_not_alike_are_apart():
    assert [group.value for group in groups([run(0, b=1), run(1, b=True), run(2, b="1")], "b")] == [1, True, "1"]


def test_a_group_counts_what_learnt_diverged_and_failed():
    some = [
        run(0, 0.1, reached=True), run(1, 0.3, reached=False), run(2, math.nan, "diverged", reached=False),
        run(3, math.nan, "failed"),
    ]  # fmt: skip
    (group,) = groups(some)
    assert (group.learnt, group.count("diverged"), group.count("failed")) == (1, 1, 1)
    assert group.losses == [0.1, 0.3, math.inf]
    assert group.quartiles[1] == 0.3
    assert group.of_metric("right") == quartiles([0, 1])
    assert groups([run(0), run(1)])[0].learnt is None


@given(st.permutations(range(6)))
def test_the_order_is_by_loss_then_what_diverged_then_what_failed(order):
    some = [run(0, 0.2), run(1, 0.1), run(2, 0.1), run(3, 5.0, "diverged"), run(4, math.nan), run(5, 0.0, "failed")]
    assert [result.number for result in by_loss([some[k] for k in order])] == [1, 2, 0, 3, 4, 5]
    assert loss_of(some[4]) == math.inf
