"""A film is paced by what there is to see: as much in each part of it, wherever in the run it happens."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scalarviz.errors import InputError
from scalarviz.run.sources.played import Rehearsal, rehearse
from scalarviz.run.worker import Worker
from scalarviz.view.watch.pace import REST, fallen, pace, steps_a_frame
from scalarviz.view.watch.playback import Playback


def rehearsal_of(loss: NDArray[np.float64], way: NDArray[np.float64] | None = None) -> Rehearsal:
    marks = np.arange(len(loss) + 1)
    return Rehearsal(loss, marks, marks * 0.0 if way is None else way)


def when(stops: NDArray[np.int64], loss: NDArray[np.float64], share: float) -> float:
    """At which share of the film so much of the fall of the loss, in decades, has been seen."""
    drop = np.log10(loss[0]) - np.log10(np.minimum.accumulate(loss))
    seen = drop[np.clip(stops - 1, 0, len(loss) - 1)]
    return float(np.argmax(seen >= share * drop[-1] - 1e-12)) / (len(stops) - 1)


@pytest.mark.parametrize("ends", [30, 100, 1000, 2990])
def test_a_run_that_is_done_early_fills_its_film_all_the_same(ends: int) -> None:
    steps = np.arange(3000)
    loss = 10.0 ** (-2 * np.minimum(steps, ends) / ends)  # two decades, then rest
    stops = pace(3000, 12, 30, rehearsal_of(loss))
    assert 0.35 < when(stops, loss, 0.5) < 0.65
    assert 0.6 < when(stops, loss, 0.9) < 0.95
    if ends <= 100:
        assert when(pace(3000, 12, 30), loss, 0.9) < 0.27  # by steps alone


def test_a_fall_in_the_middle_gets_the_middle_of_the_film() -> None:
    loss = np.concatenate([np.full(2000, 1.0), np.geomspace(1, 0.01, 50), np.full(2950, 0.01)])
    stops = pace(5000, 12, 30, rehearsal_of(loss))
    inside = np.mean((stops > 2000) & (stops < 2050))
    assert inside > 0.4
    assert np.mean((pace(5000, 12, 30) > 2000) & (pace(5000, 12, 30) < 2050)) < 0.05


@pytest.mark.parametrize(
    ("scene", "options", "steps"), [("rgb", {}, 3000), ("rgb", {"hidden": (16, 16)}, 1500), ("digits", {}, 120)]
)
def test_scenes_are_spread_over_their_films(scene: str, options: dict[str, Any], steps: int) -> None:
    module = importlib.import_module(f"scalarviz.scenes.{scene}")
    run = module.build(module.Options(engine="numpy", **options)).run
    found = rehearse(run, steps, 60)
    assert found is not None
    stops = pace(steps, 20, 30, found)
    drop = fallen(found.loss, mean=not found.whole)
    seen = drop[stops] / drop[-1]
    half, most = (float(np.argmax(seen >= share)) / len(seen) for share in (0.5, 0.9))
    assert 0.4 < half < 0.65
    assert 0.65 < most < 0.95
    run.close()


def test_it_rests_at_its_end_for_a_moment() -> None:
    loss = np.geomspace(1, 1e-3, 3000)
    stops = pace(3000, 20, 30, rehearsal_of(loss))
    resting = np.sum(stops == 3000)
    assert 0.8 * REST < resting / 600 < 1.3 * REST + 0.01
    assert np.sum(pace(3000, 20, 30, rehearsal_of(loss), rest=0.0) == 3000) < 5


def test_the_way_of_the_weights_counts_where_the_loss_stands_still() -> None:
    loss = np.ones(3000)
    way = np.concatenate([np.zeros(1500), np.linspace(0, 1, 100), np.ones(1401)])
    stops = pace(3000, 12, 30, rehearsal_of(loss, way))
    assert np.mean((stops > 1500) & (stops < 1600)) > 0.3


losses = st.sampled_from(["falling", "noisy", "rising", "zero", "negative", "nan", "huge", "still"])


@settings(max_examples=80, deadline=None)
@given(total=st.integers(1, 4000), duration=st.floats(0.2, 20), fps=st.integers(1, 60), kind=losses)
def test_a_pace_never_falls_and_ends_at_the_last_step(total: int, duration: float, fps: int, kind: str) -> None:
    t = np.arange(total)
    loss = {
        "falling": np.exp(-t / 50.0), "noisy": np.exp(np.random.default_rng(total).normal(size=total)),
        "rising": np.exp(t / 100.0), "zero": np.zeros(total), "negative": -1.0 * t, "nan": np.full(total, np.nan),
        "huge": np.full(total, 1e300), "still": np.ones(total),
    }[kind]  # fmt: skip
    with np.errstate(over="ignore", invalid="ignore"):
        stops = pace(total, duration, fps, rehearsal_of(loss, np.sqrt(np.arange(total + 1))))
    assert len(stops) == max(2, round(duration * fps))
    assert (stops[0], stops[-1]) == (0, total)
    assert np.all(np.diff(stops) >= 0)
    assert np.all(steps_a_frame(stops, fps) >= 0)
    assert np.array_equal(stops, pace(total, duration, fps, rehearsal_of(loss, np.sqrt(np.arange(total + 1)))))


def test_a_rehearsal_of_other_steps_is_refused() -> None:
    with pytest.raises(InputError, match="rehearsal: got one of 100 steps; allowed: one of 200"):
        pace(200, 10, 30, rehearsal_of(np.ones(100)))


def test_the_fall_of_a_loss_is_counted_in_decades() -> None:
    assert fallen(np.array([10.0, 1.0, 0.1])).tolist() == pytest.approx([0, 0, 1, 2])
    assert fallen(np.array([1.0, 10.0, 0.1])).tolist() == pytest.approx([0, 0, 0, 1])  # a rise takes nothing back
    assert fallen(np.array([3.0, 1.0, -2.0])).tolist() == pytest.approx([0, 0, 2, 5])
    assert np.isfinite(fallen(np.array([1.0, 0.0, 0.0]))).all()


def test_single_batches_are_taken_together() -> None:
    noisy = np.exp(np.random.default_rng(0).normal(size=4000)) * np.geomspace(1, 0.1, 4000)
    assert fallen(noisy)[400] > 1.5  # a lucky batch
    assert fallen(noisy, mean=True)[400] < 0.6
    assert fallen(noisy, mean=True)[-1] == pytest.approx(1, abs=0.4)


def test_the_pace_that_is_said_is_a_mean() -> None:
    stops = np.repeat(np.arange(100), 2)  # half a step a frame, and then rest
    stops = np.concatenate([stops, np.full(60, 99)])
    said = steps_a_frame(stops, 30)
    assert said[50:150] == pytest.approx(0.5, abs=0.08)
    assert said[-1] == 0
    assert steps_a_frame(pace(30, 20, 30), 30) == pytest.approx(30 / 599)


def test_a_window_plays_what_was_rehearsed() -> None:
    module = importlib.import_module("scalarviz.scenes.rgb")
    run = module.build(module.Options(engine="numpy")).run
    loss = np.concatenate([np.geomspace(1, 1e-3, 60), np.full(2940, 1e-3)])
    with Worker(run) as worker:
        by_steps, by_sight = Playback(worker, 3000, 12), Playback(worker, 3000, 12, rehearsal_of(loss))
        assert by_steps._paced(6.0) > 200
        assert by_sight._paced(6.0) < 60
        assert by_sight._paced(719 / 60) == pytest.approx(3000)
    run.close()
