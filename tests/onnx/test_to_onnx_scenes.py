"""The networks of four scenes, as they are after some steps, written as ONNX and run by onnxruntime."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))
from exported import agrees, weights

SCENES = {
    "rgb": ((3,), {"hidden": (8, 8)}, {}),
    "digits": ((1, 8, 8), {}, {"given": (1, 8, 8)}),
    "texture": ((2,), {}, {"given": (2,)}),
    "microgpt": ((16,), {"layers": 2}, {"given": (16,), "ids": 27}),
}


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_gives_the_same_numbers(tmp_path, name):
    shape, options, more = SCENES[name]
    module = import_module(f"scalarviz.scenes.{name}")
    scene = module.build(module.Options(engine="numpy", **options))
    scene.run.step(3)
    model = agrees(scene.run.model, tmp_path, shape, **more)
    written, known = weights(model), scene.run.model.state_dict()
    assert set(known) <= set(written)
    for part, array in known.items():
        assert array.dtype == np.float32  # those of a Run: nothing is rounded
        np.testing.assert_array_equal(written[part], array)
