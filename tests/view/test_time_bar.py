"""The time bar: where a step stands, what was left, what is hidden where two collide, and the pixels of all that."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.benches import box_of, overlap, texts, words
from kit.commands import make_scene
from kit.windows import live_hand
from scalarviz.run.core.frame import Branch, Curve, Past
from scalarviz.run.edits import SetOptimizer
from scalarviz.run.edits.base import Applied
from scalarviz.view.ink.boxes import LABEL
from scalarviz.view.ink.text import measure
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.screen.time_bar import (
    GO,
    LONG,
    Mark,
    StepScale,
    TimeBar,
    labels,
    next_of,
    rails,
)
from scalarviz.view.workbench import Workbench

BOX = (24.0, 572.0, 888.0, 92.0)
SIZE = (1280, 720)
Y = 640.0
"""A place on the rail."""


def curve(first, newest):
    steps = np.arange(first + 1, newest + 1)
    return Curve(steps, 0.001 + 0.119 * np.exp(-(steps - first) / 500), np.full(len(steps), 0.5))


def edit(step, what="lr = 1.0"):
    return Applied(step, SetOptimizer((("lr", 1.0),)), what)


def past(branches=(), **named):
    own = branches or (Branch(0, None, 0, 3000, current=True),)
    return Past(**{"first": 0, "newest": 3000, "curve": curve(0, 3000), "branches": own, **named})


FORK = (
    Branch(0, None, 0, 2100, curve(0, 2100)),
    Branch(1, 0, 1200, 3000, curve(1200, 3000), current=True, why="0.weight[1][1] = 2"),
)


def at(step, of):
    """As much of a frame as a bar looks at."""
    return SimpleNamespace(step=step, past=of)


def bar_of(of, box=BOX):
    """A bar at step 412, and what is written on it."""
    bar = TimeBar(DARK)
    bar.place(box)
    return bar, words(bar.update(at(412, of)))


def pointed(bar, x, y=Y):
    bar.hover((x, y))
    return words(bar.label(SIZE))


def step_at(bar, x, y=Y, *, held=False):
    name, step = bar.target((float(x), y), held=held) or ("", -1)
    assert name == GO
    return int(step)


# ---- where a step stands


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.floats(0, 1), st.floats(0, 1))
@example(0, 823181551, 0.0, 1.0)
def test_places_rise_with_steps_and_lead_back_within_a_step(first, count, one, other):
    scale = StepScale(first, first + count, 100.0, 700.0)
    assert scale.log == (count >= LONG)
    low, high = sorted(first + round(part * count) for part in (one, other))
    assert 100.0 <= scale.at(low) <= scale.at(high) <= 700.0
    x = 100.0 + 600.0 * one
    step = scale.step(x)
    assert scale.at(step - 1) - 1e-6 <= x <= scale.at(step + 1) + 1e-6
    assert (scale.step(100.0), scale.step(700.0)) == (first, first + count)
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


# ---- branches


def test_what_was_left_leaves_the_straight_rail_where_that_of_now_begins_and_older_ones_fold_into_one():
    (rail,) = rails(past(FORK))
    assert (rail.row, rail.source, rail.leaves, rail.newest, rail.branches) == (1, 0, 1200, 2100, FORK[:1])
    assert rails(past((Branch(0, None, 0, 1200, curve(0, 1200)), FORK[1]))) == ()  # without steps of its own
    more = [Branch(n, 1, 1300 + n, 1400 + n) for n in range(2, 8)]
    last, folded = rails(past((*FORK, *more)))
    assert (last.row, folded.row, folded.folded, last.branches) == (1, 2, True, (more[-1],))
    seen = [1]
    for _ in folded.branches:  # it leads to each
        seen.append(next_of(folded, seen[-1]))
    assert sorted(seen[1:]) == sorted(b.number for b in folded.branches) == [0, 2, 3, 4, 5, 6]


# ---- what a point stands for


def test_a_point_of_the_rail_is_the_step_that_stands_there_and_an_edit_draws_it():
    bar, _ = bar_of(past())
    right = BOX[0] + BOX[2]
    assert step_at(bar, right - 62) == step_at(bar, right - 3) == step_at(bar, 2000.0, 500.0, held=True) == 3000
    left = next(x for x in range(30, 600) if (bar.target((float(x), Y)) or ("",))[0] == GO)
    assert step_at(bar, left) == 0
    half = (left + 12 + right - 62) / 2
    assert abs(step_at(bar, half) - 1500) < 6
    assert bar.target((half, 500.0)) is None
    assert step_at(bar, half, 500.0, held=True) == step_at(bar, half)
    edited, _ = bar_of(past(edits=(edit(1499),)))
    x = next(x for x in np.arange(270.0, 850.0, 0.5) if step_at(bar, x) > 1499)
    assert [step_at(edited, x + d) for d in (-4, -1, 0, 1, 4)] == [1499] * 5
    assert step_at(edited, x + 12) == step_at(bar, x + 12)


def test_beside_the_pointer_stand_step_loss_and_edits_and_which_loss_it_is():
    bar, _ = bar_of(past(edits=(edit(1500, "lr = 0.25"), edit(1500, "batch size = 32"))))
    x = next(x for x in np.arange(270.0, 850.0, 0.5) if step_at(bar, x) == 1500)
    loss = f"loss {curve(0, 3000).loss[1499]:.4f}"
    assert pointed(bar, x) == ["step 1,500", loss, "lr = 0.25", "batch size = 32"]
    assert bar.hover(None)
    assert bar.label(SIZE) == []
    bar.step_loss = "before it"  # another one than that of the HUD
    assert pointed(bar, x)[1] == f"{loss}, before it"
    for wide, ends in ((1200.0, ", before it"), (BOX[2], "left at 2,100")):  # no room for more
        bar.place((*BOX[:2], wide, BOX[3]))
        left = words(bar.update(at(412, past(FORK))))
        assert any(line.startswith("left at 2,100") and line.endswith(ends) for line in left)
        assert f"{curve(0, 3000).loss[-1]:.4f}" not in left


# ---- on the picture


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
        assert hand.bench.places.time is None
        assert not hand.bench.bar.covers((500.0, Y))
