"""Pictures of panels in a recording: shown is the last that is not after the step, and it says of which step it is."""

from __future__ import annotations

import io

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run.panels import Image, LossCurve, RecordedPictures
from scalarviz.run.recorded_source import RecordedSource
from scalarviz.run.recording import Picture
from scalarviz.view.benches import bench_of
from scalarviz.view.draw.places import COLUMN
from scalarviz.view.panels.recorded import AIR
from scalarviz.view.watch.replay import Replay
from scalarviz.view.window.unseen import Unseen

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((8, 3))


def shade(moment):
    """A picture whose grey is the step."""
    return np.full((4, 4, 3), 10 + 5 * moment.step, np.uint8)


@pytest.fixture
def recording(tmp_path):
    net = nn.Sequential(nn.Linear(3, 3, seed=1))
    made = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy")
    scene = sv.Scene("t", made, panels=(Image("shade", shade), LossCurve()))
    with sv.Recording(scene, path=tmp_path / "run.svz", panels=True):
        made.step(40)
    with sv.load_recording(tmp_path / "run.svz") as read:
        yield read


def texts(host):
    return [text.text for sketch in host.view.bench.sketches for text in sketch.texts]


def test_the_picture_of_each_step_is_the_last_one_before_it(recording):
    source = RecordedSource(recording)
    host = Unseen(lambda size: Replay(bench_of(source, size, hands=True)))
    steps = sorted(picture.step for picture in recording.pictures)
    assert len(steps) == 24
    for step in (0, 7, 8, 40):
        source.to(step)
        host.pass_time()
        shown = max(s for s in steps if s <= step)
        assert any(f"as recorded at step {shown}" in text for text in texts(host))
        x, y, _, high = host.view.bench.side.drawers["recorded picture"].box
        middle = host.picture()[round(y + high / 2), round(x + 40)]
        assert np.abs(middle.astype(int) - (10 + 5 * shown)).max() <= 2
    host.close_soon()


def test_what_is_no_picture_is_said_and_stops_nothing(recording, monkeypatch):
    from PIL import Image as Pillow

    large = io.BytesIO()
    Pillow.new("L", (5000, 5000)).save(large, "PNG")
    hostile = (Picture("one", 0, 80, 20, b"\x89PNG\r\n\x1a\nno"), Picture("two", 0, 80, 20, b"RIFFno"),
               Picture("three", 0, 80, 20, large.getvalue()))  # fmt: skip
    monkeypatch.setattr(type(recording), "pictures", hostile)
    host = Unseen(lambda size: Replay(bench_of(RecordedSource(recording), size, hands=True)))
    host.pass_time()
    host.picture()
    said = [text for text in texts(host) if "cannot be read" in text]
    assert len(said) == 3
    host.close_soon()


def test_pictures_of_one_size_are_drawn_pixel_for_pixel():
    picture = Picture("t", 3, COLUMN + 2 * AIR, 100, b"")
    panel = RecordedPictures("t", (picture, Picture("t", 9, COLUMN + 2 * AIR, 100, b"")))
    assert [panel.at_step(step) for step in (2, 3, 8, 9, 99)] == [None, 0, 0, 1, 1]
