"""A control sets what its flag sets: with the flag, or with the control moved at step 0, a run has the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from kit.commands import SCENES, controls_of, load_scene, make_scene, reader_of, write_small_files
from scalarviz.run import controls

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


@pytest.mark.parametrize("name", SCENES)
def test_every_control_that_names_a_flag_is_looked_at_and_its_choices_are_the_flags(name, made):
    named = {label: control for label, control in controls_of(made(name)).items() if control.flag}
    assert named.keys() == set(MOVED[name]) | set(FITS.get(name, {}))
    for label, control in named.items():
        if isinstance(control, controls.Segments) and label != "regularisation":
            for choice in control.choices:
                value = choice.lower() if isinstance(choice, str) else choice
                load_scene(name).options(**{control.flag[2:]: value})


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
