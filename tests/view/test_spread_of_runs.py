"""The quartiles that are drawn over the curves of many runs are NumPy's of those runs, at every place."""

import numpy as np
import pytest

from scalarviz.sweep.result import Result, thinned
from scalarviz.view.walls.run_plots import curve_of, spread

FAR = 1e300
"""In the place of infinity, between which and a number NumPy finds none."""


def run(rng, number):
    diverged = rng.random() < 0.4
    steps = int(rng.integers(1, 400)) if diverged else int(rng.choice([5, 300]))
    losses = rng.exponential(size=steps)
    if diverged:
        losses[-1] = rng.choice([np.nan, np.inf, 3.0])
    curve = thinned(np.arange(1, steps + 1), losses)
    return Result(number, {}, number, "diverged" if diverged else "done", steps, curve=curve)


def at(result, place):
    """The loss of a run at a place; no number where it had come to its end, far away where it had diverged."""
    steps, losses = curve_of(result)
    if place > steps[-1]:
        return FAR if result.state == "diverged" else np.nan
    k = int(np.searchsorted(steps, place))
    if k == 0 or steps[k] == place:
        return losses[k] if np.isfinite(losses[k]) else FAR
    if not np.isfinite(losses[k]):
        return FAR
    share = (place - steps[k - 1]) / (steps[k] - steps[k - 1])
    return losses[k - 1] + share * (losses[k] - losses[k - 1])


@pytest.mark.parametrize("seed", range(12))
def test_quartiles_count_every_run_also_where_it_diverges(seed):
    """One whose last loss was no number was left out of the place before its end, and the median jumped."""
    rng = np.random.default_rng(seed)
    runs = [run(rng, number) for number in range(int(rng.integers(2, 20)))]
    places, found = spread(runs, [curve_of(one) for one in runs])
    for k, place in enumerate(places):
        losses = np.array([at(one, place) for one in runs])
        wanted = np.quantile(losses[~np.isnan(losses)], [0.25, 0.5, 0.75])
        for part, number in zip(found, wanted, strict=True):
            assert part[k] == pytest.approx(np.inf if number > FAR / 1e6 else number, rel=1e-9)
