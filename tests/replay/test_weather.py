"""Recordings in bad weather: a file that goes, is cut, or grows while it is shown; large ones, odd names."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run.recorded_pair import RecordedPair
from scalarviz.run.recorded_source import RecordedSource
from scalarviz.view.benches import bench_of
from scalarviz.view.watch.replay import Replay
from scalarviz.view.window.unseen import Unseen

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((8, 3))


def run(hidden=40):
    net = nn.Sequential(nn.Linear(3, hidden, seed=1), nn.Tanh(), nn.Linear(hidden, 3, seed=2))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.2), (X, 1 - X), engine="numpy")


def record(path, steps=200, **kept):
    with sv.Recording(run(), path=path, gradients=True, updates=True, activations=True, **kept) as recording:
        recording.subject.step(steps)
    return path


def hosted(*recordings, size=(640, 360), **options):
    sources = [RecordedSource(recording) for recording in recordings]
    source = sources[0] if len(sources) == 1 else RecordedPair(*sources)
    host = Unseen(lambda size: Replay(bench_of(source, size, hands=True), **options), size)
    host.pass_time()
    return host


def press(host, *keys):
    for key in keys:
        host.view.key(key)
        host.pass_time()
    host.picture()
    return host.view.shown.step


def test_a_file_that_is_removed_is_shown_to_its_end(tmp_path):
    path = record(tmp_path / "run.svz")
    with sv.load_recording(path) as recording:
        host = hosted(recording)
        path.unlink()
        assert press(host, "End") == 200
        assert press(host, "Left") == 199
        assert not host.view.message()
        host.close_soon()


@pytest.mark.parametrize("count", [1, 2])
def test_a_file_that_is_cut_while_it_is_shown_keeps_the_last_picture_and_says_why(tmp_path, count):
    path = record(tmp_path / "run.svz", steps=400)
    recordings = [sv.load_recording(path) for _ in range(count)]
    host = hosted(*recordings)
    first = host.view.shown.values.copy()
    with path.open("r+b") as file:
        file.truncate(8192)
    press(host, "Space")
    for _ in range(120):
        host.pass_time(1 / 20)
    press(host, "End", "Left")
    if host.view.message():
        assert "cannot be read" in host.view.message()
        assert not host.view.playback.running
        assert host.view.shown.values.shape == first.shape
    host.view.bench.select(3)
    for _ in range(3):
        host.pass_time()
    host.picture()
    host.close_soon()
    for recording in recordings:
        recording.close()


def test_two_windows_of_one_file_go_their_own_ways(tmp_path):
    path = record(tmp_path / "run.svz", steps=30)
    with sv.load_recording(path) as first, sv.load_recording(path) as second:
        one, other = hosted(first), hosted(second, first)
        assert press(one, "End") == 30
        assert press(other, "Right") == 1
        assert one.view.shown.step == 30
        one.close_soon()
        assert press(other, "End") == 30
        other.close_soon()


def test_names_and_words_of_the_file_are_only_words(tmp_path):
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.größe = nn.Linear(3, 3, seed=1)

        def forward(self, x):
            return self.größe(x)

    net = Odd()
    made = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy")
    scene = sv.Scene(
        "</script>\n{name} %s \u202e", made, input_names=("r\n", "", "<b>"), output_names=("a" * 300, "b", "c")
    )
    path = tmp_path / "{x} %d '\" .svz"
    with sv.Recording(scene, path=path, activations=True):
        made.step(3)
    with sv.load_recording(path) as recording:
        host = hosted(recording, size=(1280, 720))
        host.view.bench.select(0)
        assert press(host, "End") == 3
        assert host.view.bench.touch.inspector.who.name == "größe.weight[0][0]"
        both = hosted(recording, recording)
        assert press(both, "End") == 3
        host.close_soon()
        both.close_soon()


def test_a_million_weights_are_shown_and_compared(tmp_path):
    net = nn.Sequential(nn.Linear(1000, 1000, seed=1))
    data = np.random.default_rng(0).random((2, 1000))
    made = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (data, data), engine="numpy")
    with sv.Recording(made, path=tmp_path / "run.svz"):
        made.step(3)
    with sv.load_recording(tmp_path / "run.svz") as recording:
        host = hosted(recording, wait=0, duration=0.2)
        for _ in range(30):
            host.pass_time(1 / 30)
        assert host.view.shown.step == 3
        np.testing.assert_array_equal(host.view.shown.values, made.values)
        host.view.bench.select(999_999)
        assert press(host, "Left") == 2
        both = hosted(recording, recording)
        assert press(both, "End") == 3
        assert not both.view.shown.values.any()
