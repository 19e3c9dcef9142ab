"""The time bar: where a step stands, what was left, what is hidden where two collide, and the pixels of all that."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scalarviz.scenes import neuron

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.core.frame import Branch, Curve, Flag, Past
from scalarviz.run.edits import SetOptimizer
from scalarviz.run.edits.base import Applied
from scalarviz.run.source import Can, RunSource
from scalarviz.view.ink.places import LABEL, Wanted, arrange
from scalarviz.view.ink.text import CAP_HEIGHT, measure
from scalarviz.view.ink.theme import DARK, LIGHT, rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.screen.time_bar import Mark, TimeBar, labels
from scalarviz.view.screen.time_curve import LONG, StepScale, Target, next_of, rails, reduced
from scalarviz.view.shown.subject import scene_subject
from scalarviz.view.workbench import Workbench

BOX = (24.0, 572.0, 888.0, 92.0)


def curve(first, newest, start=0.12, end=0.001):
    steps = np.arange(first + 1, newest + 1)
    return Curve(steps, end + (start - end) * np.exp(-(steps - first) / 500), np.full(len(steps), 0.5))


def edit(step, what="lr = 1.0"):
    return Applied(step, SetOptimizer((("lr", 1.0),)), what)


def past(branches=(), **named):
    own = (Branch(0, None, 0, 3000, current=True),)
    return Past(**{"first": 0, "newest": 3000, "curve": curve(0, 3000), "branches": branches or own, **named})


FORK = (
    Branch(0, None, 0, 2100, curve(0, 2100)),
    Branch(1, 0, 1200, 3000, curve(1200, 3000), current=True, why="0.weight[1][1] = 2"),
)


class Going(RunSource):
    can = Can(predict=True, train=True, edit=True, go=True)


@pytest.fixture(scope="module")
def subject():
    colours = np.random.default_rng(0).random((32, 3))
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (colours, 1 - colours), engine="numpy")
    run.step(3)
    yield scene_subject(Scene("t", run), Going(run))
    run.close()


def bar_of(past, step, box=BOX, **frame):
    bar = TimeBar(DARK)
    bar.place(box)
    found = bar.update(Moment(step, past), **frame)
    return bar, found


class Moment:
    """As much of a frame as a bar looks at."""

    def __init__(self, step, past):
        self.step, self.past = step, past


def bench_of(subject, past, step=412, size=(1280, 720), theme="dark", keys=(("Space", "run"),)):
    frame = replace(subject.frame(), step=step, past=past)
    with offscreen():
        bench = Workbench(subject, size, theme, keys=keys)
        bench.update(frame)
    return bench


def texts(sketches):
    return [item for sketch in sketches for item in sketch.texts]


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


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_ticks_are_the_ends_and_round_steps_between(first, count):
    ticks = StepScale(first, first + count, 0.0, 600.0).ticks()
    assert (ticks[0], ticks[-1]) == (first, first + count)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 12


@given(st.lists(st.tuples(st.integers(0, 3000), st.text("abc 0.=", min_size=1, max_size=40)), max_size=30),
       st.integers(0, 3000))  # fmt: skip
def test_no_two_labels_touch_and_none_leaves_the_bar(marks, cursor):
    scale = StepScale(0, 3000, 270.0, 850.0)
    found = labels([Mark("edit", step, (what,)) for step, what in marks], scale, cursor, (264.0, 896.0))
    spans = sorted((left, left + measure(text, LABEL)) for left, text, _ in found)
    assert all(right + 9 < left for (_, right), (left, _) in pairwise(spans))
    assert all(left > 263 and right < 897 for left, right in spans)


def test_the_curve_has_a_point_a_pixel_and_keeps_its_ends():
    steps = np.arange(1, 1_000_001)
    losses = np.random.default_rng(0).random(len(steps))
    places, means = reduced(Curve(steps, losses, losses), StepScale(0, 10**6, 0.0, 600.0))
    assert 100 < len(places) <= 600
    assert means[0] == losses[0]
    assert means[-1] == pytest.approx(0.5, abs=0.03)  # a mean as everywhere: the loss of one batch would be a cliff
    assert np.all(np.diff(places) > 0)
    assert abs(means[-200:-1].mean() - 0.5) < 0.01


# ---- branches


def test_what_was_left_leaves_the_straight_rail_where_the_branch_of_now_begins():
    (rail,) = rails(past(FORK))
    assert (rail.row, rail.source, rail.leaves, rail.newest) == (1, 0, 1200, 2100)
    assert rail.branches == (FORK[0],)


def test_a_branch_without_steps_of_its_own_is_none():
    both = (Branch(0, None, 0, 1200, curve(0, 1200)), replace_branch(FORK[1]))
    assert rails(past(both)) == ()


def replace_branch(branch):
    return Branch(branch.number, branch.parent, branch.first, branch.newest, branch.curve, current=branch.current)


def test_at_most_three_rails_and_the_older_ones_fold_into_one_that_leads_to_each():
    more = [Branch(n, 1, 1300 + n, 1400 + n) for n in range(2, 8)]
    found = rails(past((*FORK, *more)))
    assert [rail.row for rail in found] == [1, 2]
    assert [b.number for b in found[0].branches] == [7]
    folded = found[1]
    assert folded.folded
    assert {b.number for b in folded.branches} == {0, 2, 3, 4, 5, 6}
    now, seen = 1, []
    for _ in folded.branches:
        now = next_of(folded, now)
        seen.append(now)
    assert sorted(seen) == [0, 2, 3, 4, 5, 6]


# ---- what a point stands for


def test_a_point_of_the_rail_is_the_step_that_stands_there():
    bar, _ = bar_of(past(), 412)
    right = BOX[0] + BOX[2]
    assert bar.target((right - 62, 640)) == Target("step", step=3000)
    assert bar.target((right - 3, 640)) == Target("step", step=3000)
    left = next(x for x in range(30, 600) if bar.target((float(x), 640.0)) is not None)
    assert bar.target((float(left), 640.0)) == Target("step", step=0)
    middle = (left + 12 + right - 62) / 2
    assert abs(bar.target((middle, 640.0)).step - 1500) < 6
    assert bar.target((middle, 500.0)) is None
    assert bar.target((middle, 500.0), held=True).step == bar.target((middle, 640.0)).step
    assert bar.target((2000.0, 500.0), held=True) == Target("step", step=3000)


def test_an_edit_draws_a_touch_beside_it_to_its_step():
    bar, _ = bar_of(past(edits=(edit(1499),)), 412)
    plain, _ = bar_of(past(), 412)
    x = next(x for x in np.arange(270.0, 850.0, 0.5) if plain.target((x, 640.0)).step > 1499)
    assert [bar.target((x + d, 640.0)).step for d in (-4, -1, 0, 1, 4)] == [1499] * 5
    assert bar.target((x + 12, 640.0)).step == plain.target((x + 12, 640.0)).step


def test_buttons_say_their_action_and_the_chip_what_it_undoes():
    bar, found = bar_of(past(undo="lr = 1.0"), 412)
    there = {bar.target((x, y)).action for x in np.arange(36.0, 220.0) for y in (600.0, 636.0)
             if bar.target((x, y)) is not None}  # fmt: skip
    assert there == {"first", "back", "toggle_run", "step", "newest", "undo"}
    assert "lr = 1.0" in [item.text for item in texts(found)]
    bar.hover((130.0, 636.0))
    assert "undo" in [item.text for item in texts(bar.label((1280, 720)))]


def test_a_ring_is_a_branch_and_says_so():
    bar, found = bar_of(past(FORK), 412)
    assert any(item.text.startswith("left at 2,100, loss ") for item in texts(found))
    points = [(float(x), float(y)) for x in range(270, 900) for y in range(572, 664, 2)]
    rings = [p for p in points if (found := bar.target(p)) is not None and found.kind == "branch"]
    assert rings
    assert bar.target(rings[len(rings) // 2]) == Target("branch", branch=0)
    bar.hover(rings[len(rings) // 2])
    assert "another branch" in [item.text for item in texts(bar.label((1280, 720)))]


def test_a_low_bar_has_its_branches_on_one_rail():
    more = [Branch(n, 1, 1300 + n, 2400 + n) for n in range(2, 5)]
    bar, _ = bar_of(past((*FORK, *more)), 412, (24.0, 400.0, 560.0, 48.0))
    points = [(float(x), float(y)) for x in range(230, 580) for y in range(400, 448)]
    found = {(target.kind, target.branch) for p in points if (target := bar.target(p)) is not None}
    assert found == {("step", 0), ("branch", 2)}


def test_beside_the_pointer_stand_step_loss_and_edits():
    bar, _ = bar_of(past(edits=(edit(1500, "lr = 0.25"), edit(1500, "batch size = 32"))), 412)
    x = next(x for x in np.arange(270.0, 850.0, 0.5) if bar.target((x, 640.0)).step == 1500)
    bar.hover((x, 640.0))
    said = [item.text for item in texts(bar.label((1280, 720)))]
    assert said == ["step 1,500", f"loss {curve(0, 3000).loss[1499]:.4f}", "lr = 0.25", "batch size = 32"]
    assert bar.hover(None)
    assert bar.label((1280, 720)) == []


def test_a_loss_that_is_another_one_than_that_of_the_hud_says_which_it_is():
    bar, _ = bar_of(past(FORK), 412)
    bar.step_loss = "before it"
    bar.place((*BOX[:2], 1200.0, BOX[3]))
    left = [item.text for item in texts(bar.update(Moment(412, past(FORK))))]
    assert any(line.startswith("left at 2,100, loss ") and line.endswith(", before it") for line in left)
    assert f"{curve(0, 3000).loss[-1]:.4f}" not in left
    bar.place(BOX)
    assert "left at 2,100" in [item.text for item in texts(bar.update(Moment(412, past(FORK))))]  # no room for more
    bar.hover((600.0, 640.0))
    assert texts(bar.label((1280, 720)))[1].text.endswith(", before it")


@pytest.mark.gl
@pytest.mark.parametrize("size", [(1280, 720), (1000, 600), (720, 1080)])
def test_nothing_beside_the_pointer_lies_on_a_legend_or_a_panel(size):
    """Wherever the pointer is on the bar: its step, and what its buttons do."""
    made = neuron.build(neuron.Options(engine="numpy"))
    with made.run as run, offscreen():
        run.step(40)
        bench = Workbench(made, size, keys=(("Space", "run"),))
        bench.update(bench.subject.frame())
        x, y, wide, high = bench.bar.box
        others = [*bench._on_cubes, *bench._numbers, *bench._moving]
        boxes = [box_of(item) for sketch in others for item in sketch.texts]
        for at in np.arange(x + 2.0, x + wide, 7.0):
            bench.bar.hover((float(at), y + min(high - 12, 30)))
            for label in bench.bar.label(bench.places.size)[-1:]:
                own = [box_of(item) for item in label.texts if item.text]
                low, top = min(b[0] for b in own) - 10, min(b[1] for b in own) - 6
                right, end = max(b[0] + b[2] for b in own) + 10, max(b[1] + b[3] for b in own) + 6
                hidden = [b for b in boxes if b[0] < right and low < b[0] + b[2] and b[1] < end and top < b[1] + b[3]]
                assert not hidden, (at, hidden)


def box_of(item):
    """Left, top, width and height of a text."""
    wide = measure(item.text, item.size, item.bold)
    left = item.x - {"left": 0.0, "middle": wide / 2, "right": wide}[item.anchor]
    return left, item.y - 0.75 * item.size, wide, item.size


def test_without_a_past_there_is_nothing():
    for there in (None, Past(5, 5)):
        bar, found = bar_of(there, 5)
        assert found == []
        assert bar.target((500.0, 640.0)) is None
        assert bar.label((1280, 720)) == []


def test_what_grows_while_time_goes_on_waits_for_the_words():
    bar, before = bar_of(past(newest=2000), 2000)
    bar.running = True
    assert bar.update(Moment(2100, past(newest=2100)), writes=False) is before
    assert bar.update(Moment(2100, past(newest=2100)), writes=True) is not before


# ---- on the picture


@pytest.mark.gl
@pytest.mark.parametrize(("theme", "look"), [("dark", DARK), ("light", LIGHT)])
def test_the_rail_is_bright_up_to_the_cursor_and_an_edit_is_hollow(subject, theme, look):
    bench = bench_of(subject, past(edits=(edit(2250),)), 1500, theme=theme)
    picture = offscreen().render(bench.draw, (1280, 720)).astype(int)
    x, y, wide, high = bench.places.time
    rail, panel = round(y + high - 26), np.array(rgb(look.panel)) * 255
    row = picture[rail, round(x + 260) : round(x + wide - 70)]
    ink = np.abs(row - panel).sum(axis=1)
    bright = np.abs(np.array(rgb(look.text1)) * 255 - panel).sum()
    place = [k for k, strength in enumerate(ink) if strength > 0.85 * bright]
    middle = len(row) / 2
    assert max(place) > middle - 25  # white as far as the cursor
    assert [k for k in place if k > middle + 40] == []  # and no further: the edit's outline is dim there
    hollow = [k for k in range(round(middle) + 40, len(row) - 10) if ink[k] < 12]
    assert len(hollow) >= 3
    assert max(hollow) - min(hollow) < 14


@pytest.mark.gl
@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (960, 540), (640, 480), (720, 1280), (1024, 768)])
def test_no_text_lies_on_another_and_the_cubes_stay_the_largest_thing(subject, size):
    there = past(FORK, edits=(edit(250), edit(1200, "0.weight[1][1] = 2"), edit(1230, "lr = 0.5")), undo="lr = 0.5",
                 flags=(Flag(700, "flag 1"), Flag(2400, "before the fall")))  # fmt: skip
    bench = bench_of(subject, there, 1500, size)
    assert bench.places.time is not None
    boxes = []
    for item in texts(bench.sketches):
        wide = measure(item.text, item.size, item.bold)
        left = item.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[item.anchor] * wide
        boxes.append((item.text, left, item.y - CAP_HEIGHT * item.size, left + wide, item.y))
    for n, (one, left, top, right, bottom) in enumerate(boxes):
        assert left >= 0, one
        assert right <= bench.places.size[0], one
        for other, a, b, c, d in boxes[:n]:
            assert min(right, c) - max(left, a) <= 1 or min(bottom, d) - max(top, b) <= 1, (one, other)
    assert bench.places.scene[3] > 2 * bench.places.time[3]


@pytest.mark.gl
def test_a_film_hidden_panels_and_small_pictures_have_no_bar(subject):
    assert bench_of(subject, past(), keys=()).places.time is None
    assert arrange((640, 360), keys=True, time=True).time is None
    bench = bench_of(subject, past())
    with offscreen():
        bench.show_panels(False)
        bench.draw()
        assert bench.places.time is None
        assert not bench.bar.covers((500.0, 640.0))


def test_the_bar_keeps_to_its_place():
    for size in ((1280, 720), (960, 540), (720, 1280), (1920, 1080)):
        places = arrange(size, keys=True, time=True)
        x, y, wide, high = places.time
        assert y >= places.strip[1] + places.strip[3] + 8
        assert y + high < places.keys - 10
        assert x + wide <= places.scene[0] + places.scene[2]
        assert places.scene[1] + places.scene[3] <= places.strip[1]


@pytest.mark.gl
@pytest.mark.parametrize(("step", "said"), [(412, "of 3,000"), (3000, "")])
def test_the_past_is_said_and_the_light_behind_the_cubes_has_another_colour(subject, step, said):
    bench = bench_of(subject, past(), step)
    assert ("of 3,000" in [item.text for item in texts(bench.sketches)]) == bool(said)
    picture = offscreen().render(bench.draw, (1280, 720)).astype(int)
    x, y, wide, high = bench.places.scene
    behind = picture[round(y + high - 4), round(x + wide - 40)]
    assert (behind[2] - behind[0] > 8) == bool(said)


def test_no_panel_makes_way_for_the_bar():
    wanted = [Wanted("pictures", 140, worth=1), Wanted("cube", 250, worth=2), Wanted("loss", 150, 420, first=True)]
    for wide in range(560, 1000, 40):
        for high in range(500, 1300, 40):
            with_bar, without = (arrange((wide, high), wanted, keys=True, time=time) for time in (True, False))
            assert with_bar.panels.keys() == without.panels.keys(), (wide, high)


def test_the_label_of_several_changes_says_how_many_others_there_are():
    assert Mark("edit", 93, ("lr = 1",)).short == "lr = 1"
    assert Mark("edit", 93, ("0.weight[0][0] = 2", "lr = 1")).short == "lr = 1, 1 more"
