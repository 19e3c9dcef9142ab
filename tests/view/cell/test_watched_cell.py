"""What another library trains in a live cell: whole steps only, a past to go back to, the newest numbers at the end."""

from __future__ import annotations

import time

import numpy as np
import pytest

from scalarviz.errors import InputError


def test_every_frame_is_of_one_step_the_last_one_comes_and_one_goes_back_and_forth(cell, watch):
    params = {"w": np.zeros((20, 30), np.float32), "b": np.zeros(20, np.float32)}
    shown = cell(params)
    page = watch(shown)
    page.wait(lambda p: p.step == 0 and p.known.get("time") is None)
    for step in range(1, 121):  # each makes new arrays, all numbers of one step alike
        shown.update({name: np.full_like(one, step) for name, one in params.items()}, loss=1.0 / step)
        time.sleep(0.005)
    shown.look()  # as after each cell of the notebook
    page.wait(lambda p: p.step == 120 and p.known["time"] is not None)
    assert all((values == said["step"]).all() for said, (values, *_) in page.frames)
    assert len(page.frames) >= 2
    assert page.known["head"]["loss"] == "0.0083"
    page.say(kind="select", index=5)
    page.wait(lambda p: p.known.get("inspector"))
    assert not page.known["inspector"]["edits"]
    record = shown.watched.weight_record(5)
    assert record.values.tolist() == record.steps.tolist()
    page.do("back")
    page.wait(lambda p: 0 < p.step < 120)
    page.say(kind="go", step=0, near=False)
    page.wait(lambda p: p.step == 0)
    shown.update({name: np.full_like(one, 121) for name, one in params.items()}, loss=0.01)
    shown.look()
    page.do("newest")
    page.wait(lambda p: p.step == 121 and (p.values == 121).all())


def test_other_arrays_are_refused_where_nothing_takes_them(cell, scene):
    with pytest.raises(InputError, match="read in place"):
        cell(scene).update({"w": np.zeros(3)})
