"""What was given and would do nothing is refused in a line; what the other flags say is done without it."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

SMALL = ("--hidden", "4", "--batch", 8)


@pytest.fixture
def scene(cli):
    """A scene with the engine that needs no compiling."""
    return lambda name, *flags: cli(name, "--headless", "--engine", "numpy", "--steps", 2, *flags)


@pytest.mark.parametrize(
    ("name", "others", "unheard"),
    [
        ("neuron", (), ("--b", 5)),
        ("neuron", ("--load", "w.safetensors"), ("--w", 5)),
        ("neuron", ("--weights", 2, "--load", "w.safetensors"), ("--b", 5)),
        ("playground", ("--load", "w.safetensors"), ("--weights-seed", 3)),
        ("expression", ("--load", "w.safetensors"), ("--start", "a=0.5")),
        ("texture", ("photo.png", *SMALL), ("--photo", "astronaut")),
        ("texture", ("photo.png", *SMALL, "--encoding", "none"), ("--frequencies", 5)),
        ("expression", ("--start", "a=0.5"), ("--start", "a=0.25")),
        ("playground", ("--hidden", ""), ("--activation", "relu")),
        ("uinn", (), ("--paused",)),
        ("uinn", (), ("--fps", 12)),
    ],
)
def test_a_flag_that_would_do_nothing_is_refused(scene, name, others, unheard):
    if "photo.png" in others:
        Image.fromarray(np.arange(300, dtype=np.uint8).reshape(10, 10, 3)).save("photo.png")
    if "--load" in others:
        more = others[: others.index("--load")]
        assert scene(name, *more, "--save", "w.safetensors").code == 0
    assert scene(name, *others).code == 0
    result = scene(name, *others, *unheard)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert unheard[0] in result.err
