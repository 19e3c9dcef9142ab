"""``sv.lesson``: each scene trains, is a function of its seed, and hides what a teacher hides."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import ScalarvizError
from scalarviz.lessons import opening
from scalarviz.lessons.lesson_08 import TROUBLES
from scalarviz.lessons.opening import numbers, scene_of

SMALL = [number for number in numbers() if number not in ("08", "11")]


def test_every_lesson_has_a_scene():
    assert numbers() == tuple(f"{n:02d}" for n in range(1, 12))


@pytest.mark.parametrize("number", SMALL)
def test_a_scene_is_a_function_of_its_seed_and_trains(number):
    one, same, other = scene_of(number, 7), scene_of(number, 7), scene_of(number, 8)
    assert (one.run.values == same.run.values).all()
    assert one.run.values.shape != other.run.values.shape or (one.run.values != other.run.values).any()
    one.run.step(20)
    assert one.run.history.loss[-1] < one.run.history.loss[0] or number == "03"  # a sample a step
    for scene in (one, same, other):
        scene.run.close()


def test_lesson_01_does_the_steps_of_its_text():
    scene = scene_of("01")
    weights = [scene.run.values[0]]
    for _ in range(7):
        scene.run.step(1)
        weights.append(scene.run.values[0])
    assert weights == pytest.approx([2 - 5 * 0.6**k for k in range(8)])
    scene.run.close()


def test_lesson_06_begins_with_the_numbers_of_its_text():
    scene = scene_of("06")
    assert scene.run.values.tolist() == [0.5, -1.0, 1.5, 0.5, 0.1, -0.2, 2.0, -0.5, 0.3]
    assert scene.run.predict([scene.probe])[0, 0] == pytest.approx(0.0427, abs=1e-3)
    scene.run.close()


def test_lesson_11_is_the_gpt():
    scene = scene_of(11, 3)
    assert scene.run.n_weights == 4192
    scene.run.close()


@pytest.mark.parametrize("seed", range(12))
def test_the_riddles_of_lesson_08(seed):
    """All but the sound one are stuck, or run away, for the reason that their names say."""
    name, scene = TROUBLES[seed % len(TROUBLES)].__name__, scene_of("08", seed)
    run = scene.run
    if name == "too_fast":
        with pytest.raises(sv.ScalarvizError, match="diverged"):
            run.step(4000)
    else:
        run.step(4000)
        assert (run.loss < 1e-3) is (name == "sound")
        weights = run.model[0].weight.data
        assert bool((weights == weights[0]).all()) is (name == "symmetric")
        if name in ("dead", "saturated"):
            assert np.abs(run.frame().gradient[:8]).max() < 1e-6
    run.close()


def test_the_gradient_of_lesson_10_is_that_of_its_formula():
    scene = scene_of("10")
    assert sv.check.backward("lesson_bump")
    scene.run.close()


def test_a_lesson_is_its_scene_live_without_what_is_hidden(monkeypatch):
    """What `hide` does in a cell is tested where cells are."""
    asked = []
    monkeypatch.setattr(opening, "live", lambda scene, **named: asked.append((scene, named)))
    sv.lesson("06", hide=("lr", "pace"), seed=7)
    sv.lesson(6, size=(400, 300))
    (one, hidden), (other, sized) = asked
    assert (hidden, sized) == ({"hide": ("lr", "pace")}, {"hide": (), "size": (400, 300)})
    assert (one.run.values == scene_of("06", 7).run.values).all()
    assert (other.run.values == scene_of("06").run.values).all()


def test_the_live_scene_itself():
    shown = sv.lesson("06", hide=("lr", "pace"), seed=7)
    assert type(shown).__name__ == "Live"
    shown.close()


@pytest.mark.parametrize("number", ["12", "00", "six", "", 0, -1, 10**30])
def test_there_is_no_such_lesson(number):
    with pytest.raises(ScalarvizError, match="there are 01, 02"):
        sv.lesson(number)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sv.lesson(None),
        lambda: sv.lesson(True),
        lambda: sv.lesson(6.0),
        lambda: sv.lesson("06", seed=-1),
        lambda: sv.lesson("06", seed="7"),
        lambda: sv.lesson("06", seed=2**70),
        lambda: sv.lesson("06", hide=("no such control",)),
        lambda: sv.lesson("06", hide=3),
        lambda: sv.lesson("06", size=(1, 1)),
        sv.lesson,
    ],
)
def test_bad_arguments_are_refused_in_words(call):
    with pytest.raises(ScalarvizError) as caught:
        call()
    assert len(str(caught.value)) > 15
    assert opening.numbers()
