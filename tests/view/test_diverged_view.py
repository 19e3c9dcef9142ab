"""A run that diverges in a window: what it says is done by keys, and the key that it names leads out of it."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

from scalarviz.run.edits import SetWeights
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl


@pytest.fixture
def window():
    """A scene with the engine that needs no compiling, watched by nobody."""
    opened = []

    def make(name, **flags):
        file = importlib.import_module(f"scalarviz.scenes.{name}")
        scene = file.build(file.Options(engine="numpy", **flags))
        opened.append(Unseen(lambda size: LiveView(scene, size, playing=False), (960, 540)))
        return opened[-1]

    with offscreen(), warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would stand in the terminal, between the lines that are meant
        yield make
        for host in opened:
            host.view.close()
            host.view.run.close()


def settle(host):
    for _ in range(30):
        host.view.worker.settle()
        host.view.tick(0.05)
    host.picture()


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("neuron", {"lr": 3e38}),
        ("neuron", {"lr": 1.1}),
        ("neuron", {"lr": 50.0, "weights": 2}),
        ("uinn", {"lr": 1e30}),
        ("expression", {"lr": 1e30, "expr": "a*x*x*x + exp(b*x)"}),
    ],
)
def test_the_key_that_is_named_leads_to_the_last_good_step_and_training_goes_on(window, name, flags):
    host = window(name, **flags)
    view, run = host.view, host.view.run
    settle(host)
    view.send("step", 400)
    settle(host)
    said = view.message()
    good = run_good(said)
    assert said.startswith(f"training diverged at step {run.steps}: ")
    assert f"; click here or press Left to go back to step {good:,}, the last good one, and try a tenth" in said
    assert "run." not in said
    view.key("Left")
    settle(host)
    assert (view.shown.step, view.message()) == (good, "")
    assert np.isfinite(view.shown.values).all()
    before = run.lr
    view.key("Down")
    settle(host)
    assert run.lr == before / 2
    view.worker.edit(lambda run: setattr(run, "lr", 1e-3), "lr")
    view.send("step", 20)
    settle(host)
    assert (view.shown.step, view.message()) == (good + 20, "")
    assert run.loss <= run.history.loss[0]


def run_good(said):
    """The step that a message names as the last good one."""
    return int(said.partition("go back to step ")[2].partition(",")[0])


def test_a_weight_that_is_lost_is_undone_by_the_key_that_is_named(window):
    host = window("uinn")
    view = host.view
    view.send("step", 3)
    settle(host)
    view.change(SetWeights(0, np.array([np.nan])))
    view.send("step")
    settle(host)
    assert "run." not in view.message()
    assert "press Ctrl+Z" in view.message() or "set it to a number" in view.message()
    view.send("undo")
    settle(host)
    view.send("step", 5)
    settle(host)
    assert (view.message(), view.shown.step) == ("", 8)
