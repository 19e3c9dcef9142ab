"""``copy as command`` of the scene `playground`: typed again it shows the same, and says what it leaves out."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from scalarviz.scenes import playground
from scalarviz.scenes._playground_controls import HIDDEN
from scalarviz.scenes._playground_edits import AddPoint, SwitchFeature
from scalarviz.scenes._playground_net import SetHidden
from scalarviz.scenes._playground_panels import Hand

from scalarviz.cli.flags import command_from
from scalarviz.cli.main import main
from scalarviz.errors import InputError
from scalarviz.io import load_tensors
from scalarviz.run import Moment
from scalarviz.run.controls import Button, Reader
from scalarviz.run.edits import Change, SetBatchSize, SetLimits, SetOptimizer, SetWeights
from scalarviz.run.run_source import RunSource


def made(**flags):
    return playground.build(playground.Options(engine="numpy", **flags))


def reader_of(scene):
    source, frame = RunSource(scene.run), scene.run.frame()
    source.follow(frame)
    return Reader(frame, source, scene.options)


def moment_of(scene):
    return Moment(scene.run.frame(), RunSource(scene.run))


def told(scene):
    return scene.command(reader_of(scene))


def control(scene, label):
    return next(one for one in scene.controls if one.label == label)


def turn(scene, label, value=None):
    """A hand at one of the scene's controls."""
    reader, one = reader_of(scene), control(scene, label)
    edit = one.change(value if isinstance(one, Button) else one.taken(value), reader)
    if edit is not None:
        scene.run.do(edit)


def typed(command, folder, monkeypatch):
    """Run the command line as a user does: the weights that it ends with."""
    monkeypatch.chdir(folder)
    words = shlex.split(command, comments=True)
    assert words[:2] == ["scalarviz", "playground"]
    steps = [] if "--steps" in words else ["--steps", "1"]
    assert main([*words[1:], *steps, "--headless", "--save", "again.safetensors"]) == 0
    return load_tensors(folder / "again.safetensors")[0]


START = [
    {},
    {"data": "spiral", "features": "x,y,sinx,siny", "hidden": (8, 3), "noise": 0.125},
    {"data": "regress-gauss", "split": 0.3, "optimizer": "adam", "activation": "relu", "l1": 0.001},
    {"seed": 7, "data_seed": 3, "batch": 30, "lr": 0.1, "l2": 0.01, "optimizer": "momentum"},
    {"hidden": (), "sampling": "replacement", "dtype": "float64", "weights_seed": 5},
]


@pytest.mark.parametrize("flags", START, ids=range(len(START)))
def test_the_command_of_a_run_from_its_flags_ends_in_the_same_bits(flags, tmp_path, monkeypatch):
    scene = made(**flags)
    scene.run.step(83)
    command = told(scene)
    assert "#" not in command
    weights = typed(command, tmp_path, monkeypatch)
    assert all(np.array_equal(weights[name], array) for name, array in scene.run.state_dict().items())


def test_the_plain_scene_is_the_plain_command():
    scene = playground.build(playground.Options())
    assert told(scene) == "scalarviz playground"
    scene.run.step(5)
    assert told(scene) == "scalarviz playground --steps 5"
    scene.run.close()


def test_what_hands_set_before_the_first_step_is_in_it(tmp_path, monkeypatch):
    scene = made(hide="lr,seed")
    turn(scene, "data", "xor")
    turn(scene, "noise", 0.2)
    turn(scene, "learnt from", 0.7)
    turn(scene, "new points")
    turn(scene, "batch", 25)
    turn(scene, "activation", "sigmoid")
    scene.run.do(SetOptimizer({"lr": 0.3}))
    scene.run.do(SetLimits(l2=0.002))
    scene.run.step(40)
    command = told(scene)
    for part in ("--data xor", "--noise 0.2", "--split 0.7", "--data-seed 1", "--batch 25", "--activation sigmoid",
                 "--lr 0.3", "--l2 0.002", "--hide lr,seed", "--steps 40"):  # fmt: skip
        assert part in command
    assert "#" not in command
    weights = typed(command, tmp_path, monkeypatch)
    assert all(np.array_equal(weights[name], array) for name, array in scene.run.state_dict().items())


def test_after_a_restart_layers_and_features_are_in_it_too(tmp_path, monkeypatch):
    scene = made(seed=2)
    scene.run.step(30)
    scene.run.do(SetHidden((5, 4)))
    scene.run.do(SwitchFeature("x2", True))
    turn(scene, "data", "gauss")
    assert "# without 3 changes on the way" in told(scene)
    scene.run.restart()
    scene.run.step(12)
    command = told(scene)
    assert "--features x,y,x2 --hidden 5,4" in command
    assert "#" not in command
    weights = typed(command, tmp_path, monkeypatch)
    assert all(np.array_equal(weights[name], array) for name, array in scene.run.state_dict().items())
    scene.run.restart(seed=9)
    scene.run.step(3)
    assert "--weights-seed 9" in told(scene)
    weights = typed(told(scene), tmp_path, monkeypatch)
    assert all(np.array_equal(weights[name], array) for name, array in scene.run.state_dict().items())


@pytest.mark.parametrize("source", ["circle", "regress-gauss", "classes", "curve"])
def test_points_added_and_taken_away_by_hand_are_flags_that_make_the_same_bits(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = {"data": source}
    rows = [(k / 7, 100 + k % 13, k % 3) for k in range(60)]
    if source == "classes":  # the words of classes have minus signs, commas and spaces
        words = ("\N{MINUS SIGN}one", "two, or so", "three")
        (tmp_path / "t.csv").write_text("a,b,c\n" + "".join(f'{a},{b},"{words[c]}"\n' for a, b, c in rows))
        flags = {"csv": tmp_path / "t.csv"}
    if source == "curve":
        (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b, _ in rows))
        flags = {"csv": tmp_path / "t.csv", "features": "x"}
    scene = made(**flags)
    hand, rng = Hand(scene.known), np.random.default_rng(3)
    before = {array.tobytes() for array in scene.run.samples()[0]}
    for k in range(12):
        points = hand.points(moment_of(scene))
        hand.chosen = k
        learnt = np.flatnonzero(~points.back)
        edit = hand.remove(int(rng.choice(learnt))) if k % 3 == 2 else hand.add(tuple(rng.uniform(-1.5, 1.5, 2)))
        scene.run.do(edit)
    scene.run.do(hand.remove(int(np.flatnonzero(~hand.points(moment_of(scene)).back)[-1])))  # one that was added
    scene.run.step(40)
    command = told(scene)
    assert command.count("--point") == 7
    assert "--without" in command
    assert "#" not in command
    weights = typed(command, tmp_path, monkeypatch)
    assert all(np.array_equal(weights[name], array) for name, array in scene.run.state_dict().items())
    assert len({array.tobytes() for array in scene.run.samples()[0]} - before) == 7


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"point": ["1,2"]}, "wanted x,y,label"),
        ({"point": ["1,2,7"]}, "there is no class '7'; allowed: -1, 1"),
        ({"point": ["1,two,1"]}, "y is a number, got 'two'"),
        ({"point": ["1e400,2,1"]}, "x is a number"),
        ({"point": ["1,nan,1"]}, "y is a number"),
        ({"point": [""]}, "wanted x,y,label"),
        ({"data": "plane", "point": ["1,2,blue"]}, "label is a number, got 'blue'"),
        ({"without": (250,)}, "there is no point 250; 250 are learnt from, 0 to 249"),
        ({"without": tuple(range(250))}, "none would be left"),
    ],
)
def test_points_that_cannot_be(flags, says):
    with pytest.raises(InputError) as raised:
        made(**flags)
    assert says in str(raised.value)


@pytest.mark.parametrize("given", ["1;2", "-1", "1.5", "x", "9999999999"])
def test_numbers_of_points_that_are_none(given):
    with pytest.raises(InputError, match="whole numbers"):
        playground.parse_numbers(given)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda scene: SetWeights(0, np.ones(1)), "# without 1 change on the way"),
        (lambda scene: SetOptimizer({"lr": 0.5}), "# without 1 change on the way"),
        (
            lambda scene: AddPoint(scene.known, (0.0, 0.0), 1.0),
            "--point 0,0,1 --engine numpy --steps 10  # without 1 change on",
        ),
        (lambda scene: SwitchFeature("x", False), "# without 1 change on the way and the weights of x"),
        (lambda scene: Change(model=scene.run.model.with_hidden((4,))), "# without 1 change on the way"),
    ],
)
def test_what_it_leaves_out_is_said(edit, says):
    scene = made()
    scene.run.step(10)
    scene.run.do(edit(scene))
    assert says in told(scene)
    scene.run.undo()
    assert "#" not in told(scene)


def test_a_moment_of_the_past_is_told_as_it_was():
    scene = made()
    scene.run.step(10)
    turn(scene, "data", "spiral")
    scene.run.do(SetBatchSize(50))
    scene.run.step(10)
    assert "--data spiral" in told(scene)
    scene.run.to(4)
    assert told(scene) == "scalarviz playground --engine numpy --steps 4"


def test_a_table_is_in_it_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k % 7},{k % 5},{k},{'ab'[k % 2]}\n" for k in range(60))
    (tmp_path / "my table.csv").write_text("x,y,z,kind\n" + rows)
    scene = made(csv=tmp_path / "my table.csv", columns="x,z,kind")
    scene.run.step(9)
    command = told(scene)
    assert "my table.csv' --columns x,z,kind" in command
    weights = typed(command, tmp_path, monkeypatch)
    assert all(np.array_equal(weights[name], array) for name, array in scene.run.state_dict().items())


def test_every_name_that_can_be_hidden_is_a_control():
    scene = made()
    own = {one.label for one in scene.controls}
    penalties = {"regularisation", "regularisation rate"}
    of_runs = {"learning rate", "optimiser", "momentum", "layers", "seed", "pace"} | penalties
    assert {label for labels in HIDDEN.values() for label in labels} == own | of_runs | {"copy as command"}


def test_controls_read_the_moment_and_change_nothing_where_nothing_changes():
    scene = made(noise=0.1)
    reader = reader_of(scene)
    values = {one.label: one.value(reader) for one in scene.controls}
    assert values["data"] == "circle"
    assert values["noise"] == 0.1
    assert values["x"] is True
    assert values["sin x"] is False
    for label in ("data", "noise", "learnt from"):
        assert control(scene, label).change(values[label], reader) is None
    turn(scene, "x", False)
    assert control(scene, "y").change(False, reader_of(scene)) is None  # the last one


def test_a_control_that_is_unknown_is_refused():
    with pytest.raises(InputError, match="there is no control 'rate'; allowed: data, noise"):
        playground.parse_hide("lr,rate")
    command = command_from(playground.Options, lambda options: 0)
    assert command(hide="lr, batch") == 0


def test_a_momentum_that_no_flag_says_stands_behind_the_command():
    scene = made(optimizer="momentum")
    assert "--optimizer momentum" in told(scene)
    assert "#" not in told(scene)
    scene.run.do(SetOptimizer((("momentum", 0.8),)))
    assert "a momentum of 0.8" in told(scene).partition("#")[2]
