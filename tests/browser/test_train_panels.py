"""Panels in a page that trains: at recorded and at computed steps they are the window's."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.panels import PlaneMap, SampleRows, Table
from scalarviz.view.ink.listed import checked
from scalarviz.view.page import recorded
from scalarviz.view.page.pictures import panel_pictures
from scalarviz.view.panels.one_step import UNKNOWN

from .players import HOSTILE, opened, painted, scene
from .test_train import GROWN, stepped, waited, written

LIST = "name => scalarviz.pictures.listOf(name, scalarviz.frame, scalarviz.theme)"
NOW = "name => scalarviz.pictures.stepAt(name, scalarviz.frame) === scalarviz.run.steps[scalarviz.frame]"
PANELS = {"neuron": "curve", "expression": "curve", "rgb": "colours", "digits": "digits"}


def listed(made, panel):
    """The window's list of a panel where the scene is now."""
    pictures = panel_pictures(made, [0], lambda k: made.run.frame(made.probe))
    (picture,) = (one for one in pictures if one.panel == panel)
    return checked(picture.image)


def alike(ours, theirs):
    """Whether a page's list has the curve, the errors of samples, the colours and the pictures of the window's."""
    numbers, bytes_of = lambda r: np.array(r[1]), lambda r: np.array([*bytes.fromhex(r[3])], float)
    curves, errors = (("strokes", 3, 2.2), numbers, 0.11), (("lines", 3, 1.6), numbers, 0.11)
    found = 0
    for (kind, at, value), read, apart in (curves, errors, (("points", 0, "points"), bytes_of, 1)):
        one, other = ([read(r) for r in some if r[0] == kind and r[at] == value] for some in (ours, theirs))
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(b, a, atol=apart)
        found += len(one)
    tiles, others = ([r for r in some if r[0] == "sprites"] for some in (ours, theirs))
    for one, other in zip(tiles, others, strict=True):
        (boxes, cells), (their_boxes, their_cells) = (np.reshape(r[1:3], (2, -1, 4)) for r in (one, other))
        order, their_order = (np.argsort(some[:, 0]) for some in (cells, their_cells))
        np.testing.assert_allclose(their_cells[their_order], cells[order], atol=1e-4)
        np.testing.assert_allclose(their_boxes[their_order], boxes[order], atol=0.11)
        assert [r[3] for r in ours if r[0] == "text"] == [r[3] for r in theirs if r[0] == "text"]
    return found + len(tiles) > 0


@pytest.mark.parametrize("name", PANELS)
def test_panels_of_each_recorded_step_and_of_computed_ones_are_the_windows(name, browse, tmp_path):
    """Of recorded steps, the page stores the last panel alone."""
    made, panel = scene(name), PANELS[name]
    page = opened(browse(reduced_motion="reduce"), written(scene(name), tmp_path), "#frame=2")
    assert page.evaluate(f"scalarviz.pictures.shown.find(one => one.name === '{panel}').steps.length") == 1
    for frame in (2, 0, 3):
        page.evaluate("frame => scalarviz.go(frame)", frame)
        page.wait_for_function(NOW, arg=panel)
        other = scene(name)
        other.run.step(frame)
        assert alike(listed(other, panel), page.evaluate(LIST, panel)), frame
    page.evaluate("scalarviz.go(99)")
    stepped(page, 15)
    made.run.step(4 + 15)
    assert alike(listed(made, panel), page.evaluate(LIST, panel))


@pytest.mark.parametrize(("rate", "weight"), [(0.1, None), (1.2, -1.5), (0.05, -1.5), (1.2, 90.0)])
def test_the_loss_over_a_weight_and_the_calls_of_a_step_are_the_windows(rate, weight, browse, tmp_path):
    """Near the minimum, where steps overshoot, after a change by hand, and beyond what the recording showed."""
    made = scene("neuron")
    page = opened(browse(reduced_motion="reduce"), written(scene("neuron"), tmp_path), "#frame=99")
    frames = page.evaluate("scalarviz.run.frames")
    made.run.step(4)
    page.evaluate("rate => scalarviz.training.change('lr', rate)", rate)
    made.run.lr = rate
    if weight is not None:
        page.evaluate("weight => scalarviz.training.change(0, weight)", weight)
        page.wait_for_function(GROWN, arg=frames + 1)
        made.run.values[0] = weight
        check_step(made, page)
    for count in (1, 3):
        stepped(page, count)
        made.run.step(count)
        check_step(made, page)


def test_a_weight_that_is_far_outside_has_no_place_on_the_curve(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("neuron"), tmp_path), "#frame=99")
    page.evaluate("scalarviz.training.change(0, 1e6)")
    page.wait_for_function(GROWN, arg=6)
    stepped(page, 1)
    found = page.evaluate(LIST, "loss over weights")
    assert not any(r[0] == "rect" and r[3] == 13 for r in found)
    assert not {"downhill", "overshoots: the loss rises"} & {r[3] for r in found if r[0].endswith("text")}


def short_form(text):
    """What a text of the window says that a page says, too: the way of a step, and whether the loss rises."""
    return "moved by" if "× slope" in text else re.sub("^(moved by|downhill|overshoots).*", r"\1", text)


def check_step(made, page):
    """Check the two panels of one step against the window's: all that the page draws, and the texts."""
    (ours, theirs), (calls, their_calls) = (
        (listed(made, name), page.evaluate(LIST, name)) for name in ("loss over weights", "one step")
    )
    for kind, at, value in (("path", 3, 2.0), ("lines", 2, "grid"), ("rect", 3, 13), ("rect", 3, 10)):
        one, other = ([np.array(r[1] if kind != "rect" else r[1:3]) for r in some if r[0] == kind and r[at] == value]
                      for some in (ours, theirs))  # fmt: skip
        assert len(one) == len(other), (kind, value)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(b, a, atol=0.15)
    said, their_said = ({short_form(r[3]) for r in some if r[0] in ("text", "next text")} for some in (ours, theirs))
    assert their_said <= said
    left_out = ("lowest loss", UNKNOWN, "too small", "it does not move", "slope")  # the last one where there is no room
    assert all(text.startswith(left_out) for text in said - their_said), said - their_said
    words = ["".join(r[3] for r in some if r[0] in ("text", "next text")) for some in (calls, their_calls)]
    if made.run.frame().edited:  # a page knows no loss of a recorded step that was done elsewhere
        words = [re.sub(r"loss [\d.]*", "loss", said) for said in words]
    assert words[0] == words[1]


def test_a_panel_that_stands_says_so(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("uinn"), tmp_path), "#frame=2")
    page.evaluate("scalarviz.training.restart({ seed: 3 })")
    waited(page, 3)
    stepped(page, 5)
    assert "model recorded at step 3" in painted(page)
    assert "table at step 8" in painted(page)


def test_panels_without_room_in_a_standing_picture_are_one_press_away(browse, tmp_path):
    page = browse(reduced_motion="reduce", viewport={"width": 390, "height": 844}, has_touch=True)
    opened(page, written(scene("xor"), tmp_path), "#frame=99")
    top = "document.querySelector('#pictures figure:not([hidden])').getBoundingClientRect().top"
    assert page.evaluate(top) > 844
    page.get_by_role("button", name="show the other panels").tap()
    page.wait_for_function(f"() => {top} < 700")


def test_undo_shows_the_panels_of_its_moment(browse, tmp_path):
    """There are two frames of one step: before the change, and after it."""
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path), "#frame=99")
    shown = "() => JSON.stringify(scalarviz.pictures.listOf('colours', scalarviz.frame, scalarviz.theme))"
    stepped(page, 5)
    before = page.evaluate(shown)
    page.evaluate("scalarviz.training.change(4, -9)")
    page.wait_for_function(GROWN, arg=7)
    assert page.evaluate(shown) != before
    stepped(page, 3)
    page.keyboard.press("Control+z")
    assert page.evaluate("[scalarviz.run.steps[scalarviz.frame], location.hash]") == [12, "#train=12"]
    assert page.evaluate(shown) == before
    page.get_by_role("button", name="change").click()
    page.get_by_role("button", name="undo").click()  # to where the line begins
    assert page.evaluate("[scalarviz.frame, location.hash]") == [4, "#step=7"]


# ---- tables of samples


def named(label):
    """A run of a user: more samples than the table has lines."""
    random = np.random.default_rng(5)
    inputs, targets = random.normal(size=(14, 2)), random.normal(size=(14, 1))
    net = nn.Sequential(nn.Linear(2, 3, seed=1), nn.Tanh(), nn.Linear(3, 1, seed=2))
    run = sv.Run(
        net, nn.HuberLoss(), optim.Adam(net.parameters(), lr=0.1), (inputs, targets), batch_size=7, engine="numpy"
    )
    rows = SampleRows(inputs, targets, [(label,), ("",), *((f"{k}",) for k in range(12))])
    return sv.Scene("named", run, probe=inputs[0], panels=(Table("samples", rows, (label, "said", "off", "loss")),))


def made_at(name, step):
    """A scene of the project, or the run of a user with a label, at a step after the first of its recording."""
    if name in ("xor", "uinn"):
        return scene(name, steps=3 + step)
    made = named(name)
    made.run.step(step)
    return made


@pytest.mark.parametrize("name", ["xor", "uinn", "plain", HOSTILE[0], HOSTILE[-1].replace("$", "-0.1234")])
def test_a_table_of_samples_is_the_windows_at_every_step(name, browse, tmp_path):
    """Of recorded steps, the page stores the last table alone."""
    page = opened(browse(reduced_motion="reduce"), written(made_at(name, 0), tmp_path), "#frame=0")
    assert page.evaluate("scalarviz.pictures.shown.find(one => one.name === 'table').steps.length") == 1
    for frame in (2, 0, 3, 4, 5):
        if frame > 4:
            stepped(page, 40)
        page.evaluate("frame => scalarviz.go(frame)", frame)
        page.wait_for_function(NOW, arg="table")
        assert page.evaluate(LIST, "table") == listed(made_at(name, frame if frame < 5 else 44), "table")


def test_a_table_of_a_page_with_rounded_weights_is_stored(browse, tmp_path, monkeypatch):
    """Its last digits do not follow from them."""
    monkeypatch.setattr(recorded, "EXACT", 5)
    page = opened(browse(reduced_motion="reduce"), written(scene("uinn"), tmp_path), "#frame=2")
    assert page.evaluate("scalarviz.pictures.shown.find(one => one.name === 'table').steps") == [3, 4, 5, 6, 7]
    page.evaluate("scalarviz.go(99)")
    stepped(page, 15)
    assert page.evaluate(LIST, "table") == listed(scene("uinn", steps=22), "table")


# ---- the line of a map


def looks_of(records):
    """Colours and widths of the upper and the lower line in a map's list; none if the list has none."""
    return [one[2:] for one in records if one[0] == "strokes"]


@pytest.mark.parametrize(
    ("name", "options", "cells"), [("playground", {}, 40), ("xor", {}, 40), ("xor", {"cells": 9}, 9)]
)
def test_the_line_of_a_map_is_the_windows_at_computed_steps(name, options, cells, browse, tmp_path):
    """The page has fewer squares, if they have no size; the window draws the same line through as many."""
    page = opened(browse(reduced_motion="reduce"), written(scene(name, **options), tmp_path), "#frame=99")
    for step in (307, 607):
        stepped(page, 300)
        made = scene(name, steps=step, **options)
        made.panels = tuple(
            replace(one, cells=cells, at=None) if isinstance(one, PlaneMap) else one for one in made.panels
        )
        ours, theirs = page.evaluate(LIST, "plane"), listed(made, "plane")
        assert [one[0] for one in ours] == [one[0] for one in theirs]
        assert looks_of(ours) == looks_of(theirs)
        for one, other in zip(ours, theirs, strict=True):
            if one[0] == "strokes":
                np.testing.assert_allclose(one[1], other[1], atol=0.11)


def test_a_line_comes_and_goes(browse, tmp_path):
    """The recorded step may have none: then no record of it shows how it looks."""
    made = scene("xor")
    last = len(made.run.values) - 1
    made.run.values[9:] = 0.0  # the output is 0 everywhere
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path, steps=0), "#frame=99")
    assert not looks_of(page.evaluate(LIST, "plane"))
    for frames, value in enumerate((3.0, 0.0), 2):
        page.evaluate("([k, value]) => void scalarviz.training.change(k, value)", [last, value])
        page.wait_for_function(GROWN, arg=frames)
        made.run.values[last] = value
        ours, theirs = page.evaluate(LIST, "plane"), listed(made, "plane")
        assert [one[0] for one in ours] == [one[0] for one in theirs]
        assert looks_of(ours) == looks_of(theirs)
        assert bool(looks_of(ours)) == bool(value)
