"""Workbenches of scenes: their lists, words and pixels, and the law that no text lies over another."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import scalarviz as sv
from scalarviz.view.ink.sketch import Sketch, TextItem
from scalarviz.view.ink.text import CAP_HEIGHT, measure
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.screen.touch import plate_of
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.workbench import Workbench

from .commands import make_scene

MINUS = "\N{MINUS SIGN}"
KEYS = (("Space", "run"), ("?", "all keys"))
PACE = "numpy, 1 thread"


def rgb(*hidden: int, steps: int = 20, **flags) -> sv.Scene:
    """The scene of colours, trained a little."""
    scene = make_scene("rgb", hidden=list(hidden), batch=64, **flags)
    scene.run.step(steps)
    return scene


def bench_of(thing, size: tuple[int, int] = (1280, 720), **options) -> Workbench:
    """A workbench that shows a thing as it is now; lists need no GL."""
    bench = Workbench(subject_of(thing), size, **options)
    bench.update(bench.subject.frame(), PACE)
    return bench


def tick(bench: Workbench, seconds: float = 1 / 60) -> None:
    """Time passes, and the frame is that of now."""
    bench.update(bench.subject.frame(), PACE, seconds)


def picture_of(bench: Workbench) -> np.ndarray:
    """Its pixels, as whole numbers that can be subtracted."""
    return offscreen().render(bench.draw, bench.size).astype(int)


def words(sketches: Iterable[Sketch]) -> list[str]:
    """What is written."""
    return [item.text for sketch in sketches for item in sketch.texts]


def said(bench: Workbench) -> list[str]:
    """What is written below what is touched."""
    return words(bench.sketches)


def said_above(bench: Workbench) -> list[str]:
    """What is written over that, brought up to date as by a drawing."""
    bench.update(bench.subject.frame(), PACE, 0.0)
    return words(sketch for layer in bench.overlays for sketch in layer)


def box_of(item: TextItem) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the ink of a text without descenders."""
    wide = measure(item.text, item.size, item.bold)
    left = item.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[item.anchor] * wide
    return left, item.y - CAP_HEIGHT * item.size, left + wide, item.y


def apart(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether two boxes do not meet."""
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def assert_readable(sketches: Iterable[Sketch], size: tuple[float, float]) -> None:
    """No text is small, cut, or lies over another or an image."""
    sketches, seen = list(sketches), list[tuple[str, tuple[float, ...]]]()
    rects = [image.rect for sketch in sketches for image in sketch.images]
    pictures = [(x, y, x + w, y + h) for x, y, w, h in rects]
    for item in (item for sketch in sketches for item in sketch.texts):
        box = left, top, right, bottom = box_of(item)
        assert item.size >= 13, item.text
        assert min(left, top, size[0] - right, size[1] - bottom) >= 0, item.text
        assert all(apart(box, picture) for picture in pictures), item.text
        assert [text for text, other in seen if not apart(box, other)] == [], item.text
        seen.append((item.text, box))


def face_of(bench: Workbench, index: int) -> tuple[float, float]:
    """Device pixel of the middle of a cube's main face."""
    plate = plate_of(bench.layout, index)
    x, y = bench.project([plate.centre_of(index - plate.start) + plate.depth * plate.axes[2]])[0]
    return float(x) * bench.scale, float(y) * bench.scale


def signed(value: float, digits: int = 2) -> str:
    """``+0.25``, as the picture writes it."""
    return f"{value:+.{digits}f}".replace("-", MINUS)
