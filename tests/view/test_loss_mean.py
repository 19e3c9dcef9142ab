"""The loss curve: the mean of noise, two curves upon each other, and what a still knows of the steps before it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scalarviz.scenes import playground

from scalarviz.run.edits import SetBatchSize
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.theme import DARK, LIGHT, rgb
from scalarviz.view.out.offscreen import offscreen, render
from scalarviz.view.panels.loss import SHARE, Line, averaged, loss_panel, thin_out
from scalarviz.view.workbench import Workbench

BOX = (20.0, 10.0, 304.0, 280.0)


@given(st.lists(st.floats(0, 1e30), min_size=1, max_size=300))
def test_each_point_is_the_mean_of_those_around_it(losses):
    curve = thin_out(np.arange(len(losses)), np.array(losses), 400)
    found, half, last = averaged(curve).line, int(len(losses) * SHARE), len(losses) - 1
    for k in range(len(losses)):
        left, right = min(half, k), min(half, k, last - k)
        assert found[k] == pytest.approx(np.mean(losses[k - left : k + right + 1]), rel=1e-12)
    assert found[0] == losses[0]


def test_a_loss_beyond_all_others_does_not_lose_the_small_ones():
    losses = np.full(200, 1e-3)
    losses[50] = 1e300
    line = averaged(thin_out(np.arange(200), losses, 400)).line
    np.testing.assert_allclose(line[60:], 1e-3)


def test_what_is_averaged_is_seen_behind_the_mean():
    noise = np.where(np.arange(200) % 2, 0.5, 1.5)
    sketch = {noisy: loss_panel(BOX, DARK, [Line("b", np.arange(200), noise, noisy=noisy)]) for noisy in (True, False)}
    assert len(sketch[True].triangles) > len(sketch[False].triangles) + 3 * 2 * 190


@pytest.mark.gl
@pytest.mark.parametrize("theme", [DARK, LIGHT])
@pytest.mark.parametrize("factor", [1.0, 1.02])
def test_of_two_curves_upon_each_other_both_are_seen(theme, factor):
    steps = np.arange(1, 200)
    losses = np.exp(-steps / 60)
    curves = [Line("b", steps, losses), Line("t", steps[::3], factor * losses[::3], dashed=True)]
    sketch = loss_panel(BOX, theme, curves)
    sketch.texts.clear()
    picture = render(lambda _: Painter((360, 300)).draw([sketch]), (360, 300)).astype(int)
    picture[:80, 190:] = 0  # the curves' names
    for ink in (theme.text1, theme.text2):
        near = np.abs(picture - np.array(rgb(ink)) * 255).max(axis=2) < 25
        assert len(np.unique(np.nonzero(near)[1])) > 70, ink  # columns, of 250


@pytest.mark.gl
def test_a_still_knows_the_losses_of_the_test_before_it():
    """Those of a run that was asked at each of these steps, and looking changes no bit."""
    scene, watched = (playground.build(playground.Options(engine="numpy")) for _ in range(2))
    with scene.run as run, watched.run as other:
        for one in (run, other):
            one.step(300)
            one.do(SetBatchSize(20))
            one.step(300)
        with offscreen():
            bench = Workbench(scene, (1280, 720))
            bench.update(bench.subject.frame())
        drawer = bench.side.drawers["loss"]
        assert len(drawer.steps) > 20
        assert drawer.steps == sorted(set(drawer.steps))
        assert (drawer.steps[0], drawer.steps[-1]) == (0, 600)
        assert len(drawer.steps) == len(drawer.losses) == len(drawer._accuracies)
        for step, loss in zip(drawer.steps, drawer.losses, strict=True):
            other.to(step)
            inputs, targets = watched.first.test
            assert loss == other.evaluate(inputs, targets), step
        assert (run.steps, len(run.log)) == (600, 1)
        other.to(600)
        assert run.values.tobytes() == other.values.tobytes()
        run.step(5)
        other.step(5)
        assert run.values.tobytes() == other.values.tobytes()


@pytest.mark.gl
def test_a_window_measures_only_what_it_shows():
    scene = playground.build(playground.Options(engine="numpy"))
    with scene.run as run, offscreen():
        run.step(100)
        bench = Workbench(scene, (1280, 720), keys=(("Space", "run"),))
        bench.update(bench.subject.frame(), "", 0.1)
        assert bench.side.drawers["loss"].steps == [100]
