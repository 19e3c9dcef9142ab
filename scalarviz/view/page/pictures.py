"""Pictures: the output of a notebook's cell, the last frame of a page, and lists of panels at frames of a recording.

Panels are drawn after the training, never while it runs: by their own drawers where the window's column has them, from
the recorded values through the network of the scene, which answers at the values of any frame.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingDependencyError
from ...run.core.frame import Frame
from ...run.panels import LossCurve
from ...run.questions.ranges import weight_extent
from ...run.scene.scene import Scene
from ...run.sources.recording.contents import Picture
from ..ink.axes import evenly
from ..ink.boxes import arrange
from ..ink.listed import Listed, Record, changes, encoded, short, stored
from ..ink.sketch import Box
from ..ink.theme import Theme, get_theme
from ..out.easel import picture_of
from ..out.offscreen import available
from ..panels.image import AIR
from ..screen.side import SidePanels
from ..shown.subject import Subject, subject_of
from .pack import text_of

Pixels = NDArray[np.uint8]
STILL = 0.65, 55  # share of the page's size, and quality, of the picture for where nothing plays


def can_draw() -> bool:
    """Whether anything can be drawn here."""
    try:
        return not available()
    except MissingDependencyError:
        return False


def chosen(some: Sequence[int], most: int) -> list[int]:
    """`most` of some numbers: the first, the last, and between them evenly."""
    return [some[k] for k in evenly(len(some), most)]


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

MOST = 60  # moments of a panel
ROOM = 200_000  # bytes of all panels of a page
WINDOW = (1280, 720)  # pixels of the window whose column it is


def panel_pictures(
    scene: Scene, frames: Sequence[int], frame: Callable[[int], Frame], theme: str | Theme = "dark", room: int = ROOM
) -> list[Picture]:
    """The lists of the panels in the column, by panel and step, without the loss curve, which a time bar has.

    Of at most `MOST` frames of the scene's recording, whose numbers are `frames`; of fewer where they would take more
    than `room` bytes. A list that is the same as the one before it is left out, and a panel that is always empty.
    """
    subject, look = subject_of(scene), get_theme(theme)
    side, listed = SidePanels(subject, look), Listed(look)
    side.lodge()
    boxes = {name: box for name, box in arrange(WINDOW, side.column.wanted()).panels.items()
             if not isinstance(side.drawers[name].panel, LossCurve)}  # fmt: skip
    side.place(boxes)
    found: list[tuple[str, int, list[Record]]] = []
    before: dict[str, list[Record]] = {}
    for k in chosen(frames, MOST) if boxes else ():
        now = frame(k)
        side.ground.extent = weight_extent(now.values)
        side.update(now)
        for name, box in boxes.items():
            records = [["box", *short(with_air(box))], *listed.of(side.drawn(name))]
            if records != before.get(name):
                found.append((name, now.step, records))
                before[name] = records
    full = {name for name, records in before.items() if len(records) > 1}  # a sheet that waits for a hand is empty
    found = sorted((one for one in found if one[0] in full), key=lambda one: (boxes[one[0]][1], one[1]))
    while found and _weight(found) > room:
        steps = sorted({step for _, step, _ in found})
        kept = set(chosen(steps, len(steps) * 2 // 3)) if len(steps) > 2 else set()
        found = [one for one in found if one[1] in kept]
    return [Picture(name, step, math.ceil(records[0][3]), math.ceil(records[0][4]), stored(records))
            for name, step, records in found]  # fmt: skip


def _weight(lists: Sequence[tuple[str, int, list[Record]]]) -> int:
    """Bytes that they take in a page, which holds the changes from each to the next."""
    before: dict[str, list[Record]] = {}
    weight = 0
    for name, _, records in lists:
        weight += len(stored(changes(before.get(name), records)))
        before[name] = records
    return weight


def with_air(box: Box) -> Box:
    """The box of a panel with the air around it."""
    return box[0] - AIR, box[1] - AIR, box[2] + 2 * AIR, box[3] + 2 * AIR
