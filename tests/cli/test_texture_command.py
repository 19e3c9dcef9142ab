"""`scalarviz texture`: epochs, and ``copy as command``, which typed again ends in the same bits."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scalarviz.scenes import texture

from scalarviz.cli.main import main
from scalarviz.errors import InputError
from scalarviz.io import load_tensors
from scalarviz.run import Moment
from scalarviz.run.controls import Reader
from scalarviz.run.edits import (
    Change,
    SetBatchSize,
    SetFrozen,
    SetLimits,
    SetOptimizer,
    SetSampling,
    SetWeights,
    Several,
)
from scalarviz.run.panels import Painting
from scalarviz.run.run_source import RunSource

RNG = np.random.default_rng(5)
SMALL = np.rint(RNG.random((6, 8, 3)) * 255).astype(np.uint8)  # 48 pixels


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "small one.png"
    Image.fromarray(SMALL).save(path)
    return path


def built(picture, **more):
    options = {"picture": picture, "engine": "numpy", "batch": 16, "hidden": (8,), "steps": 60, **more}
    return texture.build(texture.Options(**options))


def told(scene):
    source, frame = RunSource(scene.run), scene.run.frame()
    source.follow(frame)
    return scene.command(Reader(frame, source, scene.options))


def epochs(scene):
    painting = next(panel for panel in scene.panels if isinstance(panel, Painting))
    return painting.epochs(Moment(scene.run.frame(), RunSource(scene.run)))


def turn(scene, transform):
    source, frame = RunSource(scene.run), scene.run.frame()
    scene.run.do(scene.controls[0].change(transform, Reader(frame, source, scene.options)))


def ends_alike(scene, folder, monkeypatch):
    """Whether the command, typed by a user, leaves the weights that the scene has."""
    monkeypatch.chdir(folder)
    words = shlex.split(told(scene), comments=True)
    assert words[:2] == ["scalarviz", "texture"]
    assert main([*words[1:], "--headless", "--save", "again.safetensors"]) == 0
    weights = load_tensors(folder / "again.safetensors")[0]
    return all(np.array_equal(weights[name], array) for name, array in scene.run.state_dict().items())


FLAGS = [
    {},
    {"steps": 47},
    {"encoding": "triangle", "frequencies": 2, "hidden": (5, 4), "l2": 1e-5},
    {"encoding": "none", "transform": "transpose", "random_coordinates": True, "seed": 9},
    {"schedule": ("cosine", None), "lr": 0.02, "sampling": "replacement", "batch": 100},
    {"schedule": ("cycle", None), "lr": 0.02},
    {"schedule": ("cycle", 50), "lr": 0.02, "dtype": "float64"},
    {"schedule": ("step", 20)},
    {"schedule": ("constant", None), "epochs": 17},
    {"schedule": None},
    {"lr": 0.1 + 0.2, "dtype": "float64"},
]


@pytest.mark.parametrize("flags", FLAGS, ids=range(len(FLAGS)))
def test_the_command_of_a_run_from_its_flags_ends_in_the_same_bits(picture, flags, tmp_path, monkeypatch):
    if "epochs" in flags:
        scene = texture.build(texture.Options(picture=picture, engine="numpy", batch=16, hidden=(8,), **flags))
    else:
        scene = built(picture, **flags)
    scene.run.step(47)
    assert "#" not in told(scene)
    assert ends_alike(scene, tmp_path, monkeypatch)


def test_a_picture_whose_name_begins_with_a_dash_is_no_flag(picture, tmp_path, monkeypatch):
    picture.rename(tmp_path / "-small.png")
    monkeypatch.chdir(tmp_path)
    scene = built(Path("-small.png"))
    scene.run.step(3)
    assert ends_alike(scene, tmp_path, monkeypatch)


def test_the_plain_scene_is_the_plain_command():
    scene = texture.build(texture.Options())
    assert told(scene) == "scalarviz texture"
    scene.run.step(2)
    assert told(scene) == "scalarviz texture --schedule decay:5000 --steps 2"
    scene.run.close()


def test_what_hands_set_before_the_first_step_is_in_it(picture, tmp_path, monkeypatch):
    scene = built(picture)
    turn(scene, "zoom")
    for edit in (SetBatchSize(12), SetOptimizer({"lr": 0.015}), SetLimits(l2=1e-4), SetSampling("replacement")):
        scene.run.do(edit)
    scene.run.step(60)
    command = told(scene)
    for part in ("--transform zoom", "--batch 12", "--lr 0.015", "--l2 0.0001", "--sampling replacement", "--steps 60"):
        assert part in command
    assert "#" not in command
    assert "--schedule" not in command  # as many steps as it was made for
    assert ends_alike(scene, tmp_path, monkeypatch)


def test_after_a_restart_the_rate_that_was_set_is_in_it(picture, tmp_path, monkeypatch):
    scene = built(picture)
    scene.run.step(50)
    scene.run.do(SetOptimizer({"lr": 0.02}))
    scene.run.step(2)
    assert "# without 1 change on the way" in told(scene)
    scene.run.restart()
    scene.run.step(45)
    assert "#" not in told(scene)
    assert ends_alike(scene, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (SetWeights(0, np.ones(1)), "# without 1 change on the way"),
        (SetOptimizer({"lr": 0.5}), "# without 1 change on the way"),
        (SetFrozen(0, np.ones(3, bool)), "# without 1 change on the way and what is frozen"),
        (SetLimits(clip_norm=1.0), "# without 1 change on the way and clip_norm = 1"),
        (SetOptimizer({"eps": 1e-3}), "# without 1 change on the way and the optimiser that it has now"),
        (Change(optimizer="SGD"), "# without 1 change on the way and the optimiser that it has now"),
    ],
)
def test_what_it_leaves_out_is_said(picture, edit, says):
    scene = built(picture)
    scene.run.step(10)
    scene.run.do(edit)
    assert says in told(scene)
    scene.run.undo()
    assert "#" not in told(scene)


def test_another_picture_and_another_network_are_said_also_after_a_restart(picture):
    scene = built(picture)
    scene.run.step(3)
    scene.run.do(scene.panels[0].other(RNG.random((3, 5, 3))))
    scene.run.do(Change(activation="tanh"))
    scene.run.restart()
    assert "# without the picture that was opened and the network that it is now" in told(scene)
    scene.run.restart(seed=4)
    assert "and the first weights of seed 4" in told(scene)


def test_what_a_file_began_with_is_said(picture, tmp_path):
    first = built(picture)
    first.run.step(30)
    first.run.save(tmp_path / "w.safetensors")
    scene = built(picture, load=tmp_path / "w.safetensors")
    scene.run.load(tmp_path / "w.safetensors")
    scene.run.step(2)
    assert "# without 30 steps before" in told(scene)


# ---- epochs


@pytest.mark.parametrize(("asked", "steps"), [(1, 3), (2.5, 8), (0.01, 1), (10, 30)])
def test_so_many_epochs_are_so_many_steps(cli, picture, asked, steps):
    line = cli("texture", picture, "--headless", "--engine", "numpy", "--batch", 16, "--hidden", 4, "--epochs", asked,
               "--json").json  # fmt: skip
    assert line["steps"] == steps  # 48 pixels are three batches of 16


def test_a_whole_epoch_sees_every_pixel_once(picture):
    scene = built(picture)
    seen = np.concatenate([scene.run.problem.indices(step) for step in range(3)])
    assert sorted(seen.tolist()) == list(range(48))
    scene.run.step(3)
    assert epochs(scene) == 1.0


def test_places_at_random_are_as_many_as_there_are_pixels(picture):
    scene = texture.build(texture.Options(picture=picture, engine="numpy", batch=16, hidden=(4,), epochs=4,
                                          random_coordinates=True))  # fmt: skip
    assert scene.options.steps == 12
    scene.run.step(12)
    assert epochs(scene) == 4.0


def test_epochs_go_on_through_other_batches_and_begin_anew_with_another_picture(picture):
    scene = built(picture)
    run = scene.run
    assert epochs(scene) == 0.0
    run.step(6)
    run.do(SetBatchSize(24))
    run.step(3)
    assert epochs(scene) == 2 + 3 / 2
    turn(scene, "zoom")
    run.do(Several((SetBatchSize(8), SetLimits(l2=1e-4))))
    run.step(6)
    assert epochs(scene) == 3.5 + 1
    run.to(7)
    assert epochs(scene) == 2.5
    run.to(15)
    run.do(scene.panels[0].other(RNG.random((2, 3, 3))))  # 6 pixels: a batch is all of them
    run.step(5)
    assert run.problem.batch == 6
    assert epochs(scene) == 5.0
    run.do(SetBatchSize(2))
    run.step(3)
    assert epochs(scene) == 6.0
    run.undo()
    run.undo()
    assert epochs(scene) == 4.5


def test_steps_and_epochs_contradict_each_other(cli, picture):
    result = cli("texture", picture, "--headless", "--epochs", 2, "--steps", 7)
    assert (result.code, result.err) == (2, "scalarviz: --steps and --epochs both say how long it lasts; give one of "
                                            "them\n")  # fmt: skip


@pytest.mark.parametrize("epochs", ["0", "-1", "nan", "inf", "two", "1e10"])
def test_epochs_that_cannot_be_used(cli, picture, epochs):
    result = cli("texture", picture, "--headless", "--epochs", epochs)
    assert result.code == 2
    assert "--epochs" in result.err
    assert "Traceback" not in result.err


def test_more_steps_than_there_can_be_are_refused():
    with pytest.raises(InputError, match=r"--epochs 1e\+09 are .* steps; allowed: at most 1,000,000,000,000"):
        texture.build(texture.Options(batch=1, epochs=1e9))


def test_the_number_of_the_epoch_stands_above_the_picture(picture):
    """And goes with the step, while the pixels that are painted are counted beside it, where there is room."""
    from scalarviz.view.shown.subject import subject_of
    from scalarviz.view.workbench import Workbench

    scene = built(picture)
    scene.run.step(7)
    bench = Workbench(subject_of(scene), (1280, 720))
    bench.update(scene.run.frame(), "")
    texts = [text.text for sketch in bench.side.update(scene.run.frame()) for text in sketch.texts]
    assert "epoch 2.3  ·  all 48 pixels" in texts
