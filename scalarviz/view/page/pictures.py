"""Pictures: the output of a notebook cell, the last frame of a page, and display lists of panels for a recording.

Panels are drawn after the training, never during it: by their drawers, in the boxes of the window's column, from
recorded values. The scene's network computes outputs at the values of any frame.
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
from ...run.panels.base import PanelPicture
from ...run.questions.ranges import weight_extent
from ...run.scene.scene import Scene
from ..ink.axes import evenly
from ..ink.boxes import GROUND, arrange
from ..ink.listed import Listed, Record, changes, encoded, short, stored
from ..ink.sketch import Box
from ..ink.theme import Theme, get_theme
from ..out.apart import apart
from ..out.canvas import Canvas, Pixels
from ..out.offscreen import available
from ..panels.drawer import Slot
from ..panels.image import AIR, LINE
from ..screen.side import SidePanels
from ..shown.subject import Subject, subject_of
from ..workbench import Workbench
from .lists import HALL, SHAPES
from .pack import text_of

STILL = 0.5, 40  # scale relative to the page, and WebP quality, of the picture for pages that cannot play


def can_draw() -> bool:
    """Return whether this machine can draw."""
    return not apart(available)


def chosen(some: Sequence[int], most: int) -> list[int]:
    """Return `most` of some numbers: the first, the last, and evenly between them."""
    return [some[k] for k in evenly(len(some), most)]


def still_bytes(subject: Subject, frame: Frame, size: tuple[int, int], theme: Theme) -> bytes:
    """Return the picture of a frame as WebP, smaller than a page of `size`; b"" without OpenGL."""
    from PIL import Image

    if not can_draw():
        return b""
    canvas = Canvas(subject, size, theme)
    canvas.update("", frame=frame)
    picture = Image.fromarray(apart(canvas.draw))
    share, quality = STILL
    small = picture.resize((max(1, round(size[0] * share)), max(1, round(size[1] * share))), Image.Resampling.LANCZOS)
    return encoded(np.asarray(small), "WEBP", quality=quality, method=6)


# ---- The output of a notebook cell.

WEBP, JPEG = 80, 60
"""Qualities. A WebP has a third of a PNG's bytes, but notebooks do not show it as an image. A JPEG is shown where HTML
is not; quality 60 has two thirds of the bytes of 80, and small print is as legible."""


class Output:
    """A picture in a notebook, in all its forms.

    JupyterLab, VS Code and exported pages take the HTML, the only form with a description for screen readers. Viewers
    that remove HTML (of untrusted files, LaTeX) show the same picture as an image of type `kind`; viewers without
    images show the words.
    """

    def __init__(self, html: str, kind: str, image: str, words: str) -> None:
        self.html, self.kind, self.image, self.words = html, kind, image, words

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict[str, str], object]:
        image = {self.kind: self.image} if self.image else {}
        # nbconvert's classic page reads `alt` of the image, VS Code reads `vscode_altText`
        about = {self.kind: {"alt": self.words}, "vscode_altText": self.words} if image else {}
        return {"text/html": self.html, **image, "text/plain": self.words}, about

    def __repr__(self) -> str:
        return self.words


def output_of(pixels: Pixels | None, words: str, name: str = "", *, lossless: bool = False) -> Output:
    """Return the output of a picture, uint8 (H, W, 3), or of the words without one; `name` is a CSS class."""
    if pixels is None:
        classed, said = f' class="{html.escape(name, quote=True)}"' * bool(name), html.escape(words, quote=True)
        return Output(f"<p{classed}>{said}</p>", "", "", words)
    data = encoded(pixels, "WEBP", lossless=lossless, quality=WEBP, method=4 if lossless else 6)
    tag = image_tag(data, "image/webp", words, name=name, width=pixels.shape[1])
    small = encoded(pixels, "JPEG", quality=JPEG, optimize=True, progressive=True)
    return Output(tag, "image/jpeg", text_of(small), words)


def image_tag(data: bytes, kind: str, words: str, *, name: str = "", width: int = 0) -> str:
    """Return an HTML image that contains its own data; the words are escaped."""
    classed, wide = f'class="{html.escape(name, quote=True)}" ' * bool(name), f' width="{width}"' * bool(width)
    return f'<img {classed}alt="{html.escape(words, quote=True)}"{wide} src="data:{kind};base64,{text_of(data)}">'


# ---- Panels.

MOST = 64  # moments of a panel that is a picture
EVERY, CHEAP = 320, 0.3  # moments of a cheap panel, whose frames all take at most this share of the room
ROOM, OF_NUMBERS = (92_000, 200_000), 0.02  # bytes of a page's panels; share of the numbers' bytes
DENSITY = 1.0  # pixels of large pictures for one of the window's
WINDOW = (1280, 720)  # pixels of the window with the column
PIXELS = {"image", "sprites", "points"}  # kinds of records other than words, numbers and lines
Lists = dict[int, list[Record]]  # of a panel, by frame index
Frames = Callable[[int], Frame]
"""Returns the frame with this index."""


def panel_pictures(
    scene: Scene,
    frames: Sequence[int],
    frame: Frames,
    theme: str | Theme = "dark",
    room: int | None = None,
    like: Sequence[PanelPicture] = (),
) -> list[PanelPicture]:
    """Return the display lists of the panels in the column and above the cubes, by panel and step, without the curve.

    `frames` are the indices of frames in the scene's recording. A panel with few bytes gets all of them. Others get at
    most `MOST`, dense where the loss falls, and fewer if all would take more than `room` bytes (None: the usual room of
    a page). The first and last frame are always included. Panels that stay empty are left out. `like` are pictures in
    the other theme, whose moments are used again.
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
    """Return frame indices, the last and the first first, such that every prefix is spread over the run.

    Half of the spread counts steps, half the fall of the loss: each next frame halves the widest gap.
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
    """Return the lists of these panels in column order (None: all that are ever more than a box)."""
    side, boxes = _placed(scene, theme, names)
    listed = Listed(get_theme(theme), density=DENSITY)
    found: dict[str, Lists] = {name: {} for name in sorted(boxes, key=lambda name: boxes[name][1])
                               if names is None or name in names}  # fmt: skip
    for k in frames if found else ():
        now = frame(k)
        side.shared.extent = weight_extent(now.values)
        side.update(now)
        for name, lists in found.items():
            lists[k] = [["box", *short(with_air(boxes[name]))], *listed.records(side.drawn(name))]
    # a sheet that waits for input is empty
    return {name: lists for name, lists in found.items() if lists and len(list(lists.values())[-1]) > 1}


def _placed(
    scene: Scene, theme: str | Theme, names: Collection[str] | None = None
) -> tuple[SidePanels, dict[str, Box]]:  # fmt: skip
    """Return the panels of a page, placed as in a window, and the boxes of these (None: of all)."""
    look = get_theme(theme)
    side = SidePanels(subject_of(scene), look)
    side.shared.shows_all = not look.presenter  # a page has all of them; for a presenter, as the window, the main ones
    above = [name for name, drawer in side.drawers.items() if drawer.panel.place == "above"]
    if look.presenter:  # above the cubes there is no room for large letters
        side.column.take_in(above)
    places = arrange(HALL if look.presenter else WINDOW, side.column.wanted_panels(), presenter=look.presenter)
    if above and not look.presenter:
        side.put_above(_scene_of_a_page(side.shared.subject), foot=LINE)
    boxes = {name: box for name, box in places.panels.items() if not isinstance(side.drawers[name].panel, LossCurve)}
    side.place(boxes)
    boxes |= {name: box for name in above if (box := side.drawers[name].box) is not None}
    if names is not None:
        side.set_unseen(frozenset(boxes) - frozenset(names))
    return side, boxes


def _scene_of_a_page(subject: Subject) -> Box:
    """Return the box of the cubes and the panels above them in the lying picture of a page."""
    bench = Workbench(subject, SHAPES[0], timed=True)
    x, y, width, height = bench.places.scene
    above = [drawer.box[1] for drawer in bench.side.drawers.values() if drawer.panel.place == "above" and drawer.box]
    top = min([y, *(upper - GROUND for upper in above)])
    return x, top, width, height + y - top


def slots_of(scene: Scene, frame: Frame, look: Theme) -> dict[str, Slot]:
    """Return the parts of a scene's panels that show outputs of the network, by panel."""
    side, boxes = _placed(scene, look)
    side.update(frame)
    return {name: slot for name in boxes if (slot := side.drawers[name].slot()) is not None}


def _fitting(drawn: dict[str, Lists], order: Sequence[int], room: int) -> dict[str, Lists]:
    """Return the lists at the first moments of `order` that fit into `room`: at least both ends, for all panels."""
    there = [k for k in order if any(k in lists for lists in drawn.values())]

    def kept(count: int) -> dict[str, Lists]:
        some = set(there[:count])
        return {name: {k: one for k, one in lists.items() if k in some} for name, lists in drawn.items()}

    def weight(count: int) -> int:
        return sum(map(_weight, kept(count).values()))

    count = bisect_right(range(len(there) + 1), room, key=weight) - 1
    return kept(count if count >= min(2, len(there)) else 0)


def _pictures(drawn: dict[str, Lists], frame: Frames) -> list[PanelPicture]:
    return [PanelPicture(name, frame(k).step, math.ceil(one[0][3]), math.ceil(one[0][4]), stored(one))
            for name, lists in drawn.items() for k, one in lists.items()]  # fmt: skip


def _weight(lists: Lists) -> int:
    """Return the bytes of lists in a page, which stores the changes from one to the next."""
    befores = [None, *lists.values()]
    return len(stored([changes(one, two) for one, two in zip(befores, lists.values(), strict=False)]))


def with_air(box: Box) -> Box:
    """Return the box of a panel with its margin."""
    return box[0] - AIR, box[1] - AIR, box[2] + 2 * AIR, box[3] + 2 * AIR
