"""Every action of the table, by code, by each of its keys and by the pointer where it has a place: the same log, bits
and picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scalarviz.view.ink.sketch import Spot
from scalarviz.view.watch.actions import ACTIONS, BY_NAME
from tests.frozen import make

SIZE = (1280, 720)
BEFORE = ("back", "back", "step")
"""There is a newer step to go to, and one to go back to."""


def spots(view) -> list[Spot]:
    layers = [view.bench.sketches, *view.bench.overlays]
    return [spot for layer in layers for sketch in layer for spot in sketch.spots]


def after(way, opened: tuple[str, ...] = ()):
    """What there is after a way to do one thing: the log, the bits of weights, and the picture's list."""
    loaded = make.load_scene("rgb")
    scene = loaded.build(loaded.options(engine="numpy", dtype="float64", threads=1, hidden=(2,), batch=4))
    scene.run.step(make.DONE)
    with make.viewer(scene, SIZE) as view:
        make.settle(view)
        for what in (*BEFORE, *opened):
            view.send(what)
            make.settle(view)
        view.bench.select(1)
        make.settle(view)
        way(view)
        make.settle(view)
        log = [str(replace(edit, gesture="")) for edit in scene.run.log]
        found = log, scene.run.frame().step, scene.run.values.copy(), make.records(view)
    scene.run.close()
    return found


def same(one, other):
    assert one[:2] == other[:2]
    assert np.array_equal(one[2], other[2])
    lines = [[make.line(r) for r in found if "steps/s" not in r.get("text", "")] for _, _, _, found in (one, other)]
    assert not make.difference(*lines, "pictures")  # the speed was measured, so that it may differ


NUMBERED = ("go_view", "keep_view")
"""Their other keys are other numbers."""
NAMES = [action.name for action in ACTIONS if action.kind not in ("file", "host") and action.name != "toggle_run"]


@pytest.mark.parametrize("name", NAMES)
def test_a_key_does_what_code_does(name):
    by_code = after(lambda view: view.send(name))
    for key in BY_NAME[name].keys[: 1 if name in NUMBERED else None]:
        *held, plain = key.split("+")
        same(by_code, after(lambda view, k=plain, h=held: view.key(k, ctrl="Ctrl" in h, shift="Shift" in h)))
