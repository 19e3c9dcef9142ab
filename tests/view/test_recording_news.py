"""What happens to a recording is said in the window of its run, once, and on the terminal; training goes on."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.scene.scene import Scene
from scalarviz.run.sources.recording import writer
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((64, 3))


@pytest.fixture
def host() -> Iterator[Unseen]:
    """A window that nobody sees, of a run that stands."""
    net = nn.Sequential(nn.Linear(3, 40, seed=1), nn.Tanh(), nn.Linear(40, 3, seed=2))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy")
    made = Unseen(lambda size: LiveView(Scene("news", run), size, playing=False), (640, 360))
    yield made
    made.view.close()


def passed(host: Unseen, steps: int) -> list[str]:
    """What is said in the picture while so many steps are done."""
    view, said = host.view, []
    assert isinstance(view, LiveView)
    view.worker.train_to(view.worker.latest.step + steps)
    view.worker.settle()
    for _ in range(5):
        host.pass_time()
        said.append(view.notice())
    return [line for line in dict.fromkeys(said) if line]


def recording_of(host: Unseen, path: Path, **options: int) -> tuple[sv.Recording, list[str]]:
    """A recording of its run, and what is said of it on the terminal."""
    assert isinstance(host.view, LiveView)
    recording, told = sv.Recording(host.view.run, path=path, **options), list[str]()
    recording.tell = told.append
    return recording, told


def test_a_full_disk_is_said_in_the_picture_and_on_the_terminal_and_training_goes_on(
    host: Unseen, tmp_path: Path
) -> None:
    recording, told = recording_of(host, tmp_path / "run.svz")
    assert passed(host, 5) == []
    recording.flush()
    recording._database.execute("PRAGMA max_page_count = 10")
    passed(host, 500)
    recording.flush()
    host.pass_time()  # the run stands by now
    assert host.view.bench.touch.notice == recording.trouble
    assert "database or disk is full" in recording.trouble
    assert told == [recording.trouble]
    host.view.say("")
    assert passed(host, 5) == []  # once
    assert host.view.worker.latest.step == 510
    recording.close()
    assert told == [recording.trouble]


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")
def test_a_folder_that_is_removed_is_said(host: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LOST_AFTER", 0.0)
    recording, told = recording_of(host, tmp_path / "folder" / "run.svz")
    recording.flush()
    shutil.rmtree(tmp_path / "folder")
    passed(host, 5)
    recording.flush()
    host.pass_time()
    assert "somebody removed it" in host.view.bench.touch.notice
    assert told == [host.view.bench.touch.notice]
    recording.close()


def test_frames_that_are_let_go_of_are_said(host: Unseen, tmp_path: Path) -> None:
    recording, told = recording_of(host, tmp_path / "run.svz", budget=100_000)
    for _ in range(6):
        passed(host, 200)
        recording.flush()
    host.pass_time()
    assert recording.thinned
    assert told == ["run.svz has reached its 0.1 MB: every second frame is let go of, as often as is needed"]
    recording.close()
