"""The drawer of the colour cube: turn it, choose a colour as the sample, and teach a colour another target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ...run.edits import SetTargets
from ...run.panels import ColourCube
from ...run.source import Moment
from ..ink.boxes import LABEL
from ..ink.sketch import Box, Float, Sketch, contains
from ..ink.text import measure
from ..ink.theme import Theme, displayed, hexed
from ..space.camera import Camera, Rect, camera_of, fit, pose_of, triple, turn_by, zoomed
from .drawer import Drawer, Point, SharedState, Slot, Tip

# ---- The colour cube: sample colours at their RGB place, painted with the network's output, beside the target.

Colours = NDArray[np.floating]
_CORNERS = np.array([[r, g, b] for r in (0, 1) for g in (0, 1) for b in (0, 1)], dtype=float)
_CUBE = 146.0  # width of one cube
_APART = 12.0  # least pixels between the two
_LARGEST = 24.0  # diameter of a disc
_BEYOND = 3.0  # pixels that a disc may extend beyond the panel
_DISTANCE = 3.6
Turn = tuple[float, float]
"""Azimuth and elevation in degrees."""
FITTED: Turn = (53.0, 26.0)
"""White is the nearest corner, black the farthest, blue runs downwards."""


class CubePlaces:
    """The places of the discs of one colour cube, and which are visible; computed once per angle.

    Hidden discs are left out: of a full grid of 16 x 16 x 16 colours five in six are inside.
    """

    def __init__(self, inputs: Colours, box: Box, turn: Turn = FITTED) -> None:
        x, y, width, height = box
        size = (round(x + width) + 64, round(y + height) + 64)
        side = max(2.0, round(len(inputs) ** (1 / 3)))
        # a few colours are large discs beyond the corners: leave more air for them
        for air in (3.0, 0.5 * _LARGEST + 1.0) if side > 4 else (0.5 * _LARGEST + 1.0,):
            rect = (x + air, y + air, x + width - air, y + height - air)
            self._camera = fitted = _camera(FITTED, size, rect)
            spacing = self._pixels(_place(_CORNERS)) / (side - 1)
            self.diameter = float(min(max(1.32 * spacing, 3.0), _LARGEST))
            if 0.5 * self.diameter <= air + _BEYOND:
                break
        if turn != FITTED:
            self._camera = _no_larger(_camera(turn, size, rect), fitted, rect)
        where = _place(inputs)
        order = np.argsort(_nearness(self._camera, where), kind="stable")
        flat = self._camera.project(where[order])
        seen = _uncovered(flat, self.diameter)
        self.visible = order[seen]  # rows of `inputs` that are drawn, far to near
        self.centres: Float = flat[seen].astype(np.float32)

    def _pixels(self, corners: Colours) -> float:
        """Return the length of the nearest edge on screen."""
        white, cyan = self._camera.project(corners[[7, 3]])
        return float(np.hypot(*(white - cyan)))

    def disc_at(self, x: float, y: float) -> int | None:
        """Return the index in `visible` of the disc at a point, or None."""
        away = np.hypot(self.centres[:, 0] - x, self.centres[:, 1] - y)
        under = np.flatnonzero(away <= 0.5 * self.diameter)
        return int(under[-1]) if len(under) else None

    def edges(self) -> Float:
        """Return the cube's outline without front edges: (E, 2, 2)."""
        pairs = [(a, b) for a in range(8) for b in range(a) if np.abs(_CORNERS[a] - _CORNERS[b]).sum() == 1]
        ends = self._camera.project(_place(_CORNERS))
        front = int(np.argmax(_nearness(self._camera, _place(_CORNERS))))
        rim = [(a, b) for a, b in pairs if front not in (a, b)]
        return np.array([[ends[a], ends[b]] for a, b in rim], dtype=np.float32)


def _camera(turn: Turn, size: tuple[int, int], rect: Rect) -> Camera:
    azimuth, elevation = turn
    corners = _place(_CORNERS)
    return fit(corners, size, rect, azimuth=azimuth, elevation=elevation, distance=_DISTANCE, align=(0.5, 0.0))


def _no_larger(camera: Camera, fitted: Camera, rect: Rect) -> Camera:
    """Return `camera`, but not nearer than the fitted one: a turned cube does not grow."""
    share = min(1.0, fitted.scale / camera.scale)
    middle = (rect[0] + rect[2]) / 2, (rect[1] + rect[3]) / 2
    corners = _place(_CORNERS)
    return camera_of(zoomed(pose_of(camera, corners.mean(axis=0)), share, middle), camera.size, corners)


def _place(rgb: ArrayLike) -> NDArray[np.float64]:
    """Return RGB in the camera's world: green to the right, red towards the viewer, blue down."""
    colours = np.asarray(rgb, dtype=np.float64)
    return np.stack([colours[:, 1], -colours[:, 0], -colours[:, 2]], axis=1)


def _nearness(camera: Camera, where: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-np.linalg.norm(where - camera.eye[:3], axis=1))


def _uncovered(flat: NDArray[np.float64], diameter: float) -> NDArray[np.bool_]:
    """Return which discs, painted in order, still show a pixel at the end; computed at two pixels per logical pixel."""
    low = flat.min(axis=0) - diameter
    grid = np.floor((flat - low) * 2).astype(int)
    reach = int(diameter)  # the radius in half pixels
    span = np.arange(-reach, reach + 1)
    dy, dx = np.meshgrid(span, span, indexing="ij")
    inside = dx**2 + dy**2 <= (diameter - 0.7) ** 2
    canvas = np.full(grid.max(axis=0)[::-1] + 2 * reach + 4, -1, np.int32)
    for index, (column, row) in enumerate(grid + reach):
        canvas[row - reach : row + reach + 1, column - reach : column + reach + 1][inside] = index
    seen = np.zeros(len(flat), bool)
    seen[np.unique(canvas[canvas >= 0])] = True
    return seen


def cube_boxes(box: Box) -> tuple[Box, Box]:
    """Return the boxes of the network's and the target's cube in the panel."""
    x, y, width, height = box
    wide = min(_CUBE, (width - _APART) / 2)
    cube = (wide, height - 22)
    return (x, y + 22, *cube), (x + width - wide, y + 22, *cube)


def colours_discs(place: CubePlaces, colours: Colours) -> Sketch:
    """Return discs in `colours`, one for each of ``place.visible``, shape (V, 3) or (V, 1) for grey."""
    sketch = Sketch()
    sketch.discs(place.centres, place.diameter, displayed(colours))
    return sketch


Which = Literal["source", "target"]
Ring = tuple[float, float, float]
"""Centre and diameter."""
HINT = "now Shift+click its new colour in the target cube"


class Disc(NamedTuple):
    """One disc of a colour cube: the place of `source`, whose target is `target`.

    In the network's cube it has the colour of the network's output for `source`, in the other one the target.
    """

    which: Which
    row: int  # index in the panel's colours
    source: RGB
    target: RGB
    ring: Ring


class ColourCubeDrawer(Drawer[ColourCube]):
    """Two cubes: the network's outputs, and the targets."""

    name = "colours"
    height = 166.0
    worth = 2
    needs = ("predict",)
    gestures = (("Drag", "on the colour cube: turn it"),)
    choices = (("Click", "on a colour of the colour cube: choose it"),)
    lessons = (("Shift+Click", "on a colour, then on its new target: train on this target"),)

    def __init__(self, panel: ColourCube, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self.inputs = np.asarray(panel.inputs, float)
        self.targets = np.array(panel.targets, float)  # targets of the colours, lessons included
        self._taught = Taught()
        shared.current_targets = self._taught.targets
        self._keep_first()
        self.marked: RGB | None = None  # a source colour without its new target yet
        self._turn: Turn = FITTED
        self._cubes: dict[Which, CubePlaces] = {}
        self._on_cube = False

    def lay_out(self, box: Box) -> None:
        """Place both cubes and titles, and paint the targets."""
        near, far = (CubePlaces(self.inputs, cube, self._turn) for cube in cube_boxes(box))
        self._cubes = {"source": near, "target": far}
        self._title, theme, count, (x, y, width, _) = Sketch(), self.shared.theme, len(self.inputs), box
        title = f"all {count:,} colours: network" if count > 1 else "the colour: network"
        short = measure(title, LABEL, True) + measure("target", LABEL) + 12 > width
        self._title.text(x, y + 13, "network" if short else title, LABEL, theme.text1, bold=True)
        self._title.text(x + width, y + 13, "target", LABEL, theme.text3, anchor="right")
        for ends in (near.edges(), far.edges()):
            self._title.lines(ends[:, 0], ends[:, 1], theme.border, 1.0)
        self._far = colours_discs(far, self.targets[far.visible])

    @property
    def alive(self) -> bool:
        """Always True: the probe sample's target follows the lessons even while the cube has no place."""
        return True

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Update the targets, because other lessons may be active at a moment."""
        if self._taught.follow(moment.frame):
            self._retarget()

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Return titles, targets, and the network's outputs for the visible colours."""
        near = self._cubes["source"]
        return [self._title, self._far, colours_discs(near, moment.predict(self.inputs[near.visible]))]

    def slot(self) -> Slot:
        return Slot("points", 1, self.inputs[self._cubes["source"].visible])

    # ---- discs

    def under(self, at: Point) -> Disc | None:
        """Return the disc at a point, or None."""
        for which, places in self._cubes.items():
            disc = places.disc_at(*at)
            if disc is not None:
                row = int(places.visible[disc])
                middle = places.centres[disc]
                ring = (float(middle[0]), float(middle[1]), places.diameter)
                return Disc(which, row, triple(self.inputs[row]), triple(self.targets[row]), ring)
        return None

    def rings(self, rgb: RGB) -> list[Ring]:
        """Return centre and diameter of the disc of the input colour nearest to `rgb`, in each cube with discs."""
        found = []
        for places in self._cubes.values():
            if len(places.visible):
                away = np.square(self.inputs[places.visible] - np.asarray(rgb)).sum(axis=1)
                x, y = places.centres[int(np.argmin(away))]
                found.append((float(x), float(y), places.diameter))
        return found

    # ---- marks and labels

    def marks(self) -> Sequence[Sketch]:
        """Return rings around the marked colour in both cubes, and the next action."""
        if self.marked is None or self.box is None:
            return ()
        sketch, theme = Sketch(), self.shared.theme
        for ring in self.rings(self.marked):
            _ringed(sketch, theme, ring, 3.5, 2.6)
        x, y, width, _ = self.box  # covers the titles, which matter less now
        sketch.rect(x - 4, y - 3, width + 8, 21, fill=theme.background)
        sketch.text(x, y + 13, HINT, LABEL, theme.text1, bold=measure(HINT, LABEL, True) <= width)
        return [sketch]

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """Return the label of a colour, and a ring around it."""
        sketch, disc = Sketch(), None if self.pointer is None else self.under(self.pointer)
        if disc is not None:
            _ringed(sketch, self.shared.theme, disc.ring, 2.0, 1.6)
        return [sketch, *super().label(moment, size)]

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """Return a colour's target and output, and the actions of clicks."""
        if (disc := self.under(at)) is None:
            return None
        if disc.which == "source":
            output = triple(displayed(moment.predict(np.array([disc.source])))[0])
            name, value, more = hexed(disc.source), f"is now {hexed(output)}", [f"target: {hexed(disc.target)}"]
            more += self.shared.choose_tips(3)
            more += ["Shift+click: teach it another colour"] if self.shared.can_teach else []
        else:
            name, value, more = hexed(disc.target), f"target of {hexed(disc.source)}", []
            if self.marked is not None:
                more.append(f"Shift+click: {hexed(self.marked)} becomes this")
        return name, value, more

    # ---- input

    def press(self, at: Point, button: str) -> bool:
        """Note whether a drag begins on a cube; it can still become a click."""
        self._on_cube = self.box is not None and any(contains(box, at) for box in cube_boxes(self.box))
        return False

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """Turn both cubes with the pointer."""
        if button != "left" or not self._on_cube:
            return False
        self._turn = turn_by(*self._turn, *by)
        self._redraw()
        return True

    def fit(self) -> None:
        """Return both cubes to the initial angle."""
        if self._turn != FITTED:
            self._turn = FITTED
            self._redraw()

    def click(self, at: Point) -> bool:
        """Make the clicked colour the probe sample, in either cube."""
        found = self.under(at)
        if found is None or not self.shared.can_choose(3):
            return False
        self.shared.choose_by(lambda: (self.inputs[found.row], self.targets[found.row]))
        return True

    def shift_click(self, at: Point) -> bool:
        """Mark a source colour, or give the marked one its new target."""
        found = self.under(at)
        if found is None or not self.shared.can_teach:
            return False
        source = self.marked
        if found.which == "source" or source is None:
            self.marked = found.source if found.which == "source" else None
        else:
            self.marked = None
            self.retarget(source, found.target)
        return True

    def let_go(self) -> bool:
        """Unmark the colour."""
        marked, self.marked = self.marked, None
        return marked is not None

    def retarget(self, source: RGB, target: RGB) -> None:
        """Set the target of `source` to `target`, fading out with the distance from `source`."""
        inputs, targets = self.shared.subject.source.samples()
        new = pulled(inputs, targets, source, target).astype(targets.dtype)  # the log stores it
        edit = SetTargets(new)
        self.shared.subject.source.edit(edit)
        self._taught.add(edit, source, target)
        self._retarget()
        self._redraw()

    def _retarget(self) -> None:
        """Compute the targets of the colours shown, and of the probe sample, after a change of lessons."""
        self.targets = self._taught.targets(self.inputs, self.panel.targets)
        far = self._cubes.get("target")
        if far is not None:
            self._far = colours_discs(far, self.targets[far.visible])
        self.shared.choose_again()

    def _keep_first(self) -> None:
        """Let lessons change the target of the scene's own sample, too."""
        subject = self.shared.subject
        if subject.probe is None or subject.target is None or subject.probe.size != 3 or subject.target.size != 3:
            return
        sample, plain = subject.probe.reshape(1, 3).copy(), subject.target.reshape(1, 3).copy()
        self.shared.reread_sample = lambda: (sample, self._taught.targets(sample, plain))

    def _redraw(self) -> None:
        self.stale = True
        if self.box is not None:
            self.lay_out(self.box)


def _ringed(sketch: Sketch, theme: Theme, ring: Ring, air: float, border: float) -> None:
    """Draw a ring around a disc, with its own background."""
    x, y, diameter = ring
    sketch.disc(x, y, diameter / 2 + air + 1, stroke=theme.background, border=air + 2)
    sketch.disc(x, y, diameter / 2 + air, stroke=theme.selection, border=border)


# ---- `Taught`: the user's lessons that are active at the moment shown.

RGB = tuple[float, float, float]
REACH = 0.2
"""Width (as a colour difference in 0..1) of the pull of a new target on neighbouring colours."""


class _Lesson(NamedTuple):
    """One lesson and its edit."""

    edit: SetTargets
    source: RGB
    target: RGB


class Taught:
    """The lessons of one colour cube, in order."""

    def __init__(self) -> None:
        self._lessons: list[_Lesson] = []
        self._seen: set[int] = set()  # indices of lessons that a frame has shown: the others are pending
        self._holds: list[int] = []

    def add(self, edit: SetTargets, source: RGB, target: RGB) -> None:
        """Add a lesson that has been requested."""
        self._holds.append(len(self._lessons))
        self._lessons.append(_Lesson(edit, source, target))

    def follow(self, frame: Frame) -> bool:
        """Return whether other lessons are active at a frame than before, or a pending one has reached the data."""
        if frame.past is None or not self._lessons:
            return False
        done = [a.edit for a in frame.past.edits if a.step <= frame.step and isinstance(a.edit, SetTargets)]
        there = {k for k, lesson in enumerate(self._lessons) if any(_same(edit, lesson.edit) for edit in done)}
        arrived = there - self._seen
        self._seen |= there
        holds = [k for k in range(len(self._lessons)) if k in there or k not in self._seen]
        changed, self._holds = holds != self._holds or bool(arrived), holds
        return changed

    def targets(self, colours: ArrayLike, plain: ArrayLike) -> NDArray[Any]:
        """Return the present targets of colours (N, 3) with the first targets `plain` (N, 3)."""
        targets = np.asarray(plain, float)
        for k in self._holds:
            targets = pulled(colours, targets, self._lessons[k].source, self._lessons[k].target)
        return targets


def _same(one: SetTargets, other: SetTargets) -> bool:
    return one is other or one.targets is other.targets or np.array_equal(one.targets, other.targets)


def pulled(colours: ArrayLike, targets: NDArray[Any], centre: RGB, target: RGB) -> NDArray[Any]:
    """Return `targets` moved towards `target`: wholly at `centre`, falling off as a Gaussian of width `REACH`."""
    distance = np.square(np.asarray(colours, float) - np.asarray(centre)).sum(axis=1, keepdims=True)
    pull = np.exp(-distance / (2 * REACH**2))
    return np.asarray((1 - pull) * targets + pull * np.asarray(target))
