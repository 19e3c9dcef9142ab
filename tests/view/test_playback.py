"""How time goes on: the pace of films and windows, by what there is to see, and `Playback` on a hand-driven clock."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scalarviz.scenes import xor

from kit.benches import KEYS, again, bench_of, box_of, overlap, said, said_anywhere, texts, words
from kit.commands import make_scene
from kit.windows import X, live_hand, make_colour_run, make_colour_scene
from scalarviz.errors import InputError
from scalarviz.run.core.frame import Branch, Past
from scalarviz.run.core.history import Curve
from scalarviz.run.edits import SetBatchSize, SetOptimizer, SetWeights
from scalarviz.run.edits.base import Applied
from scalarviz.run.panels import LossCurve
from scalarviz.run.sources.played import Rehearsal
from scalarviz.run.worker import Worker
from scalarviz.view.ink.boxes import LABEL
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.sketch import Lines, Rect, meet
from scalarviz.view.ink.text import loss_text, measure
from scalarviz.view.ink.theme import DARK
from scalarviz.view.ink.widgets import Toggle
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.loss import SHARE, LossLine, averaged, loss_panel, thin_out
from scalarviz.view.screen.time_bar import GO, LONG, Mark, StepScale, TimeBar, labels, next_of, rails, simpler
from scalarviz.view.shown.subject import Forecast
from scalarviz.view.watch import live
from scalarviz.view.watch.playback import EVENLY, RATE, REST, Playback, pace, steps_a_frame
from scalarviz.view.workbench import Workbench


@pytest.fixture
def worker():
    with Worker(make_colour_run(lr=0.1)) as worker:
        yield worker


def shown(playback, seconds=1 / RATE, count=1):
    """Step that is shown after `count` ticks of `seconds`."""
    for _ in range(count):
        playback.tick(seconds)
        playback.worker.settle()
    return playback.worker.latest.step


def test_one_step_a_frame_for_two_seconds_then_faster_and_after_the_end_without_one(worker):
    playback = Playback(worker, 3000, 20.0)
    assert shown(playback) == 0  # a window opens on the first values
    playback.play()
    assert shown(playback, 60.0) <= 0.25 * RATE + 1  # a stalled window does not jump
    assert shown(playback, 1 / RATE, 2 * RATE - 15) == pytest.approx(2 * RATE, abs=1)
    assert playback.text() == "pace 1 step a frame"
    assert shown(playback, 0.1, 80) < 1500
    assert shown(playback, 0.1, 101) == 3000
    assert (playback.running, playback.text()) == (False, "paused at the end")
    playback.toggle()
    assert playback.running
    assert shown(playback, 0.2, 5) > 3000
    worker.edit(lambda run: run.set_weights(999, [1.0]), "wrong")
    shown(playback, 0.1, 2)
    assert (playback.running, playback.text()) == (False, "stopped")


@pytest.mark.parametrize("faster", [0, 4])
def test_steps_by_hand_pause_first_and_are_counted_from_where_it_stands(worker, faster):
    """Not all those that a pause kept from being done: at full speed the run went on to its end."""
    playback = Playback(worker, 100_000, 20.0)
    for counts in ((1, 1), (10,)):  # two quick presses are two steps
        before = worker.run.steps
        for count in counts:
            playback.step(count)
        assert worker.settle().step == before + sum(counts)
    for _ in range(faster):
        playback.change_speed(+1)
    playback.play()
    playback.tick(0.25)
    playback.pause()
    for plays in (False, True):
        if plays:
            playback.change_speed(0)
            playback.play()
            shown(playback, 1 / RATE, 3)
        before = worker.settle().step
        playback.step(1)
        assert (worker.settle().step, playback.running) == (before + 1, False)


def test_speed_changes_the_rate_from_here_on(worker):
    playback = Playback(worker, 3000)
    playback.play()
    shown(playback, 1 / RATE, 10)
    playback.change_speed(+1)
    assert shown(playback, 1 / RATE, 10) == pytest.approx(30, abs=2)
    playback.change_speed(-3)
    before = worker.latest.step
    assert shown(playback, 1 / RATE, 8) == pytest.approx(before + 2, abs=1)
    assert "0.25 steps a frame" in playback.text()
    for _ in range(20):
        playback.change_speed(+1)
    assert playback.text() == "pace unlimited"
    assert shown(playback) == 3000


def test_a_breakpoint_stops_the_worker_and_the_playback_until_it_is_told_to_go_on(worker):
    point = worker.run.break_on("step == 20 or step == 40")
    worker.run.step(30)  # a step that somebody else asks for stops nobody else
    worker.travel(10)
    for ask, step, stopped in (
        (lambda: worker.train_to(100), 20, True), (lambda: worker.train_to(200), 20, True), (worker.resume, 40, True),
        (lambda: worker.travel(10), 10, False), (lambda: worker.train_to(30), 20, True),
    ):  # fmt: skip
        ask()
        said = f"breakpoint 1 at step {step}: step == 20 or step == 40 (step {step})"
        assert (worker.settle().step, worker.latest.stopped_by) == (step, said if stopped else "")
        assert (worker.stopped is not None, worker.stopped is worker.run.stopped_by) == (stopped, True)
    playback = Playback(worker, 10**9)
    playback.play()
    assert playback.running
    assert shown(playback, 1 / RATE, 40) == 40
    assert (playback.running, playback.text()) == (False, "paused at a breakpoint")
    worker.run.break_on("step == 45")
    for count, step, said in ((3, 43, "paused"), (10, 45, "paused at a breakpoint"), (10, 55, "paused")):
        playback.step(count)
        assert (worker.settle().step, playback.text()) == (step, said)
    worker.run.break_on("loss < 0.05")
    playback.change_speed(+9)  # without a limit
    playback.play()
    end = time.monotonic() + 20
    while playback.running:
        assert time.monotonic() < end
        playback.tick(1 / RATE)
        time.sleep(0.005)
    assert worker.run.loss < 0.05 <= worker.run.history.loss[-2]
    assert point.hits == 5


def rehearsal_of(loss, way=None) -> Rehearsal:
    marks = np.arange(len(loss) + 1)
    return Rehearsal(loss, marks, marks * 0.0 if way is None else way)


def when(stops, loss, share) -> float:
    """At which share of the film so much of the fall of the loss, in decades, has been seen."""
    drop = np.log10(loss[0]) - np.log10(np.minimum.accumulate(loss))
    seen = drop[np.clip(stops - 1, 0, len(loss) - 1)]
    return float(np.argmax(seen >= share * drop[-1] - 1e-12)) / (len(stops) - 1)


@pytest.mark.parametrize("ends", [30, 100, 1000, 2990])
def test_a_run_that_is_done_early_fills_its_film_all_the_same(ends):
    loss = 10.0 ** (-2 * np.minimum(np.arange(3000), ends) / ends)  # two decades, then rest
    stops = pace(3000, 12, 30, rehearsal_of(loss))
    assert 0.35 < when(stops, loss, 0.5) < 0.65
    assert 0.6 < when(stops, loss, 0.9) < 0.95
    if ends <= 100:
        assert when(pace(3000, 12, 30), loss, 0.9) < 0.27  # by steps alone


FALLS = np.concatenate([np.full(2000, 1.0), np.geomspace(1, 0.01, 50), np.full(950, 0.01)])
MOVES = np.concatenate([np.zeros(2000), np.linspace(0, 1, 50), np.ones(951)])


@pytest.mark.parametrize(("loss", "way", "least"), [(FALLS, None, 0.4), (np.ones(3000), MOVES, 0.3)])
def test_what_happens_in_the_middle_gets_the_middle_of_the_film(loss, way, least):
    """The loss falls there, or the weights move while the loss stands still."""
    stops, by_steps = pace(3000, 12, 30, rehearsal_of(loss, way)), pace(3000, 12, 30)
    assert np.mean((stops > 2000) & (stops < 2050)) > least
    assert np.mean((by_steps > 2000) & (by_steps < 2050)) < 0.05


losses = st.sampled_from(["noisy", "rising", "zero", "negative", "nan", "huge", "still"])


@settings(max_examples=80, deadline=None)
@given(total=st.integers(1, 4000), duration=st.floats(0.2, 20), fps=st.integers(1, 60), kind=losses)
def test_a_rehearsed_pace_never_falls_and_rests_at_the_last_step(total, duration, fps, kind):
    t = np.arange(total)
    loss = {
        "noisy": np.exp(np.random.default_rng(total).normal(size=total)), "rising": np.exp(t / 100.0),
        "zero": np.zeros(total), "negative": -1.0 * t, "nan": np.full(total, np.nan), "huge": np.full(total, 1e300),
        "still": np.ones(total),
    }[kind]  # fmt: skip
    rehearsal = rehearsal_of(loss, np.sqrt(np.arange(total + 1)))
    with np.errstate(over="ignore", invalid="ignore"):
        stops, restless = (pace(total, duration, fps, rehearsal, rest=rest) for rest in (REST, 0.0))
    for frames in (stops, restless, pace(total, duration, fps)):
        assert len(frames) == max(2, round(duration * fps))
        assert (frames[0], frames[-1]) == (0, total)
        assert np.all(np.diff(frames) >= 0)
        assert np.all(steps_a_frame(frames, fps) >= 0)
    if total >= EVENLY and len(stops) > 100:
        assert np.sum(stops == total) >= 0.8 * REST * len(stops)
    with pytest.raises(InputError, match=f"rehearsal: got {total} steps; allowed: {total + 40}, as many"):
        pace(total + 40, 10, 30, rehearsal)


def test_without_a_rehearsal_it_is_a_step_a_frame_for_two_seconds_then_a_smooth_ramp_or_a_steady_pace():
    rate = np.diff(pace(3000, 20, 30)).astype(float)
    assert np.all(rate[:60] == 1)
    assert np.all(np.diff(np.convolve(rate, np.ones(15) / 15, mode="valid")) > -0.11)  # rounding to whole steps
    stops = pace(20_000, 20.0, 30, steady=100, rest=0.0)
    assert stops[:61].tolist() == list(range(61))
    assert np.diff(stops[60:-1]).tolist() == [100] * (len(stops) - 62)
    assert len(pace(20_000, 20.0, 30, steady=100)) > len(stops)  # a film rests at its end
    for total in (10_000_000, 10**12):  # a film has a million frames at most
        stops = pace(total, 20.0, 30, steady=1, rest=0.0)
        assert 900_000 < len(stops) <= 10**6
        assert (stops[0], stops[-1], (np.diff(stops) >= 0).all()) == (0, total, True)
    for bad in ((-1, 20, 30), (10, 0, 30), (10, np.nan, 30), (10, 20, 0), (10, 1e6, 60)):
        with pytest.raises(InputError, match="allowed"):
            pace(*bad)
    with pytest.raises(InputError, match="steady"):
        pace(10, steady=0)


def test_a_window_plays_what_was_rehearsed(worker):
    loss = np.concatenate([np.geomspace(1, 1e-3, 60), np.full(2940, 1e-3)])
    by_steps, by_sight = Playback(worker, 3000, 12), Playback(worker, 3000, 12, rehearsal_of(loss))
    assert by_steps._paced(6.0) > 200
    assert by_sight._paced(6.0) < 60
    assert by_sight._paced(719 / 60) == pytest.approx(3000)


# ---- The loss, its curve with its names and axis, and the time bar: which step stands where, and what is said of it


BOX = (952.0, 300.0, 304.0, 300.0)
STEPS = np.arange(300)
NOISE = np.exp(np.random.default_rng(0).normal(0, 0.05, 300))
SHAPES = {
    "falling": np.exp(-STEPS / 60.0) * NOISE,
    "rising": np.exp(STEPS / 60.0) * NOISE,
    "late": np.where(STEPS < 150, 1e-3, 1.0) * NOISE,
    "valley": np.exp(np.abs(STEPS - 150) / 40.0) * NOISE,
    "hill": np.exp(-np.abs(STEPS - 150) / 40.0) * NOISE,
}


def dashes(sketches):
    return [s for sketch in sketches for s in sketch.shapes if isinstance(s, Lines) and s.colour == DARK.text2]


@given(st.lists(st.floats(0, 1e30), min_size=1, max_size=300))
def test_each_point_is_the_mean_of_those_around_it(losses):
    curve = thin_out(np.arange(len(losses)), np.array(losses), 400)
    found, half, last = averaged(curve).line, int(len(losses) * SHARE), len(losses) - 1
    for k in range(len(losses)):
        left, right = min(half, k), min(half, k, last - k)
        assert found[k] == pytest.approx(np.mean(losses[k - left : k + right + 1]), rel=1e-12)
    assert found[0] == losses[0]


def test_a_thinned_curve_keeps_means_extremes_and_its_ends():
    steps, losses = np.arange(1.0, 1001.0), np.random.default_rng(0).random(1000)
    middles, mean, low, high = thin_out(steps, losses, 50)
    groups = losses.reshape(50, 20)
    np.testing.assert_allclose(mean[1:], groups.mean(1)[1:])  # at its end one batch's own loss would be a cliff
    np.testing.assert_array_equal([low, high], [groups.min(1), groups.max(1)])
    np.testing.assert_allclose(middles[1:-1], steps.reshape(50, 20).mean(1)[1:-1])
    assert (middles[0], mean[0], middles[-1]) == (1.0, losses[0], 1000.0)


@pytest.mark.gl
def test_the_curve_passes_where_the_axis_says():
    steps = np.arange(1, 161)
    losses = 0.1 * np.exp(-steps / 60)
    sketch, axes = loss_panel((20, 10, 304, 280), DARK, [LossLine("batch", steps, losses)])
    picture = offscreen().render(lambda _: Painter((360, 300)).draw([sketch]), (360, 300)).astype(int)
    for step in (20, 80, 140):
        x, y = (int(v) for v in axes.point(step, losses[step - 1]))
        assert picture[y - 1 : y + 2, x - 1 : x + 2].max() > 200
        assert picture[y + 8 : y + 14, x].max() < 100


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2])
def test_no_curve_goes_through_a_name_and_a_name_is_read_on_plain_ground(shape, count):
    losses = SHAPES[shape]
    curves = [LossLine("1,024 colours", STEPS, losses), LossLine("the photo", STEPS, 0.9 * losses, dashed=True)][:count]
    sketch, axes = loss_panel(BOX, DARK, curves)
    grounds = [s for s in sketch.shapes if isinstance(s, Rect) and s.fill == DARK.background and s.height < 60]
    assert bool(dashes([sketch])) == (count == 2)
    for curve in curves:
        name = next(text for text in sketch.texts if text.text == curve.label)
        places = axes.points(across := np.linspace(0, 299, 3000), np.interp(across, STEPS, curve.losses))
        beside = (places[:, 0] > name.x - 32) & (places[:, 0] < name.x + name.width)
        assert not (beside & (np.abs(places[:, 1] - name.y + 5) < 8)).any()
        own = name.x, name.y - 10, name.width, 10
        (ground,) = [s for s in grounds if meet((s.x, s.y, s.width, s.height), own)]
        assert sketch.shapes.index(ground) > 0  # over the gridlines, which come first


@pytest.fixture
def hand(monkeypatch):
    monkeypatch.setattr(live, "REHEARSAL_SECONDS", 60.0)  # on a busy machine it is given up, and nothing is foretold
    with live_hand(make_colour_scene(panels=(LossCurve(),)), steps=500) as made:
        yield made


def test_a_click_on_the_word_switches_the_axis_and_back_and_it_stays_so(hand):
    hand.do("step", 200)
    drawer = hand.drawer(LossCurve)
    for log in (False, True):
        hand.press(hand.middle(drawer.switch.box))
        hand.view.resize((960, 540))
        hand.do("toggle_theme")
        assert drawer.axes.up.log == log
        assert {"linear", "log"}.intersection(hand.words()) == {"log" if log else "linear"}
    assert hand.run.log == []


@pytest.mark.parametrize(("losses", "free"), [([0.5, 0.1], True), ([0.5, -0.1], False), ([0.0, 0.0], False)])
def test_where_there_is_no_hand_or_no_logarithm_there_is_no_switch(losses, free):
    for touched in (False, True):
        switch = Toggle("log", on=True)
        loss_panel(BOX, DARK, [LossLine("b", np.array([1, 2]), np.array(losses))], switch=switch, touched=touched)
        assert (switch.box is not None) == (free and touched)


@pytest.mark.parametrize("log", [True, False])
def test_with_the_steps_ahead_nothing_rescales(log):
    losses = 0.2 * np.exp(-np.arange(1000) / 150)
    ahead, axes = Forecast(0, 1000, float(losses.min()), float(losses.max())), []
    for done in (1, 10, 300, 1000):
        line = LossLine("b", np.arange(1, done + 1), losses[:done])
        sketch, found = loss_panel(BOX, DARK, [line], switch=Toggle("log", on=log), ahead=ahead)
        axes.append(found)
        assert {"0", "1,000"} <= set(words([sketch]))
    assert axes == axes[:1] * 4


def test_before_the_first_step_stands_the_loss_of_the_weights_shown(hand):
    expected = loss_text(hand.run.evaluate(X, 1 - X))  # the whole data is one batch
    hand.until(lambda: expected in hand.words())
    assert np.isnan(hand.view.frame().loss)
    assert {"500", "no step yet"}.intersection(hand.words()) == {"500"}
    hand.view.set_weight(0, 5.0)
    assert expected not in hand.words()
    assert loss_text(hand.run.evaluate(X, 1 - X)) in hand.words()
    for losses in (np.array([1.0, np.inf]), np.array([])):  # what diverges tells nothing of the steps ahead
        assert Forecast.from_rehearsal(Rehearsal(losses, np.arange(3), np.zeros(3)), hand.run.frame()) is None


def test_a_still_knows_the_losses_of_the_test_before_it_and_a_window_what_it_shows():
    """Those of a run that was asked at each of these steps, and looking changes no bit."""
    shown, watched = (make_scene("playground") for _ in range(2))
    with shown.run as run, watched.run as other:
        for one in (run, other):
            one.step(300)
            one.do(SetBatchSize(20))
            one.step(300)
        bench = bench_of(shown)
        drawer = bench.side.drawer(LossCurve)
        assert len(drawer.steps) > 20
        assert not dashes(bench.side.drawn("loss"))  # a second curve is asked for
        bench.next_panels()
        again(bench)
        assert dashes(bench.side.drawn("loss"))
        assert drawer.steps == sorted(set(drawer.steps))
        assert (drawer.steps[0], drawer.steps[-1]) == (0, 600)
        for step, loss in zip(drawer.steps, drawer.losses, strict=True):
            other.to(step)
            assert loss == other.evaluate(*watched.first.test), step
        assert (run.steps, len(run.log)) == (600, 1)
        for one in (run, other):
            one.to(600)
            one.step(5)
        assert run.values.tobytes() == other.values.tobytes()
        assert bench_of(shown, keys=KEYS, seconds=0.1).side.drawer(LossCurve).steps == [605]


def of_all(scene):
    """The sum of squares of the four samples, by hand."""
    weights = [scene.run.values[:9].reshape(3, 3), scene.run.values[9:].reshape(1, 3)]
    hidden = np.tanh(xor.with_one(xor.BITS) @ weights[0].T)
    return loss_text(0.5 * float(((np.tanh(hidden @ weights[1].T) - xor.WANTED) ** 2).sum()))


def told(bench):
    """What stands behind the word `loss` in the HUD."""
    large = [item.text for item in texts(bench.sketches) if item.size > LABEL]
    return large[large.index("loss") + 1]


@pytest.mark.parametrize(("batch", "which"), [(1, ", of the next sample"), (4, "")])
def test_the_hud_tells_the_loss_of_all_samples_and_the_time_bar_no_other_as_if_it_were_that(batch, which):
    """The loss of a step is that of its batch; the HUD tells that of all samples."""
    with (made := make_scene("xor", seed=1, batch=batch)).run as run:
        bench = bench_of(made, keys=KEYS)
        for count in (0, 1, 19):
            run.step(count)
            assert told(again(bench)) == of_all(made)
        assert told(bench) != loss_text(run.loss)
        assert loss_text(run.loss) not in words(bench.bar.update(bench.subject.frame()))
        x, y, width, height = bench.bar.box
        bench.hover((x + 0.7 * width, y + height - 26))
        assert re.search(rf"loss [\d.e-]+{which}$", "|".join(words(bench.bar.label(bench.places.size))))
        assert any(text.startswith("single samples") for text in said(bench)) == (batch == 1)
        assert "sum of all 4 samples" in said_anywhere(bench)
        run.do(SetBatchSize(4))  # by hand: said beside the curve and in the bar
        run.step(5)
        assert any(text.startswith("4 samples a step") for text in said(again(bench))) == (batch == 1)
        assert bench.bar.samples_words == ""
        before = told(bench)
        run.do(SetWeights(0, np.array([2.5])))  # of the numbers shown after a change by hand too
        assert told(again(bench)) == of_all(made) != before


@pytest.mark.gl
def test_a_window_that_stands_asks_nothing_of_the_thread_that_trains():
    """Each question leaves a new frame, for which it would be asked again: the picture would never come to rest."""
    with live_hand(make_scene("playground"), steps=5, playing=True) as hand:
        hand.until(lambda: hand.view.worker.latest.step == 5)
        hand.until(lambda: not hand.bench.moving and not hand.view.tick(0.05))
        frame = hand.view.worker.latest
        hand.picture()
        assert hand.view.worker.latest is frame


ENTRY = re.compile(r"mean of many steps|(all )?[\d,]+ [a-z ]+?( a step)?|no step yet|(test )?accuracy [\d.]+ %|test")


@pytest.mark.gl
@pytest.mark.parametrize("name", ["xor", "uinn", "playground", "rgb", "expression"])
def test_the_legend_of_a_loss_curve_has_plain_words_that_stand_alone(name):
    with (scene := make_scene(name)).run:
        for steps in (0, 60):
            scene.run.step(steps)
            bench = bench_of(scene, (1920, 1080))
            found = [text.text for sketch in bench.side.drawn("loss") for text in sketch.texts]
            entries = [text for text in found if re.search("[a-z]{2}", text) and text not in ("loss", "log", "linear")]
            assert entries
            assert [text for text in entries if not ENTRY.fullmatch(text)] == []


# ---- the time bar

BAR = (24.0, 572.0, 888.0, 92.0)
SIZE = (1280, 720)


def curve_of(first, newest):
    steps = np.arange(first + 1, newest + 1)
    return Curve(steps, 0.001 + 0.119 * np.exp(-(steps - first) / 500), np.full(len(steps), 0.5))


def past(branches=(), **named):
    own = branches or (Branch(0, None, 0, 3000, current=True),)
    return Past(**{"first": 0, "newest": 3000, "curve": curve_of(0, 3000), "branches": own, **named})


FORK = (
    Branch(0, None, 0, 2100, curve_of(0, 2100)),
    Branch(1, 0, 1200, 3000, curve_of(1200, 3000), current=True, why="0.weight[1][1] = 2"),
)


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.floats(0, 1), st.floats(0, 1))
@example(0, 823181551, 0.0, 1.0)
def test_places_rise_with_steps_and_lead_back_within_a_step(first, count, one, other):
    scale = StepScale(first, first + count, 100.0, 700.0)
    assert scale.log == (count >= LONG)
    low, high = sorted(first + round(part * count) for part in (one, other))
    assert 100.0 <= scale.x_of(low) <= scale.x_of(high) <= 700.0
    x = 100.0 + 600.0 * one
    step = int(scale.steps(x))
    assert scale.x_of(step - 1) - 1e-6 <= x <= scale.x_of(step + 1) + 1e-6
    assert (int(scale.steps(100.0)), int(scale.steps(700.0))) == (first, first + count)
    ticks = scale.ticks()
    assert (ticks[0], ticks[-1]) == (first, first + count)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 12


@given(st.lists(st.tuples(st.integers(0, 3000), st.text("abc 0.=", min_size=1, max_size=40)), max_size=30),
       st.integers(0, 3000))  # fmt: skip
def test_no_two_labels_touch_and_none_leaves_the_bar(marks, cursor):
    scale = StepScale(0, 3000, 270.0, 850.0)
    found = labels([Mark("edit", step, (what, "lr = 1")) for step, what in marks], scale, cursor, (264.0, 896.0))
    assert all(text == "lr = 1, 1 more" for _, text, is_mark in found if is_mark)
    spans = sorted((left, left + measure(text, LABEL)) for left, text, _ in found)
    assert all(right + 9 < left for (_, right), (left, _) in pairwise(spans))
    assert all(left > 263 and right < 897 for left, right in spans)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=300), st.sampled_from((0.0, 0.05, 1.0)))
def test_a_simpler_curve_keeps_its_ends_and_is_nowhere_further_off(heights, off):
    path = np.stack([np.arange(len(heights), dtype=float), heights], axis=1)
    found = simpler(path, off)
    assert np.array_equal(found[[0, -1]], path[[0, -1]])
    assert np.abs(np.interp(path[:, 0], *found.T) - path[:, 1]).max() <= off + 1e-12
    above = path * (0, 1)  # it ends with points above each other, too
    assert np.array_equal(simpler(above, 0.05)[[0, -1]], above[[0, -1]])
    assert len(simpler(path * (1, 0), 0.05)) <= 2


def test_what_was_left_leaves_the_straight_rail_where_that_of_now_begins_and_older_ones_fold_into_one():
    (rail,) = rails(past(FORK))
    assert (rail.row, rail.source, rail.leaves, rail.newest, rail.branches) == (1, 0, 1200, 2100, FORK[:1])
    assert rails(past((Branch(0, None, 0, 1200, curve_of(0, 1200)), FORK[1]))) == ()  # without steps of its own
    *_, folded = rails(past((*FORK, *(Branch(n, 1, 1300 + n, 1400 + n) for n in range(2, 8)))))
    seen = [1]
    for _ in folded.branches:  # it leads to each
        seen.append(next_of(folded, seen[-1]))
    assert sorted(seen[1:]) == sorted(b.number for b in folded.branches) == [0, 2, 3, 4, 5, 6]


@settings(max_examples=40)
@given(st.integers(1, 60_000), st.floats(-9, 9), st.floats(-3, 3), st.floats(0, 1), st.sampled_from((320, 500, 888)),
       st.sampled_from((82.0, 92.0, 120.0)), st.booleans())  # fmt: skip
@example(3000, 0.0, 1.0, 1.0, 888, 92.0, True)
def test_no_text_of_the_time_bar_touches_another_or_the_flag_of_the_step(newest, level, rise, at, wide, high, forked):
    bar, curve = TimeBar(DARK), curve_of(0, newest)
    losses = np.exp(level + rise * np.linspace(0, 1, newest))
    bar.place((24.0, 572.0, wide, high))
    branches = (Branch(0, None, 0, newest, curve), Branch(1, 0, newest // 2, newest, current=True)) if forked else ()
    own = past(branches, newest=newest, curve=Curve(curve.step, losses, curve.lr))
    sketches = bar.update(SimpleNamespace(step=round(at * newest), past=own))
    flag = next(shape for shape in reversed(sketches[-1].shapes) if isinstance(shape, Rect))
    boxes = [(flag.x, flag.y, flag.x + flag.width, flag.y + flag.height)]
    boxes += [box_of(text) for text in texts(sketches[:-1])]
    assert not any(overlap(one, other) for k, one in enumerate(boxes) for other in boxes[:k])


def test_every_branch_that_was_left_keeps_its_dashed_curve():
    bar, lines = TimeBar(DARK), []
    bar.place(BAR)
    for left in range(1, 4):
        begun = [Branch(k, k - 1 if k else None, 0, 2000 + k, curve_of(0, 2000 + k)) for k in range(left)]
        own = past((*begun, Branch(left, left - 1, 0, 3000, current=True)))
        drawn = bar.update(SimpleNamespace(step=9, past=own))[2].shapes
        lines.append(sum(isinstance(line, Lines) and line.width == 1.6 for line in drawn))
    assert lines == [1, 2, 3]


def test_beside_the_pointer_stand_step_loss_and_edits_and_which_loss_it_is():
    bar, edits = TimeBar(DARK), [Applied(1500, SetOptimizer((("lr", 1.0),)), what) for what in ("lr = 1", "batch = 3")]
    bar.place(BAR)
    bar.update(SimpleNamespace(step=412, past=past(edits=edits)))
    x = next(x for x in np.arange(270.0, 850.0, 0.5) if bar.target((x, 640.0)) == (GO, 1500))
    loss = f"loss {curve_of(0, 3000).loss[1499]:.4f}"
    for bar.samples_words, line in (("", loss), ("of the next sample", f"{loss}, of the next sample")):
        assert bar.hover((x, 640.0))
        assert words(bar.label(SIZE)) == ["step 1,500", line, "lr = 1", "batch = 3"]
        assert bar.hover(None)
        assert bar.label(SIZE) == []
    assert "left at 2,100" in words(bar.update(SimpleNamespace(step=412, past=past(FORK))))


@pytest.mark.gl
@pytest.mark.parametrize("size", [SIZE, (1000, 600), (720, 1080)])
def test_nothing_beside_the_pointer_lies_on_a_legend_or_a_panel(size):
    """Wherever the pointer is on the bar: its step, and what its buttons do."""
    scene = make_scene("neuron")
    with scene.run as run, offscreen():
        run.step(40)
        bench = Workbench(scene, size, keys=(("Space", "run"),))
        bench.update(bench.subject.frame())
        x, y, wide, high = bench.bar.box
        boxes = [box_of(text) for text in texts(sketch for sketch in bench.sketches if not sketch.spots)]
        bar = x, y, x + wide, y + high
        boxes = [box for box in boxes if not overlap(box, bar) and box[1] < bench.places.keys - 20]
        for place in np.arange(x + 2.0, x + wide, 7.0).tolist():
            bench.bar.hover((place, y + min(high - 12, 30)))
            for label in bench.bar.label(bench.places.size)[-1:]:
                own = np.array([box_of(text) for text in label.texts if text.text]) + np.array((-10, -6, 10, 6))
                around = *own[:, :2].min(0), *own[:, 2:].max(0)
                assert not [box for box in boxes if overlap(around, box)], place


@pytest.mark.gl
def test_the_past_is_said_by_words_and_light_and_hidden_panels_have_no_bar():
    with live_hand(steps=40) as hand:
        hand.do("step", 20)
        for action, there in (("back", True), ("newest", False)):
            hand.do(action)
            assert ("of 20" in hand.words(), hand.bench.ground[1] == DARK.past) == (there, there)
        assert hand.bench.places.time is not None
        hand.do("toggle_panels")
        hand.do("toggle_panels")
        assert hand.bench.places.time is None
        assert not hand.bench.bar.covers((500.0, 640.0))
