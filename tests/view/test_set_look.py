"""Another quantity, colour map or ground: the picture of a new workbench, and nothing of the layout is remade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from vispy import gloo

from scalarviz.run.scene.scene import Scene
from scalarviz.view.cubes import slab
from scalarviz.view.notes import scenery
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.shown.subject import Subject, subject_of
from scalarviz.view.workbench import Workbench

from .test_first_sample import own_scene

pytestmark = pytest.mark.gl

LOOKS: list[dict[str, str]] = [
    {"theme": "light"},
    {"quantity": "gradient"},
    {"cmap": "viridis"},
    {"theme": "dark", "quantity": "update", "cmap": ""},
    {"quantity": "weight"},
]
LAYOUT_ALONE = (
    (gloo, "VertexBuffer"), (gloo, "IndexBuffer"), (gloo, "Texture2D"), (gloo, "Program"),
    (slab, "Atlas"), (slab, "TrayVisual"), (scenery, "FlowLabels"), (scenery, "FewFlow"), (scenery, "CubeValues"),
)  # fmt: skip
"""What a look must not make again."""


def subjects() -> list[Callable[[], tuple[Subject, Scene | None]]]:
    def arrays() -> tuple[Subject, None]:
        rng = np.random.default_rng(0)
        return subject_of({f"t{k}": rng.normal(size=(60, 80)) for k in range(3)}), None

    def net(*widths: int) -> tuple[Subject, Scene]:
        scene = own_scene(*widths)
        scene.run.step(3)
        return subject_of(scene), scene

    return [arrays, lambda: net(3, 3), lambda: net(2, 4, 1), lambda: net(5, 16, 16, 3), lambda: net(20, 40, 40, 40, 3)]


def drawn(bench: Workbench, subject: Subject) -> np.ndarray:
    with offscreen():
        bench.update(subject.frame())
    return offscreen().render(bench.draw, bench.size)


@pytest.mark.parametrize("make", subjects())
def test_the_picture_is_that_of_a_workbench_made_with_that_look(make: Callable[[], Any]) -> None:
    subject, _ = make()
    with offscreen():
        bench = Workbench(subject, (640, 360))
    drawn(bench, subject)
    now = {"theme": "dark", "quantity": "weight", "cmap": ""}
    for look in LOOKS:
        now.update(look)
        with offscreen():
            bench.set_look(**look)  # type: ignore[arg-type]
            new = Workbench(subject, (640, 360), now["theme"], now["cmap"] or None, now["quantity"])
        assert np.array_equal(drawn(bench, subject), drawn(new, subject)), look


@pytest.mark.parametrize("make", subjects())
def test_nothing_that_depends_on_the_layout_alone_is_made_again(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    subject, _ = make()
    with offscreen():
        bench = Workbench(subject, (640, 360))
    for look in LOOKS:  # shaders and sizes of type for each look are made once
        with offscreen():
            bench.set_look(**look)  # type: ignore[arg-type]
        drawn(bench, subject)
    kept = [bench.layout, bench.slab, bench.slab.atlas, bench.slab._buffer, bench.scenery, bench.strip,
            bench._picker, bench.painter, bench.slab._values, bench.slab._colours]  # fmt: skip
    made: Counter[str] = Counter()

    def counting(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def make_one(*args: Any, **more: Any) -> Any:
            made[name] += 1
            return original(*args, **more)

        return make_one

    for owner, name in LAYOUT_ALONE:
        monkeypatch.setattr(owner, name, counting(name, getattr(owner, name)))
    placed = [(t.text, t.x, t.y) for t in bench._static[0].texts] if bench._static else []
    for look in LOOKS:
        with offscreen():
            bench.set_look(**look)  # type: ignore[arg-type]
        drawn(bench, subject)
    assert not made
    now = [bench.layout, bench.slab, bench.slab.atlas, bench.slab._buffer, bench.scenery, bench.strip,
           bench._picker, bench.painter, bench.slab._values, bench.slab._colours]  # fmt: skip
    assert all(a is b for a, b in zip(kept, now, strict=True))
    assert placed == ([(t.text, t.x, t.y) for t in bench._static[0].texts] if bench._static else [])


def test_vertices_are_not_even_uploaded_again() -> None:
    subject, _ = subjects()[0]()
    with offscreen():
        bench = Workbench(subject, (640, 360))
    drawn(bench, subject)
    before = bench.slab._vertices.copy()
    with offscreen():
        bench.set_look(theme="light")
    drawn(bench, subject)
    assert np.array_equal(before, bench.slab._vertices)
