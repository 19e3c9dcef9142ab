"""Pictures: before, network and target; made by a user's function, painted by a network, or recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...run.panels import GraphPanel, Image, Painting, Pictures, RecordedPictures, Table
from ...run.source import Moment
from ..graph.figure import GraphFigure, Wish, node_numbers, shown_of
from ..graph.layout import Box as Node
from ..graph.layout import Layout, item_words
from ..ink.boxes import COLUMN, LABEL, PRESENTER
from ..ink.figure import View
from ..ink.listed import least_scale, records_of, sketches_of
from ..ink.sketch import OF_A_PANEL, Bound, Box, Cached, Sketch, Spot, spot_at
from ..ink.text import measure
from ..ink.theme import displayed, hexed
from .drawer import Canvas, Drawer, Headline, P, Point, SharedState, Slot, Tip, ring_around, sentence, title_of
from .pace import SETTLE, Grid, Pace, fractions, reduced

SIDE = 96  # most pixels that the network paints in each direction
TITLE, GAP = 21.0, 8.0
Pixels = NDArray[np.floating]


def thumbnail(picture: Pixels, side: int = SIDE) -> NDArray[np.float32]:
    """Return `picture` (H, W, 3) in 0..1, reduced to at most `side` pixels in each direction by averaging areas."""
    array = np.asarray(picture, np.float32)
    high, wide = reduced((array.shape[0], array.shape[1]), side)
    return array if array.shape[:2] == (high, wide) else averaged(averaged(array, high, 0), wide, 1)


def averaged(array: Pixels, count: int, along: int) -> NDArray[np.float32]:
    """Return means of `count` stretches of equal length along one axis, fractions of a pixel included."""
    moved = np.moveaxis(array, along, 0)
    total = np.concatenate([np.zeros_like(moved[:1], np.float64), np.cumsum(moved, axis=0, dtype=np.float64)])
    cuts = np.linspace(0, len(moved), count + 1)
    whole = np.minimum(cuts.astype(int), len(moved) - 1)
    part = (cuts - whole).reshape(-1, *[1] * (moved.ndim - 1))
    at = total[whole] + part * (total[whole + 1] - total[whole])
    mean = np.diff(at, axis=0) / (len(moved) / count)
    return np.asarray(np.moveaxis(mean, 0, along), np.float32)


def to_bytes(picture: Pixels) -> NDArray[np.uint8]:
    """Return network output or a picture in 0..1 as sRGB bytes."""
    return np.asarray(np.rint(displayed(picture) * 255.0), np.uint8)


class PixelsDrawer(Drawer[P]):
    """Pictures of the same size, drawn as spots called ``"pixels"``, with labels for single pixels."""

    sample = 3
    """Number of the network's inputs for a pixel."""
    size = (1, 1)
    """Pixels of each picture: height and width."""
    _spots: Sequence[Spot] = ()

    def sample_of(self, pixel: tuple[int, int]) -> tuple[ArrayLike, ArrayLike]:
        """Return the present sample of a pixel and its target."""
        raise NotImplementedError

    def says(self, moment: Moment, pixel: tuple[int, int]) -> Tip:
        """Return the label of a pixel: colour, output, and more lines."""
        raise NotImplementedError

    def place_pictures(
        self, sketch: Sketch, places: Sequence[Box], images: Sequence[NDArray[np.uint8]], names: Sequence[str]
    ) -> list[Sketch]:
        """Draw pictures in their places; pixels of small ones stay visible when enlarged."""
        for place, image, name in zip(places, images, names, strict=True):
            sketch.image(place, image, linear=image.shape[1] > 8)
            sketch.spot(place, "pixels", words=name)
        self._spots = sketch.spots
        return [sketch]

    # ---- input

    def under(self, at: Point) -> tuple[int, int] | None:
        """Return row and column of the pixel at a point, in any of the pictures, or None."""
        spot = None if self.box is None else spot_at(self._spots, at)
        if spot is None:
            return None
        (x, y, width, height), (high, wide) = spot.box, self.size
        row, column = int((at[1] - y) / height * high), int((at[0] - x) / width * wide)
        return min(row, high - 1), min(column, wide - 1)

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """Return a pixel's colour, output and target, and the action of a click."""
        if (pixel := self.under(at)) is None:
            return None
        name, value, more = self.says(moment, pixel)
        return name, value, [*more, *self.shared.choose_tips(self.sample)]

    def click(self, at: Point) -> bool:
        pixel = self.under(at)
        if pixel is None or not self.shared.can_choose(self.sample):
            return False
        self.shared.choose_by(lambda: self.sample_of(pixel))
        return True


class PicturesDrawer(PixelsDrawer[Pictures]):
    """Paints the reduced source with the network at every frame."""

    name = "pictures"
    height = 117.0
    least = 84.0
    needs = ("predict",)
    choices = (("Click", "on a pixel of a picture: choose it"),)

    def __init__(self, panel: Pictures, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self._label = panel.label
        self._set_pictures(thumbnail(panel.source), thumbnail(panel.target))

    def _set_pictures(self, source: Pixels, target: Pixels) -> None:
        """Show these reduced pictures."""
        self._source, self._target = source, np.clip(target, 0.0, 1.0)
        self._shown = to_bytes(self._source), to_bytes(self._target)
        self.size = source.shape[0], source.shape[1]
        self.most = image_height(source.shape[1] / source.shape[0])

    def take(self, picture: NDArray[np.floating]) -> str:
        """Show a picture before, after and as the target, if the scene computes its target."""
        if self.panel.target_of is None:
            return "this scene has no target for a picture"
        source = thumbnail(picture)
        self._set_pictures(source, self.panel.target_of(source))
        self._label, self.stale = "yours", True
        return "shown: before, after, target"

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        (high, wide), theme, sketch = self.size, self.shared.theme, Sketch()
        made = to_bytes(moment.predict(self._source.reshape(-1, 3)).reshape(high, wide, -1))
        (x, y, _, height), cell = box, (box[2] - 2 * GAP) / 3
        own = min(cell, (height - 21) * wide / high)
        size = round(own), round(own * high / wide)
        places: list[Box] = [(round(x + k * (cell + GAP)), y + 21.0, *size) for k in range(3)]
        large, *small = image_boxes(box, wide / high)
        if large[2] > own:
            places = [small[0], large, small[1]]
        names = (self._label, "network", "target")
        for place, title in zip(places, names, strict=True):
            mine = title == "network"
            if measure(title, LABEL, mine) <= max(cell, place[2]):
                sketch.text(place[0], place[1] - 7, title, LABEL, theme.text1 if mine else theme.text2, bold=mine)
        chosen = np.argwhere((self._source == np.asarray(self.shared.sample, np.float32)).all(axis=2))[:1]
        rings = [ring_around((x + (j + 0.5) / wide * across, y + (i + 0.5) / high * down), _RING, theme)
                 for i, j in chosen for x, y, across, down in places]  # fmt: skip
        return [*self.place_pictures(sketch, places, (self._shown[0], made, self._shown[1]), names), *rings]

    def slot(self) -> Slot:
        return Slot("image", 1, self._source.reshape(-1, 3), self.size)

    def says(self, moment: Moment, pixel: tuple[int, int]) -> Tip:
        colour = self._source[pixel]
        now = hexed(displayed(moment.predict(colour[None]))[0])
        return hexed(colour), f"is now {now}", [f"target: {hexed(self._target[pixel])}"]

    def sample_of(self, pixel: tuple[int, int]) -> tuple[ArrayLike, ArrayLike]:
        sample, plain = self._source[pixel][None], self._target[pixel][None]
        return sample, self.shared.current_targets(sample, plain)


# ---- Pictures that a user's function makes of every moment.

LARGEST = 512
"""Most pixels of a side; larger pictures are averaged down."""
Made = TypeVar("Made")
Own = TypeVar("Own", bound=Image | Table | GraphPanel)


class MadeDrawer(Drawer[Own], Generic[Own, Made]):
    """A title above the output of a scene's own function, or a line about its error."""

    words = True  # whether to use the frame of the picture's words
    top = TITLE  # pixels from the upper edge to the content

    def __init__(self, panel: Own, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self._note, self._title = "", panel.title
        self._ask_anew()

    def _ask_anew(self) -> None:
        """Call the function again."""
        self._asked, self.stale = Asked(self.panel.title, self.shared, words=self.words), True

    def _call_function(self, moment: Moment) -> Made:
        raise NotImplementedError

    def _show(self, made: Made, room: Box) -> Sketch:
        """Return the output, in the room below the title."""
        raise NotImplementedError

    @property
    def moving(self) -> bool:
        return self._asked.moving

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        made, error = self._asked.call(moment, seconds, lambda: self._call_function(moment))
        title, theme, room = Sketch(), self.shared.theme, (box[0], box[1] + self.top, box[2], box[3] - self.top)
        shown = sentence(room, theme, error) if made is None else self._show(made, room)
        inner = self.shared.opened_step if self.within else None  # then it shows the opened step
        title_of(title, box, theme, self._title, inner.samples if inner else self._asked.age or self._note)
        return [title, shown]


class ImageDrawer(MadeDrawer[Image, NDArray[np.uint8]]):
    """Calls the function and checks its picture."""

    name, words = "image", False
    height, most = 166.0, COLUMN + TITLE
    overlay = (200.0, 200.0 + TITLE)
    beside = (64.0, 64.0 + TITLE)

    def _call_function(self, moment: Moment) -> NDArray[np.uint8]:
        self._note = self.panel.note
        return as_pixels(self.panel.paint(moment))

    def _show(self, made: NDArray[np.uint8], room: Box) -> Sketch:
        sketch, fitted = Sketch(), fitting(room, (made.shape[1], made.shape[0]))
        sketch.image(fitted, made, linear=self.panel.smooth or fitted[2] < made.shape[1])
        return sketch


def fitting(box: Box, size: tuple[int, int]) -> Box:
    """Return the largest box of a picture's aspect at the left top of a box."""
    wide, high = size
    scale = min(box[2] / wide, box[3] / high)
    return box[0], box[1], max(round(wide * scale), 1), max(round(high * scale), 1)


class Asked:
    """The last output of a user's function, and when to call it again; an exception stops nothing."""

    def __init__(self, title: str, shared: SharedState, *, words: bool = False) -> None:
        self._title, self._shared = title, shared
        self._words = words  # whether it uses the frame of the picture's words
        self._pace = Pace(shared.hints)
        self._made: Any = None
        self._error = ""
        self._step = 0

    @property
    def moving(self) -> bool:
        """True if the output is of an earlier frame, or its age was shown until a moment ago."""
        return self._pace.late or self._pace.old

    @property
    def age(self) -> str:
        """The step of the output, if it is not the one shown."""
        return f"step {self._step:,}" if self._pace.old else ""

    def call(self, moment: Moment, seconds: float | None, make: Callable[[], Made]) -> tuple[Made | None, str]:
        """Return the output of `make` for this moment, or an earlier one if it is costly; and the error, or ""."""
        waits = self._words and self._made is not None  # the old output may stay until words are written
        frame = (waits and self._shared.words_frame) or moment.frame
        if self._pace.due(frame, seconds) and frame is moment.frame:
            start = time.perf_counter()
            try:
                self._made, self._error = make(), ""
            except Exception as error:  # a user's code: show the error in its place and continue
                self._made, self._error = None, self._shared.report_failure(f"panel {self._title!r}", error)
            self._step = moment.step
            self._pace.mark_done(time.perf_counter() - start)
        return self._made, self._error


def as_pixels(picture: ArrayLike) -> NDArray[np.uint8]:
    """Return a user's picture as uint8 (H, W, 3), a copy; raise InputError for another shape or dtype."""
    array = np.asarray(picture)
    if array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        raise InputError(f"paint: got shape {array.shape}; allowed: (H, W, 3)")
    if array.dtype == np.uint8:
        if max(array.shape[:2]) <= LARGEST:
            return array.copy()
        array = array / np.float32(255)
    elif array.dtype.kind != "f":
        raise InputError(f"paint: got dtype {array.dtype}; allowed: uint8, or floats in 0..1")
    return to_bytes(thumbnail(array, LARGEST))


# ---- The drawer of a panel's pictures in a recording, each with its step.

AIR = 4
"""Pixels around a panel's box that belong to its picture: letters and discs may extend beyond the box."""
LINE = 20.0
READABLE = 0.7  # least size of a wide picture above the cubes, as a share of the recorded one


class RecordedPicturesDrawer(Drawer[RecordedPictures]):
    """The newest picture that is not after the step shown, with its step below."""

    name = "recorded picture"
    least, first = 60.0, True

    def __init__(self, panel: RecordedPictures, shared: SharedState) -> None:
        super().__init__(panel, shared)
        first = panel.pictures[0]
        high = (COLUMN + 2 * AIR) * first.height / first.width - 2 * AIR
        self.height = min(max(high, 8.0), 2.0 * COLUMN) + LINE
        self.above, self.least_across = first.height - 2 * AIR + LINE, READABLE * first.width
        self.aspect = first.width / first.height
        last = panel.pictures[-1]
        self.narrowest = last.width * least_scale(records_of(last.image, (last.width, last.height))) - 2 * AIR
        self._read = Cached[list[Sketch] | None]()

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        x, y, width, height = box
        number, theme, sketch = self.panel.at_step(moment.step), self.shared.theme, Sketch()
        if number is None:
            first = self.panel.pictures[0].step
            return [sentence(box, theme, f"{self.panel.title}: recorded from step {first:,} on")]
        picture = self.panel.pictures[number]
        size = picture.width, picture.height
        place = fitting((x - AIR, y - AIR, width + 2 * AIR, height - LINE + 2 * AIR), size)
        make = lambda: sketches_of(records_of(picture.image, size), theme, place)  # noqa: E731
        read = self._read.get((number, place, theme), make)
        if read is None:
            return [sentence(box, theme, f"{self.panel.title}: its picture in the file cannot be read")]
        for part in read:
            part.copied = self.panel.title, place
        title = self.panel.title
        words = next(one for one in (f"{title} at step ", "step ", "")
                     if not one or measure(f"{one}{picture.step:,}", LABEL) <= width)  # fmt: skip
        said = Bound(f"{OF_A_PANEL}{title}", form="count", before=words)
        ink, down = theme.text2 if picture.step != moment.step else theme.text3, y + place[3] - 2 * AIR + 16
        sketch.number(x, down, picture.step, said, LABEL, ink, bold=False, anchor="left")
        return [*read, sketch]


# ---- A picture that a network paints: network large, target and error small.


LADDER = (12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 304)
"""Pixels of the longer side in a window."""
BUDGET = 0.016
"""Seconds of painting per frame: half of a thirtieth of a second, because it is the scene's main content."""
FILM, STILL = 160, 608
"""Pixels of the longer side in a film and in a picture: fixed, so that both are reproducible."""
SLOT = 64
"""Pixels of the longer side in a page that trains."""


BETWEEN = 12.0
_RING = 6.0
"""Radius of the ring around a pixel."""
WIDE = 1.2
"""Least aspect for small pictures below the large one; else they are beside it."""
TALLEST, LEAST = 260.0, 16.0
"""Largest height of the large picture beside small ones, and least height of these, in pixels."""
_SMALL = 190.0  # least height beside the controls
Boxes = tuple[Box, Box, Box]
"""Boxes of network, target and error."""


def image_height(aspect: float) -> float:
    """Return the height that pictures of `aspect` (width / height) need in a column, titles included."""
    if aspect >= WIDE:
        return 2 * TITLE + BETWEEN + (COLUMN + (COLUMN - GAP) / 2) / aspect
    return TITLE + _tall(COLUMN, aspect)


def image_boxes(box: Box, aspect: float) -> Boxes:
    """Return the boxes of the three pictures in a panel's box, the network's as large as possible."""
    below, beside = _below(box, aspect), _boxes_beside(box, aspect)
    if beside[1][3] < LEAST:  # too low for two small ones
        return below if aspect >= WIDE else beside
    return max(below, beside, key=lambda boxes: boxes[0][2])


def _below(box: Box, aspect: float) -> Boxes:
    x, y, width, height = box
    half = (width - GAP) / 2
    share = min(1.0, (height - 2 * TITLE - BETWEEN) * aspect / (width + half))
    large, small = (_sides(wide * share, aspect) for wide in (width, half))
    top = y + 2 * TITLE + BETWEEN + large[1]
    return (x, y + TITLE, *large), (x, top, *small), (x + large[0] - small[0], top, *small)


def _boxes_beside(box: Box, aspect: float) -> Boxes:
    x, y, width, height = box
    tall = min(_tall(width, aspect), height - TITLE)
    large = _sides(tall * aspect, aspect)
    small = _sides((tall - BETWEEN - TITLE) / 2 * aspect, aspect)
    left, below = x + large[0] + 2 * GAP, y + 2 * TITLE + BETWEEN + small[1]
    return (x, y + TITLE, *large), (left, y + TITLE, *small), (left, below, *small)


def _tall(width: float, aspect: float) -> float:
    """Return the height at which a large picture and one of two beside it fill the width."""
    return min(TALLEST, (width - 2 * GAP + (BETWEEN + TITLE) / 2 * aspect) / (1.5 * aspect))


def _sides(wide: float, aspect: float) -> tuple[int, int]:
    return max(1, round(wide)), max(1, round(wide / aspect))


class PaintingDrawer(PixelsDrawer[Painting]):
    """Paints the network's picture on a grid, and compares it with the target at the same pixels."""

    name, sample = "painting", 2
    needs = ("predict",)
    ends = 520.0, 480.0
    choices = (("Click", "on a pixel of the picture that the network paints: choose it"),)

    def __init__(self, panel: Painting, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self.height = image_height(panel.size[1] / panel.size[0])
        self.least = min(self.height, _SMALL)
        self.grid = Grid(shared.hints, LADDER, BUDGET)
        self._wanted: Pixels | None = None
        self._target = np.zeros((1, 1, 3), np.uint8)
        self._images = (self._target,) * 3
        self.size = panel.size
        self._painted: Pixels = np.zeros(0)  # the weights of the painting
        self._psnr, self._note = float("nan"), ""

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Compute the target picture of a moment, and some of the network's pixels."""
        wanted = self.panel.wanted(moment)
        if wanted is not self._wanted:
            self._wanted, self._target = wanted, to_bytes(thumbnail(wanted, LARGEST))
            self.size = wanted.shape[0], wanted.shape[1]
            self._aim()

        def ask(down: Pixels, across: Pixels) -> Pixels:
            y, x = ((at + 0.5) / n for at, n in zip(self._pixels(down, across), self.size, strict=True))
            places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
            return np.asarray(np.nan_to_num(moment.predict(places)))

        longest = max(self.size) if self.shared.hints else STILL if seconds is None else FILM
        if self.shared.writes or seconds is None:  # like the HUD
            self._psnr = self.panel.likeness(moment)
        # A step begins with all pixels and keeps them: more of them would look like learning.
        inside, size = self.shared.opened_step is not None, reduced(self.size, longest)
        if inside and np.array_equal(self._painted, moment.frame.values):
            return
        news = self.grid.update(moment.frame, seconds, size, ask)
        while inside and self.grid.unfinished:
            news |= self.grid.update(moment.frame, SETTLE, size, ask)
        if news:
            self._painted = moment.frame.values if inside else np.zeros(0)
            made = self.grid.numbers
            assert made is not None
            near = wanted[np.ix_(*self._pixels(*(fractions(count) for count in made.shape[:2])))]
            error = made - near
            self._images = to_bytes(made), self._target, to_bytes(0.5 + self.panel.gain * error / 2)

    def _pixels(self, down: Pixels, across: Pixels) -> list[NDArray[np.int64]]:
        """Return rows and columns of the pixels at fractions of the size, which may be at the edge between two."""
        return [(part * n + 1e-9).astype(np.int64) for part, n in zip((down, across), self.size, strict=True)]

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        sketch, theme, (high, wide) = Sketch(), self.shared.theme, self.size
        places = large, small, last = image_boxes(box, wide / high)
        if self.shared.writes or not self._note:
            self._note = self._noted(moment, self._counted(), large[2])
        pixel = () if self.shared.opened_step is None or self.shared.sample is None else self.shared.sample.tolist()
        named = map("{} = {:.4g}".format, self.shared.subject.sample.inputs, pixel)
        note = ",  ".join(named) or self._note
        title_of(sketch, (large[0], box[1], large[2], TITLE), theme, "network", note)
        end = box[0] + box[2]
        ends = (last[0] - GAP if last[1] == small[1] else end), end
        for place, end, titles in zip((small, last), ends, (("target",), self._error_words), strict=True):
            said = next((title for title in titles if measure(title, LABEL) <= end - place[0]), "")
            sketch.text(place[0], place[1] - 7, said, LABEL, theme.text2)
        rings = self._rings(places)
        return [*self.place_pictures(sketch, places, self._images, ("network", "target", "error")), *rings]

    def _rings(self, places: Sequence[Box]) -> list[Sketch]:
        """Return rings at the pixel that an opened step learns, in these boxes."""
        if self.shared.opened_step is None or self.shared.sample is None:
            return []
        (across, down), theme = self.shared.sample.tolist(), self.shared.theme
        return [ring_around((x + across * w, y + down * h), _RING, theme) for x, y, w, h in places]

    def _counted(self) -> str:
        made, (high, wide) = self.grid.numbers, self.size
        count = 0 if made is None else made[..., 0].size
        if count == high * wide:
            return f"all {count:,} pixels" if count > 1 else "1 pixel"
        return f"{count:,} of {high * wide:,} pixels"

    def slot(self) -> Slot:
        high, wide = size = reduced(self.size, SLOT)
        y, x = ((np.arange(count) + 0.5) / count for count in size)
        places = np.stack([np.tile(x, high), np.repeat(y, wide)], axis=1)
        return Slot("image", 0, places, size, whole=False, canvas=Canvas(self.size, (self._note, *self._error_words)))

    @property
    def _error_words(self) -> tuple[str, str]:
        """Words above the error, long and short."""
        gain = f"error × {self.panel.gain / 2:g}"
        return f"{gain}, grey = 0", gain

    def _noted(self, moment: Moment, counted: str, width: float) -> str:
        """Return the epoch and the number of painted pixels; without room only the epoch."""
        if self.panel.epochs is None:
            return counted
        number = self.panel.epochs(moment)
        epoch = f"epoch {number:.1f}" if number < 100 else f"epoch {number:,.0f}"
        both = f"{epoch}  ·  {counted}"
        return both if measure("network", LABEL, True) + 12 + measure(both, LABEL) <= width else epoch

    @property
    def moving(self) -> bool:
        return self.grid.unfinished and self.shared.opened_step is None

    @property
    def headline(self) -> Headline | None:
        """The PSNR of the network's picture."""
        return Headline("likeness (psnr)", f"{self._psnr:.1f} dB") if np.isfinite(self._psnr) else None

    # ---- input

    def take(self, picture: Pixels) -> str | None:
        if self.panel.other is None:
            return None
        self.shared.subject.source.edit(self.panel.other(picture))
        return "this picture is the new target"

    def says(self, moment: Moment, pixel: tuple[int, int]) -> Tip:
        place = self._place(pixel)
        wanted, made = self._target_colour(place), moment.predict(place[None])[0]
        off = ", ".join(f"{100 * e:+.0f}".replace("-", "−") for e in made - wanted)
        name = f"row {pixel[0]:,}, column {pixel[1]:,}"
        return name, f"is {hexed(displayed(made))}", [f"target: {hexed(wanted)}", f"off by {off} %"]

    def sample_of(self, pixel: tuple[int, int]) -> tuple[ArrayLike, ArrayLike]:
        place = self._place(pixel)
        return place, self._target_colour(place)

    def _place(self, pixel: tuple[int, int]) -> NDArray[np.float32]:
        """Return the middle of a pixel as input of the network, shape (2,)."""
        high, wide = self.size
        return np.array([(pixel[1] + 0.5) / wide, (pixel[0] + 0.5) / high], np.float32)

    def _target_colour(self, place: NDArray[np.floating]) -> Pixels:
        """Return the target colour of the pixel at a place."""
        assert self._wanted is not None
        high, wide = self._wanted.shape[:2]
        row, column = (min(int(part * n), n - 1) for part, n in ((place[1], high), (place[0], wide)))
        return np.asarray(self._wanted[row, column])

    def _aim(self) -> None:
        """Set the target of the probe sample to its colour in the present picture."""
        subject = self.shared.subject
        if subject.probe is None or subject.probe.size != 2 or subject.target is None or subject.target.size != 3:
            return
        place = subject.probe.ravel().copy()
        subject.choose(place, self._target_colour(place))
        self.shared.probes += 1


# ---- A graph of Values: as large as it fits; the user can move, zoom and unfold it.

SMALLEST = 0.5
"""Smallest automatic scale of letters: a larger graph is cut, and can be moved."""


class GraphDrawer(MadeDrawer[GraphPanel, tuple[Layout, float | None]]):
    """Draws the graph of each moment, with its legend beside the title."""

    name = "graph"
    height, most, top = 190.0, 420.0, 22.0
    overlay, above = (440.0, 260.0), 240.0
    worth = 4
    wide, within = True, 1.0
    gestures = (
        ("Drag", "a graph that is larger than its panel: move it"),
        ("Click", "on a folded node of a graph: unfold it"),
        ("Wheel", "over a graph: zoom"),
        ("Double click", "on a graph: reset place and size"),
    )

    def __init__(self, panel: GraphPanel, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self._unfold: tuple[str, ...] = ()
        self._ink: GraphFigure | None = None
        self._ink_of: tuple[object, ...] | None = None  # its content and theme
        self._view: View | None = None
        self._by_hand = False  # whether the user has moved or zoomed it

    def _show(self, made: tuple[Layout, float | None], room: Box) -> Sketch:
        (layout, v), inner = made, self.shared.opened_step
        shows = made, self.shared.theme, inner is None
        if self._ink is None or inner is not None or self._ink_of != shows:
            seen, now = ({}, None) if inner is None else node_numbers(layout, inner.nodes, inner.current_node)
            self._ink = GraphFigure(layout, self.shared.theme, None, share=1.0, v=v, seen=seen, now=now)
            self._ink_of = shows
        view = self._view = self._view_in(self._ink.size, room)
        at = room[0] + view.left, room[1] + view.top
        return self._ink.placed(scale=view.scale, at=at, ground=False, window=room)

    def _call_function(self, moment: Moment) -> tuple[Layout, float | None]:
        made = self.panel.made(moment)
        now = shown_of(made.roots, Wish(self.panel.chains, self._unfold))
        there = any(item.grad is not None for item in now.items)
        below = f"gradient of {now.of}" if there and now.of else "gradient" if there else "no gradient yet"
        self._note = "  ·  ".join(filter(None, (f"value, {below}", made.note)))
        self._title = made.title or self.panel.title
        return Layout(now.items), self.shared.extent

    def _view_in(self, figure: Point, room: Box) -> View:
        """Return a view of the whole graph; after a move by hand, of the same part in this room."""
        window = room[2], room[3]
        if self._view is None or not self._by_hand:
            return View.readable(figure, window, self._least_scale)
        return replace(self._view, figure=figure, window=window).within()

    @property
    def _least_scale(self) -> float:
        """The smallest automatic scale; larger for a presenter."""
        return SMALLEST / (PRESENTER if self.shared.theme.presenter else 1.0)

    # ---- input

    def _in_room(self, at: Point) -> Point:
        """Return a point in pixels of the graph's room."""
        assert self.box is not None
        return at[0] - self.box[0], at[1] - self.box[1] - self.top

    def under(self, at: Point) -> Node | None:
        if self._ink is None or self._view is None or self.box is None or self._in_room(at)[1] < 0:
            return None
        return self._ink.box_at(self._view.to_figure(self._in_room(at)))

    def _look(self, view: View) -> bool:
        """Show this part from now on."""
        self._view, self._by_hand, self.stale = view, True, True
        return True

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        if (box := self.under(at)) is None:
            return None
        head, *more = item_words(box.item).splitlines()
        inside = self.shared.opened_step is not None  # in an opened step, numbers appear one by one
        return head, "", [line for line in more if not (inside and line.startswith(("value", "gradient")))]

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """Move a graph that is larger than its room; the scene never moves."""
        if self._view is not None and (moved := self._view.within(by)) != self._view:
            self._look(moved)
        return True

    def zoom(self, at: Point, factor: float) -> bool:
        """Zoom around the pointer, not below the whole graph."""
        if self._view is None or self.box is None:
            return False
        least = min(self._view.fitting, self._least_scale)
        return self._look(self._view.zoomed(max(factor, least / self._view.scale), self._in_room(at)).within())

    def click(self, at: Point) -> bool:
        box = self.under(at)
        if box is None or not box.item.unfolds:
            return False
        self._unfolded((*self._unfold, box.item.unfolds))
        return True

    def double_click(self, at: Point) -> bool:
        """Return to the initial place and size; unfolded parts stay unfolded."""
        box = self.under(at)
        if self._view is None or not self._by_hand or (box is not None and box.item.unfolds):
            return False
        self._by_hand, self.stale = False, True
        return True

    def fit(self) -> None:
        """Return to the initial view, and fold everything."""
        self._by_hand = False
        self._unfolded(())

    def _unfolded(self, unfold: tuple[str, ...]) -> None:
        """Draw the graph again with these parts unfolded."""
        self._unfold = unfold
        self._ask_anew()
