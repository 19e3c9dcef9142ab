"""A control sets what its flag sets: with the flag, or with the control moved at step 0, a run has the same bits.

Internals: the contents of the panel of controls, which only a window shows.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kit.commands import make_scene, reader_of, write_small_files
from scalarviz.cli.here import scene_names
from scalarviz.run.controls import Segments
from scalarviz.run.scene_file import load_scene
from scalarviz.view.controls.contents import Contents
from scalarviz.view.controls.panel import OPENS
from scalarviz.view.watch.live import LiveView
from scalarviz.view.window.offscreen import offscreen
from scalarviz.view.window.unseen import Unseen

RATES = [(0.003, {"lr": 0.003}), (0.25, {"lr": 0.25})]
RULES = [(rule, {"optimizer": rule.lower()}) for rule in ("momentum", "Adam", "AdamW")]
WEIGHTS_SEED = [(None, {"weights_seed": 1})]


def same(name, *values):
    return [(value, {name: value}) for value in values]


MOVED = {
    "neuron": {"learning rate": RATES},
    "rgb": {
        "learning rate": RATES, "batch": same("batch", 1, 128), "optimiser": RULES,
        "add a layer": [(None, {"hidden": (8,)})],
    },
    "digits": {"learning rate": RATES, "batch": same("batch", 1, 128)},
    "xor": {"learning rate": RATES, "batch": same("batch", 4), "activation": same("activation", "sigmoid")},
    "playground": {
        "learning rate": RATES, "batch": same("batch", 1, 37), "optimiser": RULES,
        "activation": same("activation", "relu", "sigmoid", "identity"),
        "regularisation": [("L1", {"l1": 1e-3}), ("L2", {"l2": 1e-3})],
        "data": same("data", "xor", "gauss", "spiral", "plane", "regress-gauss"),
        "noise": same("noise", 0.25), "learnt from": same("split", 0.7), "new points": [(None, {"data_seed": 1})],
        "layer 1: fewer units": [(None, {"hidden": (3, 2)})], "layer 1: more units": [(None, {"hidden": (5, 2)})],
        "layer 2: fewer units": [(None, {"hidden": (4, 1)})], "layer 2: more units": [(None, {"hidden": (4, 3)})],
        "other first weights": WEIGHTS_SEED,
    },
    "texture": {
        "learning rate": RATES, "batch": same("batch", 1, 16), "transform": same("transform", "transpose", "zoom"),
        "regularisation": [("L2", {"l2": 1e-3})],
    },
    "uinn": {
        "learning rate": RATES,
        "layer 1: fewer units": [(None, {"hidden": (7, 8)})], "layer 1: more units": [(None, {"hidden": (9, 8)})],
        "layer 2: fewer units": [(None, {"hidden": (8, 7)})], "layer 2: more units": [(None, {"hidden": (8, 9)})],
    },
    "expression": {"learning rate": RATES, "batch": same("batch", 1, 16)},
    "microgpt": {"learning rate": RATES, "batch": same("batch", 1, 16)},
}  # fmt: skip
"""Of every scene the controls that name a flag, values for them, and the same said by flags."""
FITS = {
    "playground": {
        "add a layer": [(None, {"hidden": (4, 2, 2)})],
        "x": [], "y": [],  # switched off a column stays, as an input of 0
        **{title: [(True, {"features": ("x", "y", name)})] for title, name in (
            ("x²", "x2"), ("y²", "y2"), ("x·y", "xy"), ("sin x", "sinx"), ("sin y", "siny"))},
    },
    "uinn": {"add a layer": [(None, {"hidden": (8, 8, 8)})]},
}  # fmt: skip
"""Those after which weights that still fit go on, where the flag draws them all anew."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a scene, small where it is large."""
    folder = tmp_path_factory.mktemp("small")
    write_small_files(folder)
    small = {
        "texture": {"picture": folder / "picture.png", "hidden": (4,), "batch": 32},
        "microgpt": {"text": folder / "words.txt", "embd": 4, "heads": 2, "context": 5, "batch": 8},
    }
    return lambda name, **given: make_scene(name, **{**small.get(name, {}), **given})


def items(scene):
    """The controls of the panel by their names; who does what is no edit."""
    does = SimpleNamespace(
        speed=1.0, speeds=(0.5, 1.0, 2.0, float("inf")), run=scene.run, keys_of=lambda action: action,
        send=lambda action: None, hurry=lambda speed: None, copy=lambda words: None,
        reseed=lambda seed: scene.run.restart(seed=seed),
    )  # fmt: skip
    contents = Contents(does, scene.controls, scene.command, scene.hide)
    rows = contents.rows(reader_of(scene), {})
    assert contents.troubles == []
    return {item.name: item for row in rows for item in row.items if row.look != "tools"}


def moved(scene, label, value):
    control = items(scene)[label].control
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


def test_all_scenes_are_there():
    assert set(MOVED) == set(scene_names())


@pytest.mark.parametrize("name", MOVED)
def test_every_control_that_names_a_flag_is_looked_at(name, made):
    named = {label for label, item in items(made(name)).items() if item.control.flag}
    assert named == set(MOVED[name]) | set(FITS.get(name, {}))


@pytest.mark.parametrize(("name", "label", "value", "given"), cases(MOVED))
def test_a_control_at_step_0_is_its_flag(name, label, value, given, made):
    by_flag, by_hand = made(name, **given).run, moved(made(name), label, value)
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


@pytest.mark.parametrize(("name", "label", "value", "given"), cases(FITS))
def test_what_fits_goes_on_and_the_rest_is_that_of_the_flag(name, label, value, given, made):
    before, by_flag = made(name).run.frame().values, made(name, **given).run
    by_hand = moved(made(name), label, value)
    assert [tensor.shape for tensor in by_hand.tensors] == [tensor.shape for tensor in by_flag.tensors]
    now, drawn = by_hand.frame().values, by_flag.frame().values
    assert len(now) > len(before)
    assert set(before.tolist()) <= set(now.tolist())
    assert (np.isin(now, before) | (now == drawn)).all()


@pytest.mark.gl
@pytest.mark.ci
@pytest.mark.parametrize("name", MOVED)
def test_no_pixel_outside_of_the_panel_changes_when_it_opens(name, made):
    host = Unseen(lambda size: LiveView(made(name), size, playing=False), (1280, 720))
    host.pass_time()
    with offscreen():
        live = host.view
        assert isinstance(live, LiveView)
        live.step(2)
    live.worker.settle()
    host.pass_time(0.2)
    while live.bench.moving:  # the range of the colours grows, numbers in words lag behind
        host.pass_time(0.2)
    before = host.picture().astype(int)
    with offscreen():
        live.key("p", "p")
    for _ in range(4):
        host.pass_time(OPENS)
    box = live.bench.controls.box
    assert box is not None
    assert live.bench.controls.stands
    changed = np.abs(host.picture().astype(int) - before).max(axis=2)
    assert changed[:, : int(box[0]) - 1].max() <= 2
    assert (changed[:, int(box[0]) + 1 :] > 8).any()
    with offscreen():
        live.key("Escape", "")
    host.pass_time(0.2)
    while live.bench.moving:
        host.pass_time(0.2)
    assert np.abs(host.picture().astype(int) - before).max() <= 2
    live.close()


@pytest.mark.parametrize("name", MOVED)
def test_each_choice_is_one_of_the_flag(name, made):
    options = load_scene(name).options
    for item in items(made(name)).values():
        control = item.control
        if isinstance(control, Segments) and control.flag and control.label != "regularisation":
            for choice in control.choices:
                options(**{control.flag[2:]: choice.lower() if isinstance(choice, str) else choice})
