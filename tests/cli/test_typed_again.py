"""``copy as command``: typed again a command ends in the same bits, or says behind a # what it leaves out.

A control sets what its flag sets: with the flag, or with the control moved at step 0, a run has the same bits.
"""

import shlex
from pathlib import Path

import numpy as np
import pytest

from kit.commands import (
    controls_of,
    main,
    make_scene,
    moment_of,
    reader_of,
    turn,
    write_small_files,
)
from kit.inside_scenes import AddPoint, Hand, SetHidden, SwitchFeature
from scalarviz.errors import InputError
from scalarviz.io import load_tensors
from scalarviz.run import edits, panels
from scalarviz.run.scene.scene_file import load_scene


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Make a scene, small where it is large, in a folder with a picture of 8 x 6 pixels and words."""
    write_small_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    small = {
        "texture": {"picture": Path("picture.png"), "batch": 16, "hidden": (8,), "steps": 60},
        "microgpt": {"text": Path("words.txt"), "embd": 4, "heads": 2, "context": 5, "batch": 8},
    }
    return lambda name, **flags: make_scene(name, **{**small.get(name, {}), **flags})


def told(scene):
    return scene.command(reader_of(scene))


def typed_again(scene, *parts):
    """The command says all that it has to, and the program, told so, leaves the weights of the scene."""
    command = told(scene)
    assert "  # " not in command
    assert all(part in command for part in parts), command
    words = shlex.split(command, comments=True)
    assert words[:2] == ["scalarviz", scene.name]
    steps = [] if "--steps" in words or scene.name == "texture" else ["--steps", "1"]
    assert main([*words[1:], *steps, "--headless", "--save", "again.safetensors"]) == 0
    weights = load_tensors("again.safetensors")[0]
    assert all(np.array_equal(weights[name], array) for name, array in scene.run.state_dict().items())
    return command


FLAGS = {
    "playground": [
        {},
        {"data": "spiral", "features": "x,y,sinx,siny", "hidden": (8, 3), "noise": 0.125},
        {"data": "regress-gauss", "split": 0.3, "optimizer": "adam", "activation": "relu", "l1": 0.001},
        {"hidden": (), "sampling": "replacement", "dtype": "float64", "weights_seed": 5, "optimizer": "momentum"},
    ],
    "rgb": [{}, {"hidden": (4, 3), "target": "sepia", "optimizer": "adam"}, {"pair": ["#ff8800:#0044cc"], "lr": 0.25}],
    "neuron": [{"weights": 2, "w": -0.25, "noise": 0.1, "schedule": ("linear", None)}],
    "xor": [{"activation": "sigmoid", "batch": 4, "factor": 1.0}],
    "uinn": [{"hidden": (3, 5), "lr": 0.02}],
    "digits": [{"channels": (2, 3), "batch": 16, "seed": 2}],
    "microgpt": [{}, {"layers": 2, "schedule": ("cosine", 100)}],
    "expression": [{"expr": "a*sin(w*x) + c", "start": ["a=0.5", "w=-2"], "batch": 7}],
    "texture": [
        {},
        {"encoding": "none", "transform": "transpose", "random_coordinates": True, "seed": 9},
        {"schedule": ("cosine", None), "lr": 0.02, "sampling": "replacement", "batch": 100},
        {"schedule": None, "encoding": "triangle", "frequencies": 2, "hidden": (5, 4), "l2": 1e-5},
    ],
}


@pytest.mark.parametrize(("name", "flags"), [(name, flags) for name, cases in FLAGS.items() for flags in cases])
def test_a_run_from_its_flags_ends_in_the_same_bits(made, name, flags):
    scene = made(name, **flags)
    scene.run.step(47)
    typed_again(scene)


def test_names_and_tables_are_words_of_the_command(made, tmp_path):
    (tmp_path / "picture.png").rename("-small one.png")
    scene = made("texture", picture=Path("-small one.png"))  # it is no flag
    scene.run.step(3)
    typed_again(scene, "'./-small one.png'")
    rows = "".join(f"{k % 7},{k % 5},{k},{'ab'[k % 2]}\n" for k in range(60))
    (tmp_path / "my table.csv").write_text("x,y,z,kind\n" + rows)
    scene = made("playground", csv=Path("my table.csv"), columns="x,z,kind")
    scene.run.step(9)
    typed_again(scene, "my table.csv' --columns x,z,kind")


def test_after_a_restart_what_was_changed_is_in_it_too(made):
    scene = made("playground", seed=2)
    scene.run.step(30)
    scene.run.do(SetHidden((5, 4)))
    scene.run.do(SwitchFeature("x2", True))
    turn(scene, "data", "gauss")
    assert "# without 3 edits during training" in told(scene)
    scene.run.restart(seed=9)
    scene.run.step(12)
    typed_again(scene, "--features x,y,x2 --hidden 5,4", "--weights-seed 9")
    scene.run.to(0)
    assert "#" not in told(scene)


def test_points_added_and_taken_away_by_hand_are_flags(made, tmp_path):
    """The words of classes have minus signs, commas and spaces."""
    words = ("\N{MINUS SIGN}one", "two, or so", "three")
    rows = "".join(f'{k / 7},{100 + k % 13},"{words[k % 3]}"\n' for k in range(60))
    (tmp_path / "t.csv").write_text("a,b,c\n" + rows)
    scene = made("playground", csv=Path("t.csv"))
    hand, rng = Hand(scene.first), np.random.default_rng(3)
    before = {array.tobytes() for array in scene.run.samples()[0]}
    for k in range(12):
        learnt = np.flatnonzero(~hand.points(moment_of(scene)).back)
        hand.chosen = k
        edit = hand.remove(int(rng.choice(learnt))) if k % 3 == 2 else hand.add(tuple(rng.uniform(-1.5, 1.5, 2)))
        scene.run.do(edit)
    scene.run.do(hand.remove(int(np.flatnonzero(~hand.points(moment_of(scene)).back)[-1])))  # one that was added
    scene.run.step(40)
    assert typed_again(scene, "--without").count("--point") == 7
    assert len({array.tobytes() for array in scene.run.samples()[0]} - before) == 7


ONE = "# without 1 edit during training"
POINT = f"--point 0,0,1 --steps 10 --engine numpy  {ONE}"
RULE = f"{ONE} and the current optimiser"
LEFT_OUT = [
    ("playground", lambda scene: AddPoint(scene.first, (0.0, 0.0), 1.0), POINT),
    ("playground", lambda scene: SwitchFeature("x", False), f"{ONE} and frozen weights"),
    ("playground", lambda scene: edits.Change(model=scene.run.model.with_hidden((4,))), ONE),
    ("texture", lambda scene: edits.SetOptimizer({"lr": 0.5}), ONE),
    ("texture", lambda scene: edits.SetFrozen(0, np.ones(3, bool)), f"{ONE} and frozen weights"),
    ("texture", lambda scene: edits.SetLimits(clip_norm=1.0), f"{ONE} and clip_norm = 1"),
    ("texture", lambda scene: edits.SetOptimizer({"eps": 1e-3}), RULE),
]


@pytest.mark.parametrize(("name", "edit", "says"), LEFT_OUT)
def test_what_it_leaves_out_is_said_until_it_is_undone(made, name, edit, says):
    scene = made(name)
    scene.run.step(10)
    scene.run.do(edit(scene))
    assert says in told(scene)
    scene.run.undo()
    assert "#" not in told(scene)


@pytest.mark.parametrize("name", ["texture", "rgb", "digits"])
def test_a_run_that_goes_on_from_a_file_names_it(made, tmp_path, name):
    file = tmp_path / "w.safetensors"
    with made(name, lr=0.02, seed=3).run as run:
        run.step(30)
        run.save(file)
    scene = made(name, load=file)
    scene.run.step(2)
    typed_again(scene, "--load", "--steps 2")
    scene.run.change(lr=0.5)
    scene.run.step(1)
    assert "# without 1 edit during training" in told(scene)


OWN = '''"""A scene of one's own."""
from typing import Literal
import numpy as np
from pydantic import Field
import scalarviz as sv
from scalarviz.scenes import SceneOptions, WholeNumbers

KEPT = {"value": lambda reader: None, "change": lambda value, reader: None}

class Options(SceneOptions):
    lr: float = Field(0.1, gt=0)
    l2: float = Field(0.0, ge=0, le=0.5)
    units: int = Field(3, ge=1, le=9)
    kind: Literal["tanh", "relu"] = "tanh"
    bare: bool = False
    hidden: WholeNumbers = (3,)

CONTROLS = [Options.control(name, name, "It does.", **KEPT) for name in ("l2", "units", "kind", "bare", "hidden")]

def build(options):
    net = sv.nn.Sequential(sv.nn.Linear(2, options.units, bias=not options.bare), sv.nn.Linear(options.units, 1))
    net.initialize(seed=options.seed)
    data = np.eye(2), np.ones((2, 1))
    run = sv.Run(net, sv.nn.MSELoss(), sv.optim.SGD(net.parameters(), lr=options.lr), data=data, l2=options.l2,
                 **options.of_run)
    return sv.Scene("own", run, controls=CONTROLS)
'''


def test_a_scene_of_ones_own_has_the_line_and_controls_of_its_options(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    scene = make_scene(str(file), units=5, bare=True, l2=0.25, lr=0.03)
    assert [type(one).__name__ for one in scene.controls] == ["Slider", "Slider", "Segments", "Switch", "Layers"]
    assert [one.flag for one in scene.controls] == ["--l2", "--units", "--kind", "--bare", "--hidden"]
    l2, units, kind = scene.controls[:3]
    assert (l2.least, l2.most, l2.usual, l2.whole) == (0, 0.5, 0.0, False)
    assert (units.least, units.most, units.usual, units.whole) == (1, 9, 3, True)
    assert kind.choices == ("tanh", "relu")
    scene.run.step(4)
    words = shlex.split(told(scene))
    assert words[:2] == ["scalarviz", str(file)]
    assert main([*words[1:], "--headless", "--save", str(tmp_path / "w.safetensors")]) == 0
    found = load_tensors(tmp_path / "w.safetensors")[0]
    assert all(np.array_equal(found[name], array) for name, array in scene.run.state_dict().items())


def test_of_a_control_of_an_option_without_bounds_the_message_says_what_to_give():
    with pytest.raises(InputError, match="least= and most="):
        load_scene("rgb").options.control("lr", "rate", "It does.", value=lambda r: 1.0, change=lambda v, r: None)
    with pytest.raises(InputError, match="got the option 'rate'"):
        load_scene("rgb").options.control("rate", "rate", "It does.", value=lambda r: 1.0, change=lambda v, r: None)


# ---- controls are flags

RATES = [(0.003, {"lr": 0.003}), (0.25, {"lr": 0.25})]
RULES = [(rule, {"optimizer": rule.lower()}) for rule in ("momentum", "Adam", "AdamW")]
WEIGHTS_SEED = [(None, {"weights_seed": 1})]


def same(name, *values):
    return [(value, {name: value}) for value in values]


MOVED = {
    "neuron": {"learning rate": RATES},
    "rgb": {
        "learning rate": RATES, "batch": same("batch", 1, 128), "optimiser": RULES,
        "add layer": [(None, {"hidden": (8,)})],
    },
    "xor": {"batch": same("batch", 4), "activation": same("activation", "sigmoid")},
    "playground": {
        "optimiser": RULES, "activation": same("activation", "relu", "identity"),
        "regularisation": [("L1", {"l1": 1e-3}), ("L2", {"l2": 1e-3})], "data": same("data", "spiral", "plane"),
        "noise": same("noise", 0.25), "training share": same("split", 0.7), "new points": [(None, {"data_seed": 1})],
        "layer 1: fewer units": [(None, {"hidden": (3, 2)})], "layer 2: more units": [(None, {"hidden": (4, 3)})],
        "reseed": WEIGHTS_SEED,
    },
    "texture": {"transform": same("transform", "transpose", "zoom"), "regularisation": [("L2", {"l2": 1e-3})]},
    "uinn": {
        "layer 1: fewer units": [(None, {"hidden": (7, 8)})], "layer 2: more units": [(None, {"hidden": (8, 9)})],
    },
}  # fmt: skip
"""Of every scene the controls that name a flag, values for them, and the same said by flags."""


def moved(scene, label, value):
    control = controls_of(scene)[label]
    edit = control.change(control.taken(value), reader_of(scene))
    if edit is not None:
        scene.run.do(edit)
    return scene.run


def cases(table):
    return [
        pytest.param(name, label, value, given, id=f"{name}-{label}-{value or next(iter(given.values()))}")
        for name, controls in table.items()
        for label, values in controls.items()
        for value, given in values
    ]


@pytest.mark.parametrize(("name", "label", "value", "given"), cases(MOVED))
def test_a_control_at_step_0_is_its_flag(name, label, value, given, made):
    scene, by_flag = made(name), made(name, **given).run
    by_hand = moved(scene, label, value)
    for run in (by_flag, by_hand):
        run.step(3)
    assert by_hand.values.shape == by_flag.values.shape
    assert by_hand.values.tobytes() == by_flag.values.tobytes()
    plain = made(name).run
    plain.step(3)
    assert plain.values.tobytes() != by_flag.values.tobytes()  # it is a value that changes something
    one, other = by_hand.frame().settings, by_flag.frame().settings
    assert (one.optimizer, dict(one.numbers), one.batch_size, one.samples, one.limits) == (
        other.optimizer, dict(other.numbers), other.batch_size, other.samples, other.limits)  # fmt: skip
    # another network is a change on the way
    changed = "hidden" in given or value in ("plane", "regress-gauss") or (name == "xor" and "activation" in given)
    assert ("#" in told(scene)) == changed
    assert changed or typed_again(scene)


# ---- epochs of texture


@pytest.mark.parametrize(("asked", "steps"), [(1, 3), (2.5, 8), (0.01, 1), (10, 30)])
@pytest.mark.usefixtures("made")
def test_so_many_epochs_are_so_many_steps(blind, asked, steps):
    line = blind("texture", "picture.png", "--batch", 16, "--hidden", 4, "--epochs", asked, "--json").json
    assert line["steps"] == steps  # 48 pixels are three batches of 16


def test_epochs_go_on_through_other_batches_and_begin_anew_with_another_picture(made):
    scene = made("texture")
    painting, run = next(panel for panel in scene.panels if isinstance(panel, panels.Painting)), scene.run
    found = []
    for steps, edit in ((6, None), (3, edits.SetBatchSize(24)), (5, painting.other(np.ones((2, 3, 3))))):
        if edit is not None:
            run.do(edit)
        run.step(steps)
        found.append(painting.epochs(moment_of(scene)))
    assert found == [2.0, 2 + 3 / 2, 5.0]  # 48 pixels; of 6 a batch is all of them
    run.undo()
    assert painting.epochs(moment_of(scene)) == 3.5
