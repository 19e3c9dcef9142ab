"""Workbenches of scenes: their lists, words and pixels, and the law that no text lies over another."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import scalarviz as sv
from scalarviz.view.ink.sketch import Sketch, TextItem
from scalarviz.view.ink.text import CAP_HEIGHT
from scalarviz.view.interaction import plate_of
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.workbench import Workbench

from .commands import make_scene

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
SIZE = (1280, 720)
MINUS = "\N{MINUS SIGN}"
KEYS = (("Space", "run"), ("?", "all keys"))


def rgb(*hidden: int, steps: int = 20, **flags) -> sv.Scene:
    """The scene of colours, trained a little."""
    scene = make_scene("rgb", hidden=list(hidden), batch=64, **flags)
    scene.run.step(steps)
    return scene


def bench_of(
    thing: object, size: tuple[int, int] = SIZE, theme: str = "dark", *, seconds: float | None = None,
    asked: bool = False, **options,
) -> Workbench:  # fmt: skip
    """A workbench that shows a thing as it is now, all that there is where it is `asked`; its lists need no GL."""
    bench = Workbench(subject_of(thing), size, theme, **options)
    if asked:
        bench.next_panels()
    return again(bench, seconds)


def again(bench: Workbench, seconds: float | None = None) -> Workbench:
    """The same with the frame of now, `seconds` after the last one."""
    bench.update(bench.subject.frame(), "", seconds)
    return bench


def pixels_of(bench: Workbench) -> np.ndarray:
    """Its picture, (H, W, 3), as whole numbers that can be subtracted."""
    return offscreen().render(bench.draw, bench.size).astype(int)


def texts(sketches: Iterable[Sketch]) -> list[TextItem]:
    """What is written, with its places."""
    return [item for sketch in sketches for item in sketch.texts]


def words(sketches: Iterable[Sketch]) -> list[str]:
    """What is written."""
    return [item.text for item in texts(sketches) if item.text]


def said(bench: Workbench) -> list[str]:
    """What is written below what is touched."""
    return words(bench.sketches)


def said_anywhere(bench: Workbench) -> list[str]:
    """All that is written, what lies over the picture last."""
    return said(bench) + said_above(bench)


def said_above(bench: Workbench) -> list[str]:
    """What is written over that."""
    return words(sketch for layer in bench.overlays for sketch in layer)


def box_of(item: TextItem) -> Box:
    """Around its capitals."""
    return item.left, item.y - CAP_HEIGHT * item.size, item.left + item.width, item.y


def middle(box: Box) -> tuple[float, float]:
    """Of a place given as left, top, width and height."""
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def overlap(one: Box, other: Box, air: float = 0.0) -> bool:
    """Whether two boxes lie on each other by more than `air` both ways."""
    wide, high = min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])
    return wide > air and high > air


def assert_readable(sketches: Iterable[Sketch], size: tuple[float, float]) -> None:
    """No text is small, cut, or lies over another or an image."""
    sketches, seen = list(sketches), list[tuple[str, Box]]()
    rects = [image.rect for sketch in sketches for image in sketch.images]
    pictures = [(x, y, x + w, y + h) for x, y, w, h in rects]
    for item in texts(sketches):
        box = left, top, right, bottom = box_of(item)
        assert item.size >= 13, item.text
        assert min(left, top, size[0] - right, size[1] - bottom) >= 0, item.text
        assert not any(overlap(box, picture) for picture in pictures), item.text
        assert [text for text, other in seen if overlap(box, other)] == [], item.text
        seen.append((item.text, box))


def face_of(bench: Workbench, index: int) -> tuple[float, float]:
    """Device pixel of the middle of a cube's main face."""
    plate = plate_of(bench.layout, index)
    x, y = bench.project([plate.centre_of(index - plate.start) + plate.depth * plate.axes[2]])[0]
    return float(x) * bench.scale, float(y) * bench.scale


def signed(value: float, digits: int = 2) -> str:
    """``+0.25``, as the picture writes it."""
    return f"{value:+.{digits}f}".replace("-", MINUS)
