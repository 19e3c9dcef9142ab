"""The names of the curves stand where no curve goes, on every shape of curve that leaves a corner free."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz.view.ink.sketch import Sketch
from scalarviz.view.ink.text import measure
from scalarviz.view.ink.theme import DARK
from scalarviz.view.panels import loss

STEPS = np.arange(300)
NOISE = np.exp(np.random.default_rng(0).normal(0, 0.05, 300))
SHAPES = {
    "falling": np.exp(-STEPS / 60.0) * NOISE,
    "rising": np.exp(STEPS / 60.0) * NOISE,
    "late": np.where(STEPS < 150, 1e-3, 1.0) * NOISE,
    "valley": np.exp(np.abs(STEPS - 150) / 40.0) * NOISE,
    "hill": np.exp(-np.abs(STEPS - 150) / 40.0) * NOISE,
    "diverging": np.concatenate([np.exp(-STEPS[:200] / 40.0), np.exp((STEPS[200:] - 200) / 8.0)]),
}
BOX = (952.0, 300.0, 304.0, 300.0)


def drawn(curves: list[loss.Line], monkeypatch: pytest.MonkeyPatch) -> tuple[Sketch, list[np.ndarray]]:
    paths: list[np.ndarray] = []
    original = Sketch.polyline

    def noted(self: Sketch, points: object, *args: object, **more: object) -> None:
        if len(points) > 2:  # type: ignore[arg-type]
            paths.append(np.asarray(points, float))
        original(self, points, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Sketch, "polyline", noted)
    return loss.loss_panel(BOX, DARK, curves), paths


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "diverging"])
@pytest.mark.parametrize("count", [1, 2])
def test_no_curve_goes_through_a_name(shape: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    curves = [loss.Line("1,024 colours", STEPS, SHAPES[shape])]
    if count == 2:
        curves.append(loss.Line("the photo", STEPS, 0.9 * SHAPES[shape], dashed=True))
    sketch, paths = drawn(curves, monkeypatch)
    assert len(paths) == count
    for curve in curves:
        name = next(t for t in sketch.texts if t.text == curve.label)
        left, right = name.x - 32, name.x + measure(name.text, name.size)
        for path in paths:
            across = np.arange(max(left, path[0, 0]), min(right, path[-1, 0]), 0.5)
            heights = np.interp(across, path[:, 0], path[:, 1])
            assert not ((heights > name.y - 13) & (heights < name.y + 4)).any()


def test_a_falling_curve_keeps_its_name_at_the_top_right(monkeypatch: pytest.MonkeyPatch) -> None:
    sketch, _ = drawn([loss.Line("batch", STEPS, SHAPES["falling"])], monkeypatch)
    name = next(t for t in sketch.texts if t.text == "batch")
    assert name.x > BOX[0] + 0.7 * BOX[2]
    assert name.y < BOX[1] + 0.25 * BOX[3]


def test_no_gridline_strikes_a_name_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind each name lies a patch of ground, painted after the gridlines."""
    sketch, _ = drawn([loss.Line("batch", STEPS, SHAPES["diverging"])], monkeypatch)
    name = next(t for t in sketch.texts if t.text == "batch")
    shapes = sketch.triangles.reshape(-1, 6, sketch.triangles.shape[1])
    middles, halves = shapes[:, :, :2].mean(axis=1), shapes[:, 0, 4:6]
    over = (np.abs(middles - (name.x + 10, name.y - 5)) < halves).all(axis=1)
    ground = [k for k in np.flatnonzero(over) if np.allclose(shapes[k, 0, 8:11], [20 / 255, 22 / 255, 26 / 255])]
    lines = [k for k in np.flatnonzero(over) if np.allclose(shapes[k, 0, 8:11], [42 / 255, 47 / 255, 55 / 255])]
    assert ground
    assert all(k < max(ground) for k in lines)
