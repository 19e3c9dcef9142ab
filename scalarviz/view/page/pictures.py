"""Pictures as bytes: the output of a notebook's cell, the last frame of a page, and panels at frames of a recording.

Panels are drawn after the training, never while it runs: by their own drawers where the window's column has them, from
the recorded values through the network of the scene, which answers at the values of any frame.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingDependencyError
from ...run.core.frame import Frame
from ...run.panels import LossCurve
from ...run.questions.ranges import extent
from ...run.scene.scene import Scene
from ...run.sources.recording.contents import Picture
from ..ink.axes import evenly
from ..ink.gl import Viewport, gloo
from ..ink.painter import Painter
from ..ink.places import arrange
from ..ink.sketch import Box, Sketch
from ..ink.theme import Theme, get_theme
from ..out.easel import picture_of
from ..out.offscreen import available, offscreen
from ..panels.image import AIR
from ..screen.side import SidePanels
from ..shown.subject import Subject, subject_of
from .pack import text_of

Pixels = NDArray[np.uint8]
STILL = 0.7, 55  # share of the page's size, and quality, of the picture for where nothing plays


def can_draw() -> bool:
    """Whether anything can be drawn here."""
    try:
        return not available()
    except MissingDependencyError:
        return False


def chosen(some: Sequence[int], most: int) -> list[int]:
    """`most` of some numbers: the first, the last, and between them evenly."""
    return [some[k] for k in evenly(len(some), most)]


def encoded(pixels: Pixels, kind: str, **how: object) -> bytes:
    """A picture, uint8 (H, W, 3), as a file of that kind: ``"WEBP"``, ``"JPEG"``, ``"PNG"``."""
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **how)
    return buffer.getvalue()


def still_of(subject: Subject, frame: Frame, size: tuple[int, int], theme: str) -> bytes:
    """The picture of a frame as WebP, smaller than a page of `size`; empty where nothing can draw."""
    from PIL import Image

    if not can_draw():
        return b""
    picture = Image.fromarray(picture_of(subject, frame, size, theme))
    share, quality = STILL
    small = picture.resize((max(1, round(size[0] * share)), max(1, round(size[1] * share))), Image.Resampling.LANCZOS)
    return encoded(np.asarray(small), "WEBP", quality=quality, method=6)


# ---- The output of a notebook's cell.

WEBP, JPEG = 80, 60
"""Qualities. A WebP takes a third of what a PNG does, and no notebook shows it as an image; a JPEG is seen where it is
the only one: two thirds of the bytes of quality 80, and small print is as legible."""


class Output:
    """A picture in a notebook, in every form that somebody may look at it.

    JupyterLab, VS Code and exported pages take the HTML, the only form that has words for who cannot see the picture.
    Who takes HTML out (a viewer of untrusted files, LaTeX) finds the same picture as an image of that kind, its data as
    a notebook holds them; who has neither finds the words.
    """

    def __init__(self, html: str, kind: str, image: str, words: str) -> None:
        self.html, self.kind, self.image, self.words = html, kind, image, words

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict[str, str], object]:
        image = {self.kind: self.image} if self.image else {}
        # `alt` is what nbconvert's classic page says, `vscode_altText` what VS Code does, of the image
        about = {self.kind: {"alt": self.words}, "vscode_altText": self.words} if image else {}
        return {"text/html": self.html, **image, "text/plain": self.words}, about

    def __repr__(self) -> str:
        return self.words


def output_of(pixels: Pixels | None, words: str, name: str = "", *, lossless: bool = False) -> Output:
    """A picture, uint8 (H, W, 3), or the words where none could be drawn; `name` is a class of CSS."""
    if pixels is None:
        classed, said = f' class="{html.escape(name, quote=True)}"' * bool(name), html.escape(words, quote=True)
        return Output(f"<p{classed}>{said}</p>", "", "", words)
    data = encoded(pixels, "WEBP", lossless=lossless, quality=WEBP, method=4 if lossless else 6)
    tag = image_tag(data, "image/webp", words, name=name, width=pixels.shape[1])
    small = encoded(pixels, "JPEG", quality=JPEG, optimize=True, progressive=True)
    return Output(tag, "image/jpeg", text_of(small), words)


def image_tag(data: bytes, kind: str, words: str, *, name: str = "", width: int = 0) -> str:
    """An image in HTML that holds its own data; the words are escaped."""
    classed, wide = f'class="{html.escape(name, quote=True)}" ' * bool(name), f' width="{width}"' * bool(width)
    alt = html.escape(words, quote=True)
    return f'<img {classed}alt="{alt}"{wide} src="data:{kind};base64,{text_of(data)}">'


# ---- Panels.

MOST = 24  # pictures of a panel
ROOM = 400_000  # bytes that all pictures of a page take, as base64
WINDOW = (1280, 720)  # pixels of the window whose column it is
SCALES = (2, 1)  # pixels of a picture for one of the window's, as far as there is room
LOSSY = (90, 75)  # qualities where pictures that are true in each pixel have no room

Part = tuple[str, int, Pixels]  # panel, step and pixels of a picture


def panel_pictures(
    scene: Scene, frames: Sequence[int], frame: Callable[[int], Frame], theme: str | Theme = "dark", room: int = ROOM
) -> list[Picture]:
    """Pictures of the panels in the column, by panel and step, without the loss curve, which a time bar has.

    Of at most `MOST` frames of the scene's recording, whose numbers are `frames`. Where they would take more than
    `room` bytes as base64, they are drawn smaller, then compressed with loss, and in the end there are fewer. One that
    looks as the one before it is left out, and a panel that is empty at every step.
    """
    look, frames = get_theme(theme), chosen(frames, MOST)
    drawn: list[Part] = []
    for scale in SCALES:
        drawn = _drawn(scene, frames, frame, look, scale)
        if (found := _fitting(drawn, room, _lossless)) is not None:
            return found
    while drawn:
        for quality in LOSSY:
            if (found := _fitting(drawn, room, partial(encoded, kind="WEBP", quality=quality, method=4))) is not None:
                return found
        steps = sorted({step for _, step, _ in drawn})
        kept = set(chosen(steps, len(steps) // 2)) if len(steps) > 2 else set()
        drawn = [one for one in drawn if one[1] in kept]
    return []


def _fitting(parts: Sequence[Part], room: int, how: Callable[[Pixels], bytes]) -> list[Picture] | None:
    """All of them encoded, None where they have no room; told soon."""
    found, taken = dict[int, Picture](), 0
    for k in sorted(range(len(parts)), key=lambda k: -k % 5):  # some of everywhere first: they say what all will take
        name, step, pixels = parts[k]
        found[k] = Picture(name, step, pixels.shape[1], pixels.shape[0], how(pixels))
        taken += 4 * -(-len(found[k].image) // 3)
        if taken > room or (len(found) >= 5 and taken * len(parts) > 1.3 * room * len(found)):
            return None
    return [found[k] for k in range(len(parts))]


def _drawn(scene: Scene, frames: Sequence[int], frame: Callable[[int], Frame], theme: Theme, scale: int) -> list[Part]:
    """Name, step and pixels of each picture that is new."""
    subject = subject_of(scene)
    with offscreen():
        side = SidePanels(subject, theme)
        side.lodge()
        boxes = {name: box for name, box in arrange(WINDOW, side.column.wanted()).panels.items()
                 if not isinstance(side.drawers[name].panel, LossCurve)}  # fmt: skip
        if not boxes:
            return []
        painter = Painter(WINDOW, scale)
        side.place(boxes)
        found: list[Part] = []
        before: dict[str, Pixels] = {}
        for k in frames:
            now = frame(k)
            side.ground.extent = extent(now.values)
            for name, part in cut_panels(painter, side.update(now), boxes, theme).items():
                if name not in before or not np.array_equal(part, before[name]):
                    found.append((name, now.step, part))
                    before[name] = part
    seen = {name for name, _, part in found if (part != part[0, 0]).any()}  # a sheet that waits for a hand is empty
    return sorted((one for one in found if one[0] in seen), key=lambda one: (boxes[one[0]][1], one[1]))  # from the top


def cut_panels(
    painter: Painter, sketches: Sequence[Sketch], boxes: Mapping[str, Box], theme: Theme
) -> dict[str, Pixels]:
    """The panels in their boxes with the air around them, out of one picture of the part where they stand."""
    dense, (wide, high) = painter.scale, painter.size
    left, top = (math.floor(min(box[k] for box in boxes.values())) - AIR for k in (0, 1))
    right, foot = (math.ceil(max(box[k] + box[k + 2] for box in boxes.values())) + AIR for k in (0, 1))

    def draw(_: Viewport) -> None:
        x, y, *size = (round(part * dense) for part in (-left, foot - high, wide, high))
        gloo.set_viewport(x, y, *size)
        painter.background(theme.background, theme.background)
        painter.draw(sketches)

    picture = offscreen().render(draw, (round((right - left) * dense), round((foot - top) * dense)))
    found = {}
    for name, box in boxes.items():
        x, y = (round((part - AIR) * dense) for part in (box[0] - left, box[1] - top))
        wide, high = (round((part + 2 * AIR) * dense) for part in box[2:])
        found[name] = np.ascontiguousarray(picture[y : y + high, x : x + wide])
    return found


def _lossless(pixels: Pixels) -> bytes:
    """WebP or PNG, whichever is shorter: each pixel is as it was drawn."""
    return min(
        encoded(pixels, "WEBP", lossless=True, quality=40, method=2), encoded(pixels, "PNG", optimize=True), key=len
    )
