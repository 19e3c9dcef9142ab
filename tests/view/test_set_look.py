"""Another quantity, colour map or ground: the picture of a new workbench, and nothing of the layout is remade."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from vispy import gloo

from kit.benches import bench_of, pixels_of, rgb
from scalarviz.view.cubes import slab
from scalarviz.view.notes import scenery

pytestmark = pytest.mark.gl
LOOKS = [
    {"theme": "light"}, {"quantity": "gradient"}, {"cmap": "viridis"},
    {"theme": "dark", "quantity": "update", "cmap": ""}, {"quantity": "weight"},
]  # fmt: skip
LAYOUT_ALONE = (
    (gloo, "VertexBuffer"), (gloo, "IndexBuffer"), (gloo, "Texture2D"), (gloo, "Program"),
    (slab, "Atlas"), (slab, "TrayVisual"), (scenery, "FlowLabels"), (scenery, "FewFlow"), (scenery, "CubeValues"),
)  # fmt: skip
"""What a look must not make again."""


def arrays():
    rng = np.random.default_rng(0)
    return {f"t{k}": rng.normal(size=(60, 80)) for k in range(3)}


@pytest.fixture(params=[arrays, rgb, lambda: rgb(4), lambda: rgb(40, 40, 40)], ids=["arrays", "one", "small", "deep"])
def thing(request):
    return request.param()


def kept(bench):
    """What stays: objects, and where names stand."""
    names = [(t.text, t.x, t.y) for sketch in bench.scenery.static for t in sketch.texts]
    return [bench.layout, bench.slab, bench.slab.atlas, bench.scenery, bench.strip, bench.painter], names


def test_the_picture_is_that_of_a_workbench_made_with_that_look_and_the_layout_is_kept(thing, monkeypatch):
    bench, now, made = bench_of(thing, (640, 360)), {"theme": "dark", "quantity": "weight", "cmap": ""}, Counter()
    for look in LOOKS:
        now.update(look)
        bench.set_look(**look)
        changed = pixels_of(bench)
        assert np.array_equal(changed, pixels_of(bench_of(thing, (640, 360), **now))), look
    for owner, name in LAYOUT_ALONE:  # shaders and sizes of type for each look are there now
        original = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, o=original, n=name, **k: (made.update([n]), o(*a, **k))[1])
    objects, names = kept(bench)
    for look in LOOKS:
        bench.set_look(**look)
        pixels_of(bench)
    assert not made
    assert all(a is b for a, b in zip(objects, kept(bench)[0], strict=True))
    assert kept(bench)[1] == names
