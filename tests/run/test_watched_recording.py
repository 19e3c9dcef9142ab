"""What another library trains is recorded as a Run is: each frame says what was there, and the player plays it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError


def loop(watched, w, steps, begin=1):
    """A loop as JAX has them: each step makes new arrays; returns those of each step."""
    seen = {}
    for step in range(begin, begin + steps):
        grads = {
            name: np.cos(step + np.arange(one.size, dtype=np.float32)).reshape(one.shape) for name, one in w.items()
        }
        w = {name: one - np.float32(0.1) * grads[name] for name, one in w.items()}
        watched.update(w, grads, loss=1 / step, lr=0.1, step=step)
        seen[step] = w, grads
    return seen


def begun():
    return {"fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "fc.bias": np.zeros(2, np.float32)}


def flat(tree):
    return np.concatenate([one.ravel() for one in tree.values()])


@pytest.mark.parametrize("every", [1, 3])
def test_each_frame_is_what_the_loop_had(tmp_path, every):
    w = begun()
    watched = sv.watch(w)
    path = tmp_path / "jax.svz"
    with sv.Recording(watched, every=every, gradients=True, updates=True, path=path):
        seen = loop(watched, w, 10)
    seen[0] = w, None
    with sv.load_recording(path) as recorded:
        steps = recorded.steps.tolist()
        assert steps == sorted({0, 10, *range(0, 11, every)})
        assert (recorded.about.name, recorded.has) == ("dict", {"gradients", "updates"})
        assert [tensor.name for tensor in recorded.shapes(0).tensors] == ["fc.weight", "fc.bias"]
        for place, step in enumerate(steps[1:], 1):
            frame, (now, grads) = recorded.frame(place), seen[step]
            assert frame.values.tobytes() == flat(now).tobytes()
            assert frame.gradient.tobytes() == flat(grads).tobytes()
            assert frame.update.tobytes() == (flat(now) - flat(seen[step - 1][0])).tobytes()
            assert (frame.loss, frame.lr, frame.computed.all()) == (1 / step, 0.1, True)
        assert not recorded.frame(0).computed.any()
        assert recorded.curve.step.tolist() == list(range(1, 11))
        assert recorded.curve.loss.tolist() == [1 / step for step in range(1, 11)]


def test_a_recording_that_begins_later_knows_the_losses_before(tmp_path):
    w = begun()
    watched = sv.watch(w)
    seen = loop(watched, w, 5)
    with sv.Recording(watched, path=tmp_path / "later.svz") as recording:
        loop(watched, seen[5][0], 2, begin=6)
    with sv.load_recording(recording.path) as recorded:
        assert recorded.steps.tolist() == [5, 6, 7]
        assert recorded.curve.step.tolist() == list(range(1, 8))


def test_a_loop_that_begins_again_is_a_branch_of_its_own(tmp_path):
    w = begun()
    watched = sv.watch(w)
    with sv.Recording(watched, path=tmp_path / "again.svz") as recording:
        loop(watched, w, 4)
        second = loop(watched, w, 2)
    with sv.load_recording(recording.path) as recorded:
        assert recorded.steps.tolist() == [1, 2]
        assert recorded.frame(1).values.tobytes() == flat(second[2][0]).tobytes()
        assert [branch.number for branch in recorded.frame(0).past.branches] == [0, 1]
        with recorded.on(0) as first:
            assert first.steps.tolist() == [0, 1, 2, 3, 4]


def test_what_is_written_stays_if_the_program_is_killed(tmp_path):
    code = (
        "import os, signal, numpy as np, scalarviz as sv\n"
        "w = np.zeros(3)\n"
        "watched = sv.watch({'w': w})\n"
        f"recording = sv.Recording(watched, path={str(tmp_path / 'killed.svz')!r})\n"
        "for step in range(1, 6):\n"
        "    w += 1\n"
        "    watched.update(loss=step)\n"
        "recording.flush()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    with sv.load_recording(tmp_path / "killed.svz") as recorded:
        assert recorded.steps.tolist() == [0, 1, 2, 3, 4, 5]
        assert recorded.values["w"][:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_it_becomes_a_page_that_plays(tmp_path):
    w = begun()
    watched = sv.watch(w)
    with sv.Recording(watched, gradients=True) as recording:
        loop(watched, w, 5)
        page = recording.save_html(tmp_path / "loop.html")
        assert page.stat().st_size > 50_000
        link = recording.save_link()
        assert link.startswith("player.html#")


@pytest.mark.parametrize("part", ["activations", "deltas", "micro"])
def test_what_nobody_sees_of_another_library_is_not_promised(part):
    with pytest.raises(InputError, match=f"got {part} of what another library trains; allowed: gradients, updates"):
        sv.Recording(sv.watch(begun()), **{part: True})


@pytest.mark.parametrize("every", [1, 2, 5])
def test_calls_that_say_nothing_are_recorded_as_steps(tmp_path, every):
    w = np.zeros(3)
    watched = sv.watch({"w": w})
    with sv.Recording(watched, every=every, updates=True, path=tmp_path / "silent.svz") as recording:
        for step in range(1, 13):
            w += step
            watched.update()
    with sv.load_recording(recording.path) as recorded:
        assert recorded.steps.tolist() == sorted({0, 12, *range(0, 13, every)})
        assert recorded.values["w"][:, 0].tolist() == [step * (step + 1) / 2 for step in recorded.steps.tolist()]
        looked = [place for place, step in enumerate(recorded.steps.tolist()) if step and step % every == 0]
        assert recorded.updates["w"][looked, 0].tolist() == recorded.steps[looked].tolist()
