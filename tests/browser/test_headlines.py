"""What a page's head says of a test: the loss or the share read rightly at the numbers of each frame."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import panels
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.text import loss_text
from scalarviz.view.page.ofscene import headlines_of, no_headlines

from .players import opened, said

DRAW = np.random.default_rng(3)
INPUTS, CLASSES = DRAW.uniform(-1, 1, (40, 2)), DRAW.integers(0, 3, 40)


def made(accuracy, headline=True):
    """A scene with a test; without a name of its own, so that it has no panels but the curve."""
    net = nn.Sequential(nn.Linear(2, 3))
    loss, targets = (nn.CrossEntropyLoss(), CLASSES) if accuracy else (nn.MSELoss(), np.eye(3)[CLASSES])
    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.5), data=(INPUTS[:30], targets[:30]), engine="numpy")
    test = panels.TestCurve("ten others", INPUTS[30:], targets[30:], accuracy=accuracy, headline=headline)
    return Scene(name="tested", run=run, panels=(panels.LossCurve("thirty", test=test),), probe=INPUTS[0])


@pytest.mark.parametrize("accuracy", [True, False])
def test_the_head_has_the_test_of_the_frame_shown(page, tmp_path, accuracy):
    scene = made(accuracy)
    with sv.Recording(scene, every=2) as recording:
        scene.run.step(20)
    opened(page, recording.save_html(tmp_path / "run.html"), "#frame=0")  # which does not play
    with sv.load_recording(recording.path) as recorded:
        for k in (0, 3, len(recorded) - 1):
            values = recorded.frame(k).values
            sums = INPUTS[30:] @ values[:6].reshape(3, 2).T + values[6:]
            right = 100 * np.mean(sums.argmax(1) == CLASSES[30:])
            lost = np.mean((sums - np.eye(3)[CLASSES[30:]]) ** 2)
            wanted = f"test accuracy {right:.1f} %" if accuracy else f"test {loss_text(lost)}"
            page.evaluate("k => scalarviz.go(k)", k)
            page.wait_for_function("k => document.getElementById('step').innerText === k", arg=str(recorded.steps[k]))
            assert wanted in said(page, "rate")


def test_where_there_is_none_nothing_is_said():
    """No test, one that is for the panel alone, no scene, a network that the run had before."""
    assert headlines_of(made(True, headline=False)) is no_headlines
    scene = made(True)
    assert headlines_of(scene.run) is no_headlines
    other = nn.Sequential(nn.Linear(2, 2))
    run = sv.Run(other, nn.MSELoss(), optim.SGD(other.parameters(), lr=0.1), data=(INPUTS, INPUTS), engine="numpy")
    assert headlines_of(scene)(run.frame()) == ()
    assert headlines_of(scene)(scene.run.frame())[0].startswith("test accuracy ")
