"""``sv.lesson``: each scene trains, is a function of its seed, and hides what a teacher hides."""

import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from kit.windows import live_hand
from scalarviz.errors import ScalarvizError
from scalarviz.lessons import shelf

NUMBERS = ["01", "01b", *(f"{n:02d}" for n in range(2, 15))]


def run_of(number, *seed):
    return closing(shelf.scene_of(number, *seed).run)


def test_lesson_01_does_the_steps_of_its_text():
    with run_of("01") as run:
        weights = [run.values[0], *(run.step(1) or run.values[0] for _ in range(7))]
    assert weights == pytest.approx([2 - 5 * 0.6**k for k in range(8)])


@pytest.mark.parametrize("number", ["01", "01b", "04", "05"])
def test_the_first_steps_of_a_few_weights_can_be_seen_one_by_one(number):
    with live_hand(shelf.scene_of(number)) as hand:
        hand.do("toggle_run")
        hand.view.tick(0.25)
        for _ in range(11):  # 3 s in all
            hand.view.tick(0.25)
            hand.view.worker.settle()
        assert 1 <= hand.run.steps <= 12


@pytest.mark.parametrize("number", NUMBERS)
def test_a_scene_is_a_function_of_its_seed_and_trains(number):
    with run_of(number, 7) as one, run_of(number, 7) as same, run_of(number, 8) as other:
        assert (one.values == same.values).all()
        assert one.values.shape != other.values.shape or (one.values != other.values).any()
        if number not in ("03", "08", "11"):  # a sample a step; in trouble; long
            one.step(20)
            assert one.history.loss[-1] < one.history.loss[0]


def test_scenes_have_the_numbers_of_their_texts():
    with run_of("01") as run:
        weights = [run.values[0]]
        for _ in range(7):
            run.step(1)
            weights.append(run.values[0])
        assert weights == pytest.approx([2 - 5 * 0.6**k for k in range(8)])
    scene = shelf.scene_of("06")
    with closing(scene.run) as run:
        assert run.values.tolist() == [0.5, -1.0, 1.5, 0.5, 0.1, -0.2, 2.0, -0.5, 0.3]
        assert run.predict([scene.probe])[0, 0] == pytest.approx(0.0427, abs=1e-3)
    with run_of("14") as run:
        run.step(3)
        assert run.values == pytest.approx([-3.888279, -0.365], abs=1e-6)
    with run_of("10"), run_of(11, 3) as gpt:
        assert sv.check.backward("lesson_bump")
        assert gpt.n_weights == 4192


TROUBLES = ("symmetric", "too_fast", "dead", "saturated", "no_bias", "sound")


@pytest.mark.parametrize("seed", range(6))
def test_the_riddles_of_lesson_08(seed):
    """All but the sound one are stuck, or run away, each for a reason of its own."""
    name = TROUBLES[seed % 6]
    with run_of("08", seed) as run:
        if name == "too_fast":
            with pytest.raises(sv.ScalarvizError, match="diverged"):
                run.step(2000)
            return
        run.step(4000 if name == "sound" else 1000)
        assert (run.loss < 1e-3) is (name == "sound")
        weights = run.model[0].weight.data
        assert bool((weights == weights[0]).all()) is (name == "symmetric")
        if name in ("dead", "saturated"):
            assert np.abs(run.frame().gradient[:8]).max() < 1e-6


BAD = ("'15'", "0", "10**30", "None", "'06', seed=-1", "'06', hide=('none',)", "'06', size=(1, 1)", "")
ROWS = {f"sv.lesson({bad})": (ScalarvizError, *["allowed: 01, 01b, 02"][: k < 3]) for k, bad in enumerate(BAD)}


@refusals(ROWS, globals())
def test_there_is_no_such_lesson(refusal):
    refusal.check()


LOADS = """
import os, sys
from unittest import mock
from scalarviz.cli.warmup import _needed_by_lessons
from scalarviz.engine.cpu import units
with mock.patch.dict(os.environ, SCALARVIZ_CACHE_DIR=sys.argv[1]):
    needed = {units._name_of(unit) for unit in _needed_by_lessons()}
for file in sys.argv[2:]:
    exec(compile(open(file).read(), file, "exec"), {"__name__": "__main__"})
print("\\n", len(units.LOADED), *set(units.LOADED) - needed)
"""
"""Prints how many kernels some scripts load, and those that the lessons' scenes do not need."""


def test_after_a_warmup_for_the_lessons_their_cells_compile_nothing_but_an_operation_of_their_own(tmp_path):
    compile_some = "02", "03", "10", "11", "13", "14"
    scripts = [str(lesson.script) for lesson in shelf.lessons() if lesson.number in compile_some]
    command = [sys.executable, "-c", LOADS, str(tmp_path / "empty"), *scripts]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 0, ran.stderr
    count, *others = ran.stdout.splitlines()[-1].split()
    assert int(count) > 30
    assert [unit for unit in others if not unit.startswith("bump-")] == []
