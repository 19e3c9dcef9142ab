"""What another library trains in a live cell: whole steps only, a past to go back to, the newest numbers at the end."""

from __future__ import annotations

import time

import numpy as np
import pytest

from scalarviz.errors import InputError


def loop(shown, params, steps):
    """Each step makes new arrays, all numbers of one step alike."""
    for step in range(1, steps + 1):
        params = {name: np.full_like(one, step) for name, one in params.items()}
        shown.update(params, loss=1.0 / step)
        time.sleep(0.005)
    return params


def begun():
    return {"w": np.zeros((20, 30), np.float32), "b": np.zeros(20, np.float32)}


def test_every_frame_is_of_one_step_and_the_last_one_comes(cell, watch):
    shown = cell(begun())
    page = watch(shown)
    page.wait(lambda p: p.step == 0)
    loop(shown, begun(), 120)
    shown.look()  # as after each cell of the notebook
    page.wait(lambda p: p.step == 120)
    for said, (values, *_) in page.frames:
        assert (values == said["step"]).all()
    assert len(page.frames) >= 2
    assert page.known["head"]["loss"] == "0.0083"


def test_one_goes_back_and_forth_in_a_cell(cell, watch):
    shown = cell(begun())
    page = watch(shown)
    page.wait(lambda p: p.step == 0)
    assert page.known.get("time") is None
    loop(shown, begun(), 40)
    shown.look()
    page.wait(lambda p: p.step == 40 and p.known["time"] is not None)
    page.do("back")
    page.wait(lambda p: 0 < p.step < 40)
    assert (page.values == page.step).all()
    page.say(kind="go", step=0, near=False)
    page.wait(lambda p: p.step == 0)
    shown.update({"w": np.full((20, 30), 41, np.float32), "b": np.full(20, 41, np.float32)}, loss=0.01)
    shown.look()
    page.do("newest")
    page.wait(lambda p: p.step == 41)
    assert (page.values == 41).all()


def test_a_selected_number_has_its_history(cell, watch):
    shown = cell(begun())
    page = watch(shown)
    page.wait(lambda p: p.step == 0)
    loop(shown, begun(), 30)
    shown.look()
    page.say(kind="select", index=5)
    page.wait(lambda p: p.known.get("inspector"))
    assert not page.known["inspector"]["edits"]
    assert shown.watched.weight_record(5).values.tolist() == shown.watched.weight_record(5).steps.tolist()


def test_other_arrays_are_refused_where_nothing_takes_them(cell, scene):
    with pytest.raises(InputError, match="read in place"):
        cell(scene).update(begun())
