"""Ranges of colours over the time that one watches: slow in a live cell, each frame's own in a recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.questions.ranges import extent
from scalarviz.view.shown.subject import subject_of

from .players import Pages


@pytest.fixture
def played(scripts):
    """A player whose clock the test sets, and frames of one network whose weights are so much larger each."""
    data = np.random.default_rng(0).random((16, 3)).astype(np.float32)
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (data, 1 - data), engine="numpy")
    run.step()
    subject = subject_of(run)
    frame, pages = subject.frame(), Pages(scripts)
    pages.page.evaluate("() => { window.clock = 0; performance.now = () => clock; }")

    def start(**options):
        pages.play(subject, (320, 200), **options)

    def shown(step, factor, seconds):
        """V after `seconds` of a frame are over."""
        pages.show(replace(frame, step=step, values=frame.values * factor))
        pages.page.evaluate("seconds => { clock += 1000 * seconds; player.draw(); }", seconds)
        return pages.page.evaluate("player.shown.v")

    return start, shown, extent(frame.values), pages


def test_a_live_player_grows_its_range_slowly_and_a_recorded_one_does_not(played):
    start, shown, v, pages = played
    pages.page.evaluate("() => { window.requestAnimationFrame = () => 1; }")  # drawn when this test says so, only
    start(live=True)
    assert shown(1, 1.0, 0.0) == pytest.approx(v)
    assert shown(2, 1.05, 0.1) == pytest.approx(1.05 * v)  # a little: at once
    assert shown(3, 0.5, 0.1) == pytest.approx(1.05 * v)  # never inward
    grown = 1.05 + (1 - np.exp(-0.1 / 0.5)) * (10 - 1.05)
    assert shown(4, 10.0, 0.1) == pytest.approx(grown * v, rel=1e-6)
    pages.page.evaluate("() => { clock += 60000; player.draw(); }")  # the same frame, as long as one watches
    assert pages.page.evaluate("player.shown.v") == pytest.approx(10 * v, rel=1e-6)
    assert not pages.page.evaluate("player.shown.growing")
    assert shown(2, 1.0, 0.1) == pytest.approx(v)  # back: the range of that step
    pages.page.evaluate("() => player.dispose()")
    start()
    assert [shown(1, factor, 0.1) for factor in (1.0, 10.0, 0.5)] == pytest.approx([v, 10 * v, 0.5 * v])


def test_it_is_drawn_again_until_the_range_has_grown(played):
    start, shown, v, pages = played
    start(live=True)
    shown(1, 1.0, 0.0)
    assert shown(2, 10.0, 0.05) < 5 * v
    pages.page.evaluate("() => { setInterval(() => { clock += 100; }, 10); }")
    pages.page.wait_for_function("v => player.shown.v > v", arg=9.9 * v)


@pytest.mark.parametrize(
    ("frames", "wanted"),
    [
        ([{"step": 1}, {"step": 2}], [None, 1]),
        ([{"step": 2}, {"step": 1}], [None, None]),
        ([{"step": 1}, {"step": 2, "past": True}], [None, None]),
        ([{"step": 1, "past": True}, {"step": 2}], [None, None]),
        ([{"step": 1, "past": True}, {"step": 1, "past": True}], [None, 1]),  # an edit, or the same again
        ([{}, {}, {}], [None, 1, 1]),
    ],
)
def test_when_time_went_on(ask, frames, wanted):
    found = ask(
        "passing.js",
        """frames => {
            let now = 0;
            const passing = new Passing(() => (now += 1000));
            return frames.map(frame => passing.seconds(frame));
        }""",
        frames,
    )
    assert found == wanted
