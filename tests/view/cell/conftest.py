"""A page that nobody sees: the other end of a live cell, in Python."""

from __future__ import annotations

import importlib
import json
import threading
import time

import numpy as np
import pytest

SECONDS = 20.0


class Page:
    """Takes what a cell sends, answers each frame, and knows what the newest parts are.

    Every message is made JSON and back, without NaN, as the kernel's socket wants it.
    """

    def __init__(self, shown, name="page", answers=True, ready=True):
        self.shown, self.name, self.answers = shown, name, answers
        self.frames, self.known, self.other = [], {}, []
        self._come = threading.Condition()
        self._former = shown.post
        shown.post = self._take
        if ready:
            self.ready()

    def _take(self, content, buffers):
        self._former(content, buffers)
        said = json.loads(json.dumps(content, allow_nan=False))
        with self._come:
            if said["kind"] == "frame":
                kinds = [np.uint8 if name == "flags" else np.float32 for name in said["buffers"]]
                arrays = [np.frombuffer(sent, kind) for sent, kind in zip(buffers, kinds, strict=True)]
                self.frames.append((said, arrays))
                self.known |= said
            else:
                self.other.append(said)
            self._come.notify_all()
        if self.answers and said["kind"] == "frame":
            self.answer(said["number"])

    def answer(self, number):
        self.say(kind="drawn", number=number)

    def say(self, **content):
        self.shown.hear({"place": self.name, **json.loads(json.dumps(content))})

    def ready(self, **more):
        self.say(kind="ready", **more)

    def do(self, name, value=None):
        self.say(kind="do", name=name, value=value)

    def wait(self, condition, seconds=SECONDS):
        """Until ``condition(page)`` holds."""
        with self._come:
            assert self._come.wait_for(lambda: condition(self), seconds), (self.known, self.other)

    @property
    def step(self):
        return self.known.get("step", -1)

    @property
    def values(self):
        return self.frames[-1][1][0]


def of_scene(name="rgb", **options):
    module = importlib.import_module(f"scalarviz.scenes.{name}")
    return module.build(module.Options(**options))


@pytest.fixture
def made():
    """``made("xor", seed=3)``: a packaged scene."""
    return of_scene


@pytest.fixture
def scene():
    return of_scene()


@pytest.fixture
def watch():
    """``watch(shown, "name")``: a page that looks at a cell."""
    return Page


@pytest.fixture
def cell():
    """Makes cells, and closes them in the end; no thread of theirs is left."""
    from scalarviz.view.cell.shown import Shown

    opened, before = [], set(threading.enumerate())

    def make(x, hide=(), controls=True, size=(240, 200)):
        opened.append(Shown(x, size, hide, controls))
        return opened[-1]

    yield make
    for shown in opened:
        shown.session.close(60.0)  # a machine may be slow
    deadline = time.monotonic() + 5
    while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left, left
