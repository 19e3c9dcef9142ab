"""Pictures: the output of a notebook's cell, the last frame of a page, and lists of panels at frames of a recording.

Panels are drawn after the training, never while it runs: by their own drawers where the window's column has them, from
the recorded values through the network of the scene, which answers at the values of any frame.
"""

from __future__ import annotations

import html
import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from heapq import heappop, heappush

import numpy as np

from ...run.core.frame import Frame
from ...run.panels import LossCurve
from ...run.panels.base import Picture
from ...run.questions.ranges import weight_extent
from ...run.scene.scene import Scene
from ..ink.axes import evenly
from ..ink.boxes import arrange
from ..ink.listed import Listed, Record, changes, encoded, short, stored
from ..ink.sketch import Box
from ..ink.theme import Theme, get_theme
from ..out.easel import Pixels, picture_of
from ..out.offscreen import available
from ..panels.image import AIR
from ..screen.side import SidePanels
from ..shown.subject import Subject, subject_of
from .pack import text_of

STILL = 0.65, 55  # share of the page's size, and quality, of the picture for where nothing plays


def can_draw() -> bool:
    """Whether anything can be drawn here."""
    return not available()


def chosen(some: Sequence[int], most: int) -> list[int]:
    """`most` of some numbers: the first, the last, and between them evenly."""
    return [some[k] for k in evenly(len(some), most)]


def still_bytes(subject: Subject, frame: Frame, size: tuple[int, int], theme: str) -> bytes:
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

MOST = 64  # moments of a panel that is a picture
EVERY, CHEAP = 320, 0.3  # moments of one that is cheap: where every frame takes no more than this share of the room
ROOM, OF_NUMBERS = (105_000, 200_000), 0.02  # bytes of all panels of a page, more of them beside many numbers
DENSITY = 1.0  # of large pictures: pixels for one of the window's
WINDOW = (1280, 720)  # pixels of the window whose column it is
PIXELS = {"image", "sprites", "points"}  # kinds of records that are not words, numbers and lines
Lists = dict[int, list[Record]]  # of a panel, by the number of the frame
Frames = Callable[[int], Frame]
"""A frame by its number."""


def panel_pictures(
    scene: Scene,
    frames: Sequence[int],
    frame: Frames,
    theme: str | Theme = "dark",
    room: int | None = None,
    like: Sequence[Picture] = (),
) -> list[Picture]:
    """The lists of the panels in the column, by panel and step, without the loss curve, which a time bar has.

    Of frames of the scene's recording, whose numbers are `frames`: a panel that takes few bytes of all of them, so that
    its numbers are of the step that is shown; others of at most `MOST`, dense where the loss falls, and of fewer where
    all would take more than `room` bytes (None: as many as a page has). The first and the last are among them. A panel
    that is always empty is left out. `like` are those in another look, whose moments it takes.
    """
    if like:
        wanted = {(one.panel, one.step) for one in like}
        steps = {step for _, step in wanted}
        drawn = _drawn(scene, [k for k in frames if frame(k).step in steps], frame, theme)
        return [one for one in _pictures(drawn, frame) if (one.panel, one.step) in wanted]
    order = [frames[k] for k in dense_order([frame(k).loss for k in frames])]
    drawn = _drawn(scene, sorted(order[:MOST]), frame, theme)
    share = min(len(order), EVERY) / max(1, min(len(order), MOST))
    if room is None:
        room = round(min(max(ROOM[0], OF_NUMBERS * 4 * len(frames) * len(scene.run.values)), ROOM[1]))
    weights = {name: share * _weight(lists) for name, lists in drawn.items()}
    shares = {name: CHEAP if PIXELS & {one[0] for one in lists[order[0]]} else 1 for name, lists in drawn.items()}
    cheap = [name for name in sorted(weights, key=lambda name: weights[name]) if weights[name] <= room * shares[name]]
    if cheap and share > 1:
        drawn |= _drawn(scene, sorted(order[:EVERY]), frame, theme, cheap)
    for names in [*([name] for name in cheap), [name for name in drawn if name not in cheap]]:
        found = _fitting({name: drawn[name] for name in names}, order, room)
        room -= sum(map(_weight, found.values()))
        drawn |= found
    return _pictures(drawn, frame)


def dense_order(losses: Sequence[float]) -> list[int]:
    """Frames by their numbers, the last and the first first, so that those before any other are spread over the run.

    Half of them evenly, and half evenly in how far the loss has fallen: each is in the middle of the widest gap.
    """
    best = np.minimum.accumulate(np.nan_to_num(np.asarray(losses, float), nan=np.inf, posinf=np.inf))
    fallen = np.log1p(np.where(np.isfinite(best), best, np.max(best, where=np.isfinite(best), initial=0.0)))
    fallen = (fallen[:1] - fallen) / max(float(np.ptp(fallen)) if len(fallen) else 0.0, 1e-300)
    places = fallen + np.linspace(0.0, 1.0, len(fallen))
    order = list(dict.fromkeys([len(places) - 1, 0])) if len(places) else []
    gaps = [(0.0, 0, len(places) - 1)] if len(places) > 2 else []
    while gaps:
        _, low, high = heappop(gaps)
        middle = low + 1 + int(np.argmin(np.abs(places[low + 1 : high] - (places[low] + places[high]) / 2)))
        order.append(middle)
        for a, b in ((low, middle), (middle, high)):
            if b - a > 1:
                heappush(gaps, (float(places[a] - places[b]), a, b))
    return order


def _drawn(
    scene: Scene, frames: Sequence[int], frame: Frames, theme: str | Theme, names: Collection[str] | None = None
) -> dict[str, Lists]:
    """Lists of these panels (None: all that are ever more than their box), in the order of the column."""
    subject, look = subject_of(scene), get_theme(theme)
    side, listed = SidePanels(subject, look), Listed(look, density=DENSITY)
    side.ground.shows_all = True  # a page has all of them
    boxes = {name: box for name, box in arrange(WINDOW, side.column.wanted_panels()).panels.items()
             if not isinstance(side.drawers[name].panel, LossCurve)}  # fmt: skip
    side.place(boxes)
    if names is not None:
        side.set_unseen(frozenset(boxes) - frozenset(names))
    found: dict[str, Lists] = {name: {} for name in sorted(boxes, key=lambda name: boxes[name][1])
                               if names is None or name in names}  # fmt: skip
    for k in frames if found else ():
        now = frame(k)
        side.ground.extent = weight_extent(now.values)
        side.update(now)
        for name, lists in found.items():
            lists[k] = [["box", *short(with_air(boxes[name]))], *listed.records(side.drawn(name))]
    # a sheet that waits for a hand is empty
    return {name: lists for name, lists in found.items() if lists and len(list(lists.values())[-1]) > 1}


def _fitting(drawn: dict[str, Lists], order: Sequence[int], room: int) -> dict[str, Lists]:
    """As many moments as there is room for, the same of all panels, the first of an order; at least both ends."""
    there = [k for k in order if any(k in lists for lists in drawn.values())]

    def kept(count: int) -> dict[str, Lists]:
        some = set(there[:count])
        return {name: {k: one for k, one in lists.items() if k in some} for name, lists in drawn.items()}

    def weight(count: int) -> int:
        return sum(map(_weight, kept(count).values()))

    count = bisect_right(range(len(there) + 1), room, key=weight) - 1
    return kept(count if count >= min(2, len(there)) else 0)


def _pictures(drawn: dict[str, Lists], frame: Frames) -> list[Picture]:
    return [Picture(name, frame(k).step, math.ceil(one[0][3]), math.ceil(one[0][4]), stored(one))
            for name, lists in drawn.items() for k, one in lists.items()]  # fmt: skip


def _weight(lists: Lists) -> int:
    """Bytes that they take in a page, which holds the changes from each to the next."""
    befores = [None, *lists.values()]
    return len(stored([changes(one, two) for one, two in zip(befores, lists.values(), strict=False)]))


def with_air(box: Box) -> Box:
    """The box of a panel with the air around it."""
    return box[0] - AIR, box[1] - AIR, box[2] + 2 * AIR, box[3] + 2 * AIR
