"""A loop in a thread of its own: nobody looks in the middle of its steps, and no step is counted twice."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.run.watched import watched as module
from scalarviz.view.cell.shown import Shown


class Loop:
    """A thread that stands in the middle of a step, half of its numbers changed, until it is let go on."""

    def __init__(self, w, update):
        self.w, self.update = w, update
        self.halfway, self.on, self.done, self.end = (threading.Event() for _ in range(4))
        self.thread = threading.Thread(target=self.steps, daemon=True)

    def steps(self):
        for step in (1, 2):
            self.w[0] += 1
            if step == 2:
                self.halfway.set()
                self.on.wait(30)
            self.w[1] += 1
            self.update(loss=1 / step)
        self.done.set()
        self.end.wait(30)

    def __enter__(self):
        self.thread.start()
        assert self.halfway.wait(30)
        return self

    def finish(self):
        self.on.set()
        assert self.done.wait(30)

    def __exit__(self, *_):
        self.on.set()
        self.end.set()
        self.thread.join(30)


@pytest.mark.parametrize("looks", ["a cell that was run", "a recording that begins", "a recording that ends"])
def test_nobody_looks_in_the_middle_of_a_step(looks, tmp_path):
    w = np.zeros(2)
    shown = Shown({"w": w}, (320, 240), (), True, "", "")
    watched = shown.watched
    assert watched is not None
    recording = sv.Recording(watched, path=tmp_path / "a.svz") if looks == "a recording that ends" else None
    with Loop(w, shown.update) as loop:
        if looks == "a cell that was run":
            shown.look()
        elif recording is None:
            recording = sv.Recording(watched, path=tmp_path / "b.svz")
        else:
            recording.close()
        assert watched.last.values[0] == watched.last.values[1]  # it was [2, 1]
        assert watched.last.step < 2
        loop.finish()
    watched.look()
    assert (watched.last.step, watched.last.values.tolist()) == (2, [2, 2])  # it was step 3
    if recording is not None:
        recording.close()
        with sv.load_recording(recording.path) as recorded:
            assert (recorded.values["w"][:, 0] == recorded.values["w"][:, 1]).all()


def test_a_thread_that_lives_on_idle_is_looked_at(monkeypatch):
    """Pools keep their threads: the last step is seen all the same."""
    monkeypatch.setattr(module, "IDLE", 0.0)
    monkeypatch.setattr(module, "LONGER", 0.0)
    w = np.zeros(2)
    shown = Shown({"w": w}, (320, 240), (), True, "", "")
    with Loop(w, shown.update) as loop:
        loop.finish()
        shown.look()
        assert (shown.watched.last.step, shown.watched.last.values.tolist()) == (2, [2, 2])
