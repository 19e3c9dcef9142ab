"""Pictures of a scene's panels at some frames of its recording, drawn after the training, never while it runs.

The panels' own drawers draw them where the window's column has them, from the recorded values through the network of
the scene, which answers at the values of any frame.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingDependencyError
from ...run.core.frame import Frame
from ...run.panels import LossCurve
from ...run.questions.ranges import extent
from ...run.scene.scene import Scene
from ...run.sources.recording.contents import Picture
from ..ink.painter import Painter
from ..ink.places import arrange
from ..ink.sketch import Box
from ..ink.theme import Theme, get_theme
from ..out.offscreen import available, offscreen
from ..panels.image import AIR
from ..screen.side import SidePanels
from ..shown.subject import subject_of

MOST = 24
"""Pictures of a panel."""
ROOM = 400_000
"""Bytes that all pictures of a page take, as base64."""
WINDOW = (1280, 720)
"""Pixels of the window whose column it is."""
SCALES = (2, 1)
"""Pixels of a picture for one of the window's, as far as there is room."""
LOSSY = (90, 75)
"""Qualities where pictures that are true in each pixel have no room."""

Pixels = NDArray[np.uint8]
Part = tuple[str, int, Pixels]
"""Panel, step and pixels of a picture."""


def can_draw() -> bool:
    """Whether anything can be drawn here."""
    try:
        return not available()
    except MissingDependencyError:
        return False


def chosen(frames: Sequence[int], most: int) -> list[int]:
    """`most` of some frames: the first, the last, and between them evenly."""
    places = np.linspace(0, len(frames) - 1, min(most, len(frames))).round().astype(int)
    return [frames[k] for k in np.unique(places)]


def panel_pictures(
    scene: Scene, frames: Sequence[int], frame: Callable[[int], Frame], theme: str | Theme = "dark", room: int = ROOM
) -> list[Picture]:
    """Pictures of the panels in the column, without the loss curve, which a time bar has.

    Parameters
    ----------
    scene : Scene
        Whose network and panels these are.
    frames : sequence of int
        Numbers of frames of its recording: of `MOST` of them there will be pictures.
    frame : callable
        ``frame(k)``: one of them.
    theme : str
    room : int
        Bytes that all of them may take as base64: where they would be more, they are drawn smaller, then compressed
        with loss, and in the end there are fewer.

    Returns
    -------
    list of Picture
        By panel and step; one that looks as the one before it is left out, and a panel that is empty at every step.
        Empty where there is no such panel.
    """
    look, frames = get_theme(theme), chosen(frames, MOST)
    drawn: list[Part] = []
    for scale in SCALES:
        drawn = _drawn(scene, frames, frame, look, scale)
        if (found := _fitting(drawn, room, _lossless)) is not None:
            return found
    while drawn:
        for quality in LOSSY:
            if (found := _fitting(drawn, room, partial(_lossy, quality))) is not None:
                return found
        steps = sorted({step for _, step, _ in drawn})
        kept = set(chosen(steps, len(steps) // 2)) if len(steps) > 2 else set()
        drawn = [one for one in drawn if one[1] in kept]
    return []


def _fitting(parts: Sequence[Part], room: int, how: Callable[[Pixels], bytes]) -> list[Picture] | None:
    """All of them encoded, None where they have no room; told soon."""
    found, taken = dict[int, Picture](), 0
    for k in sorted(range(len(parts)), key=lambda k: -k % 5):  # some of everywhere first: they say what all will take
        found[k] = _encoded(parts[k], how)
        taken += 4 * -(-len(found[k].image) // 3)
        if taken > room or (len(found) >= 5 and taken * len(parts) > 1.3 * room * len(found)):
            return None
    return [found[k] for k in range(len(parts))]


def _drawn(scene: Scene, frames: Sequence[int], frame: Callable[[int], Frame], theme: Theme, scale: int) -> list[Part]:
    """Name, step and pixels of each picture that is new."""
    subject = subject_of(scene)
    with offscreen() as context:
        side = SidePanels(subject, theme)
        side.lodge()
        boxes = {name: box for name, box in arrange(WINDOW, side.column.wanted()).panels.items()
                 if not isinstance(side.drawers[name].panel, LossCurve)}  # fmt: skip
        if not boxes:
            return []
        left, top = (min(box[k] for box in boxes.values()) for k in (0, 1))
        boxes = {name: (x - left + AIR, y - top + AIR, wide, high) for name, (x, y, wide, high) in boxes.items()}
        wide, high = (math.ceil(max(box[k] + box[k + 2] for box in boxes.values()) + AIR) for k in (0, 1))
        painter = Painter((float(wide), float(high)), scale)
        side.place(boxes)
        found: list[Part] = []
        before: dict[str, Pixels] = {}
        for k in frames:
            now = frame(k)
            side.ground.extent = extent(now.values)
            sketches = side.update(now)

            def draw(_: object, sketches: Sequence[object] = sketches) -> None:
                painter.background(theme.background, theme.background)
                painter.draw(sketches)  # type: ignore[arg-type]

            picture = context.render(draw, (wide * scale, high * scale))
            for name, box in boxes.items():
                part = _cut(picture, box, scale)
                if name not in before or not np.array_equal(part, before[name]):
                    found.append((name, now.step, part))
                    before[name] = part
    seen = {name for name, _, part in found if (part != part[0, 0]).any()}  # a sheet that waits for a hand is empty
    return sorted((one for one in found if one[0] in seen), key=lambda one: (boxes[one[0]][1], one[1]))  # from the top


def _cut(picture: Pixels, box: Box, scale: int) -> Pixels:
    x, y, wide, high = box
    x, y, wide, high = (round(part * scale) for part in (x - AIR, y - AIR, wide + 2 * AIR, high + 2 * AIR))
    return np.ascontiguousarray(picture[y : y + high, x : x + wide])


def _encoded(one: Part, how: Callable[[Pixels], bytes]) -> Picture:
    name, step, pixels = one
    return Picture(name, step, pixels.shape[1], pixels.shape[0], how(pixels))


def _lossless(pixels: Pixels) -> bytes:
    """WebP or PNG, whichever is shorter: each pixel is as it was drawn."""
    from PIL import Image

    picture, found = Image.fromarray(pixels), []
    for kind, how in (("WEBP", {"lossless": True, "quality": 40, "method": 2}), ("PNG", {"optimize": True})):
        file = io.BytesIO()
        picture.save(file, kind, **how)
        found.append(file.getvalue())
    return min(found, key=len)


def _lossy(quality: int, pixels: Pixels) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "WEBP", quality=quality, method=4)
    return file.getvalue()
