"""Every action of the table, by code, by each of its keys and by the pointer where it has a place: the same log, bits
and picture.

A picture offers an action as a spot with its name, or as a button of the controls with its sign. Of all others
(UNOFFERED) some have a place of another name: a double click on the value is `type_value`, the switch and the button of
an opened step are `whose` and `predict`, the sliders of the controls are pace and learning rate, and a crumb of the
inspector selects more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

from kit.benches import middle
from scalarviz.run import travel
from scalarviz.view.ink.sketch import Box
from scalarviz.view.watch import selected
from scalarviz.view.watch.actions import ACTIONS, BY_NAME
from tests.frozen import make

SELECTED = ("back", "back", "step", 1)
"""There is a newer step to go to, and one to go back to; a weight is selected."""
PICTURES = {"opening": (), "selected": SELECTED, "controls": (*SELECTED, "toggle_controls")}
"""How to come to each from the run as it is loaded; the opening is of one that has done no step."""
NUMBERED = ("go_view", "keep_view")
"""Their other keys are other numbers."""
NAMES = [action.name for action in ACTIONS if action.kind not in ("file", "host")]
UNOFFERED = """
micro_back whose add_samples predict undo redo toggle_controls name_moment toggle_loop slower faster normal_speed
show_weights
show_gradients show_updates show_ratio show_moment raise_rate lower_rate type_value nudge_up nudge_down select_more
type_word cooler warmer toggle_sizes hide_more hide_less next_map refit_range fit go_view keep_view toggle_parallel
toggle_turntable toggle_apart layer_after layer_before paste toggle_panels toggle_layers toggle_theme escape
"""


def offered(view) -> Iterator[tuple[str, Box]]:
    """The actions that a picture offers to the pointer, and where."""
    layers = [view.bench.sketches, *view.bench.overlays]
    for spot in (spot for layer in layers for sketch in layer for spot in sketch.spots):
        item = view.bench.controls.item(spot.name)
        name = spot.name if item is None else item.sign
        if name in BY_NAME:
            yield name, spot.box


def after(way, picture: str = "selected"):
    """What there is after a way to do one thing in a picture: log, step, whether time goes on, bits, and the list."""
    loaded = make.load_scene("rgb")
    scene = loaded.build(loaded.options(engine="numpy", dtype="float64", threads=1, hidden=(2,), batch=4))
    opening = picture == "opening"
    scene.run.step(0 if opening else make.DONE)
    # how soon and how much the inspector asks, and whether steps are done again for it, hangs on how long that takes
    asks = patch.multiple(selected, AT_REST=0.0, SHARE=0.0, QUICK=float("inf"))
    with (
        asks,
        patch.object(travel, "SECONDS", 1e9),
        make.viewer(scene, (1280, 720), playing=opening, wait=None if opening else 0.0) as view,
    ):
        make.settle(view)
        for what in PICTURES[picture]:
            view.bench.select(what) if isinstance(what, int) else view.send(what)
            make.settle(view)
        way(view)
        if running := view.playback.running:
            view.playback.pause()
        for _ in range(2):  # its questions follow each other
            make.settle(view)
        log = [str(replace(edit, gesture="")) for edit in scene.run.log]
        found = log, scene.run.frame().step, running, scene.run.values.copy(), make.records(view)
    scene.run.close()
    return found


@cache
def by_code(name: str, picture: str = "selected"):
    return after(lambda view: view.send(name), picture)


def assert_same(one, other):
    assert one[:3] == other[:3]
    assert np.array_equal(one[3], other[3])
    lines = [[make.line(r) for r in found[4] if "steps/s" not in r.get("text", "")] for found in (one, other)]
    assert not make.difference(*lines, "pictures")  # the speed was measured, so that it may differ


@pytest.mark.parametrize("name", NAMES)
def test_a_key_does_what_code_does(name):
    for key in BY_NAME[name].keys[: 1 if name in NUMBERED else None]:
        *held, plain = key.split("+")
        pressed = after(lambda view, k=plain, h=held: view.key(k, ctrl="Ctrl" in h, shift="Shift" in h))
        assert_same(by_code(name), pressed)


@pytest.fixture(scope="module")
def places() -> dict[str, dict[str, list[Box]]]:
    """By picture and action, where it is offered."""
    found: dict[str, dict[str, list[Box]]] = {picture: {} for picture in PICTURES}
    for picture, own in found.items():
        after(lambda view, own=own: [own.setdefault(name, []).append(box) for name, box in offered(view)], picture)
    return found


def press(view, box: Box) -> None:
    at = tuple(part * view.bench.scale for part in middle(box))
    view.move(at)
    view.press(at)
    view.release(at)
    view.leave()


@pytest.mark.parametrize("picture", PICTURES)
def test_the_pointer_does_what_code_does(places, picture):
    for name, boxes in places[picture].items():
        for box in boxes:
            assert_same(by_code(name, picture), after(lambda view, box=box: press(view, box), picture))


def test_which_actions_no_picture_offers_to_the_pointer(places):
    assert {*NAMES}.difference(*places.values()) == {*UNOFFERED.split()}
