"""Recordings, and windows that show them.

The only file of this folder that imports internals: a window wants a screen, and `Unseen` stands in for one.
"""

import threading
import time

import pytest

import scalarviz as sv
from kit.runs import make_run
from kit.unseen import Unseen
from scalarviz.run.sources.played import RecordedSource
from scalarviz.run.sources.recording import recorded
from scalarviz.view.screen.time_bar import ROW
from scalarviz.view.show import bench_of
from scalarviz.view.watch.actions import ACTIONS
from scalarviz.view.watch.viewer import Viewer

ALL = {"gradients": True, "updates": True, "activations": True}


class Window:
    """A window of a recording or of two, whose time passes when it is told to."""

    actions = ACTIONS

    def __init__(self, *read, size=(1280, 720), **options):
        (self.source,) = [one if hasattr(one, "pair") else RecordedSource(one) for one in read]
        self.host = Unseen(lambda size: Viewer(bench_of(self.source, size), **options), size)
        self.view, self.pass_time, self.close = self.host.view, self.host.pass_time, self.host.close_soon
        self.size = size
        self.pass_time()

    @property
    def bench(self):
        return self.view.bench

    @property
    def shown(self):
        return self.view.shown

    def picture(self):
        return self.host.picture()

    def press(self, *keys, shift=False):
        """The step that is shown then."""
        for key in keys:
            self.view.key(key, shift=shift)
            self.pass_time()
        return self.shown.step

    def go(self, step):
        self.view.travels.go(step)
        self.pass_time()
        return self.shown.step

    def click(self, point, release=None):
        """Press the button at a point of the picture and let it go there, or elsewhere."""
        self.view.press(self.pixel(point))
        self.pass_time()
        if release is not None:
            self.point(release)
        self.view.release(self.pixel(release or point))
        self.pass_time()
        return self.shown.step

    def point(self, point):
        self.view.move(self.pixel(point))
        self.pass_time()

    def pixel(self, point):
        return tuple(float(part) * self.bench.scale for part in point)

    def time_bar(self, step, row=0):
        """Where a step lies on the time bar."""
        plan = self.bench.bar._plan
        return plan.scale.x_of(step), plan.rail - ROW * row

    def cube(self, row=1, column=1):
        """Where a cube of the first plate lies, and the index of its weight."""
        plate = self.bench.layout.plates[0]
        (point,) = self.bench.project(plate.tops[plate.grid.element(row, column)][None])
        return point, plate.start + row * plate.shape[1] + column

    def select(self, index):
        self.bench.select(index)
        self.pass_time()

    def words(self):
        sketches = [*self.bench.sketches, *(sketch for layer in self.bench.overlays for sketch in layer)]
        return [text.text for sketch in sketches for text in sketch.texts]

    def says(self, words):
        """In the line that tells of what was just done."""
        return words in self.view.notice()

    def until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, (self.shown.step, self.view.pace_text(), self.view.notice())
            self.pass_time()
            time.sleep(0.005)


@pytest.fixture
def window():
    """Open windows; they are closed at the end."""
    made = []

    def opened(*read, **options):
        made.append(Window(*read, **options))
        return made[-1]

    yield opened
    for one in made:
        one.close()


@pytest.fixture
def record(tmp_path):
    """``record(network, steps, every, then, kept)``: a run, and its recording; `then` goes on with it."""
    files = []

    def made(network="mlp", *, optimizer="sgd", steps=20, every=1, then=lambda run: None, kept=None, name="", sample=0,
             **more):  # fmt: skip
        options = {"dtype": "float32", "batch_size": None} | more
        run, path = make_run(network, "mse", optimizer, **options), tmp_path / f"{name or len(files)}.svz"
        scene = sv.Scene("t", run, **({"probe": run.samples()[0][sample].ravel()} if sample else {}))
        with sv.Recording(scene, every=every, path=path, **(ALL if kept is None else kept)):
            run.step(steps)
            then(run)
        files.append(sv.load_recording(path))
        return run, files[-1]

    yield made
    for file in files:
        file.close()


@pytest.fixture
def at_once(monkeypatch):
    """Files that grow are looked at without a pause worth the name; no thread of that stays."""
    monkeypatch.setattr(recorded, "PAUSE", 0.01)
    monkeypatch.setattr(recorded, "SHARE", 0)
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "scalarviz-following"]


@pytest.fixture
def source(record):
    """The source that a window asks, of a recording that is made by the same words."""
    return lambda *network, **options: RecordedSource(record(*network, **options)[1])
