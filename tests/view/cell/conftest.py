"""A page that nobody sees: the other end of a live cell, in Python."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest

from kit.commands import make_scene
from scalarviz.view.cell.shown import Shown


class Page:
    """Takes what a cell sends, answers each frame, and knows what the newest parts are.

    Every message is made JSON and back, without NaN, as the kernel's socket wants it.
    """

    def __init__(self, shown, name="page", **look):
        self.shown, self.name = shown, name
        self.frames, self.known, self.other = [], {}, []
        self._come = threading.Condition()
        shown.post = self._take
        self.say(kind="ready", **look)

    def _take(self, content, buffers):
        said = json.loads(json.dumps(content, allow_nan=False))
        with self._come:
            if said["kind"] == "frame":
                kinds = [np.float32 if name == "numbers" else np.uint8 for name in said["buffers"]]
                arrays = [np.frombuffer(sent, kind) for sent, kind in zip(buffers, kinds, strict=True)]
                self.known |= said | dict(zip(said["buffers"], arrays, strict=True))
                self.frames.append((said, self.values))
            else:
                self.other.append(said)
            self._come.notify_all()
        if said["kind"] == "frame":
            self.say(kind="drawn", number=said["number"])

    def say(self, **content):
        self.shown.hear({"place": self.name, **json.loads(json.dumps(content))})

    def do(self, name, value=None):
        self.shown.act(name, value)

    def key(self, name, *held):
        self.say(kind="event", type="key_down", key=name, modifiers=list(held))

    @property
    def spots(self):
        """The names of the places of the picture that do something."""
        return {spot[0] for spot in self.known["spots"]}

    def says(self, text):
        """Whether that is written in the picture."""
        lists = (part for name, part in self.known.items() if name.startswith("list "))
        return text in "  ".join(record[3] for part in lists for record in part if record[0] == "text")

    def wait(self, condition, seconds=60.0):
        """Until ``condition(page)`` holds."""
        with self._come:
            assert self._come.wait_for(lambda: condition(self), seconds), (self.known, self.other)

    def stepped(self, count, step=None):
        """So many steps, and the frame of the last one."""
        self.do("step", count)
        self.wait(lambda page: page.step == (count if step is None else step))
        return self

    def ask(self, function):
        """What ``function(play)`` returns in the cell's thread."""
        return self.shown.call(function)

    def settle(self):
        """All that was asked for is done."""
        self.ask(lambda play: play.viewer.worker.settle())

    @property
    def step(self):
        return self.known.get("step", -1)

    @property
    def values(self):
        return self.known["numbers"]


@pytest.fixture
def scene():
    return make_scene("rgb")


@pytest.fixture
def watch():
    """``watch(shown, "name")``: a page that looks at a cell."""
    return Page


@pytest.fixture
def cell():
    """Makes cells, and closes them in the end; no thread of theirs is left."""
    opened, before = [], set(threading.enumerate())

    def make(x, hide=(), controls=True, size=(960, 640), **more):
        opened.append(Shown(x, size, hide, controls, **more))
        return opened[-1]

    yield make
    for shown in opened:
        shown.close(60.0)  # a machine may be slow
    deadline = time.monotonic() + 5
    while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left, left
