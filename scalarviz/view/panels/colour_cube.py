"""The drawer of the colour cube: turning it, asking a colour what it becomes, and teaching it another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ...run.edits import SetTargets
from ...run.panels import ColourCube
from ...run.source import Moment
from ..draw.maps import displayed
from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch, holds
from ..draw.text import measure
from .colours import FITTED, CubePlaces, Turn, colours_discs, colours_title, cube_boxes, hexed, turned
from .drawer import Drawer, Ground, Point
from .overlay import pointer_label

Which = Literal["source", "target"]
Ring = tuple[float, float, float]
"""Centre and diameter."""
HINT = "now Shift+click its new colour, in the target cube"


class Disc(NamedTuple):
    """One disc of a colour cube.

    Attributes
    ----------
    which : {"source", "target"}
        Whether it is painted with what the network makes of `source`, or with `target`.
    source, target : (r, g, b)
        Its place in the cube, and what that colour is to become.
    ring : (x, y, diameter)
        Logical pixels.
    """

    which: Which
    source: RGB
    target: RGB
    ring: Ring


class ColourCubeDrawer(Drawer[ColourCube]):
    """Two cubes: painted by the network, and as they should be.

    Attributes
    ----------
    targets : ndarray, shape (N, 3)
        What the colours are to become, taught ones included.
    marked : (r, g, b) or None
        A source colour that waits for its new target.
    """

    name = "colours"
    height = 166.0
    worth = 2
    needs = ("predict",)
    gestures = (("Drag", "the colour cube: turn it"),)
    choices = (("Click", "a colour of the cube: show its way"),)
    lessons = (("Shift+Click", "a colour of the cube, then its new target: teach it"),)

    def __init__(self, panel: ColourCube, ground: Ground) -> None:
        super().__init__(panel, ground)
        self.inputs = np.asarray(panel.inputs, float)
        self.targets = np.array(panel.targets, float)
        self._taught = Taught()
        ground.wanted = self._taught.targets
        self._keep_first()
        self.marked: RGB | None = None
        self._turn: Turn = FITTED
        self._cubes: dict[Which, CubePlaces] = {}
        self._under: Disc | None = None
        self._pointer: Point = (0.0, 0.0)
        self._on_cube = False

    def lay_out(self, box: Box) -> None:
        """Places of both cubes, titles, and the target's colours."""
        near, far = (CubePlaces(self.inputs, cube, self._turn) for cube in cube_boxes(box))
        self._cubes = {"source": near, "target": far}
        self._title = colours_title(box, self.ground.theme, len(self.inputs), (near, far))
        self._far = colours_discs(far, self.targets[far.visible])

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Titles, target, and what the network makes of the colours that are seen."""
        near = self._cubes["source"]
        if self._taught.follow(moment.frame):
            self._retarget()
        return [self._title, self._far, colours_discs(near, moment.predict(self.inputs[near.visible]))]

    # ---- which disc

    def disc_at(self, x: float, y: float) -> Disc | None:
        """The disc that is seen at a point; None beside them."""
        for which, places in self._cubes.items():
            disc = places.disc_at(x, y)
            if disc is not None:
                row = int(places.visible[disc])
                middle = places.centres[disc]
                ring = (float(middle[0]), float(middle[1]), places.diameter)
                return Disc(which, _rgb(self.inputs[row]), _rgb(self.targets[row]), ring)
        return None

    def rings(self, rgb: RGB) -> list[Ring]:
        """Centre and diameter of the disc of the input colour nearest to `rgb`, in each cube where it is seen."""
        found = []
        for places in self._cubes.values():
            if len(places.visible):
                away = np.square(self.inputs[places.visible] - np.asarray(rgb)).sum(axis=1)
                x, y = places.centres[int(np.argmin(away))]
                found.append((float(x), float(y), places.diameter))
        return found

    # ---- over it

    def marks(self) -> Sequence[Sketch]:
        """Rings around the marked colour in both cubes, and what to do next."""
        if self.marked is None or self.box is None:
            return ()
        sketch, theme = Sketch(), self.ground.theme
        for x, y, diameter in self.rings(self.marked):
            sketch.disc(x, y, diameter / 2 + 4.5, stroke=theme.background, border=5.5)
            sketch.disc(x, y, diameter / 2 + 3.5, stroke=theme.selection, border=2.6)
        x, y, width, _ = self.box  # over the titles, which say less now
        sketch.rect(x - 4, y - 3, width + 8, 21, fill=theme.background)
        sketch.text(x, y + 13, HINT, LABEL, theme.text1, bold=measure(HINT, LABEL, True) <= width)
        return [sketch]

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """What a colour is to become and has become, and what clicks would do."""
        disc, theme = self._under, self.ground.theme
        if disc is None:
            return ()
        sketch = Sketch()
        x, y, diameter = disc.ring
        sketch.disc(x, y, diameter / 2 + 3, stroke=theme.background, border=4)
        sketch.disc(x, y, diameter / 2 + 2, stroke=theme.selection, border=1.6)
        if disc.which == "source":
            output = _rgb(displayed(moment.predict(np.array([disc.source])))[0])
            name, value, more = hexed(disc.source), f"is now {hexed(output)}", [f"wanted: {hexed(disc.target)}"]
            more += ["click: show its way"] if self.ground.chooses(3) else []
            more += ["Shift+click: teach it another colour"] if self.ground.teaches else []
        else:
            name, value, more = hexed(disc.target), f"wanted for {hexed(disc.source)}", []
            if self.marked is not None:
                more.append(f"Shift+click: {hexed(self.marked)} becomes this")
        return [sketch, pointer_label(self._pointer, size, name, value, more, theme)]

    # ---- hands

    def hover(self, at: Point | None) -> bool:
        """A colour under the pointer says what it is."""
        before = self._under, self._pointer
        self._under = None if at is None else self.disc_at(*at)
        if at is not None and self._under is not None:
            self._pointer = at
        return before != (self._under, self._pointer)

    def press(self, at: Point, button: str) -> bool:
        """Where a drag would begin; it may as well become a click."""
        self._on_cube = self.box is not None and any(holds(box, at) for box in cube_boxes(self.box))
        return False

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """Both cubes turn with the pointer."""
        if button != "left" or not self._on_cube:
            return False
        self._turn = turned(self._turn, *by)
        self._again()
        return True

    def fit(self) -> None:
        """Both cubes as they were at first."""
        if self._turn != FITTED:
            self._turn = FITTED
            self._again()

    def click(self, at: Point) -> bool:
        """The way of a colour is drawn, whichever cube it was clicked in."""
        found = self.disc_at(*at)
        if found is None or not self.ground.chooses(3):
            return False
        row = int(np.argmin(np.square(self.inputs - np.asarray(found.source)).sum(axis=1)))
        self.ground.choose_by(lambda: (self.inputs[row], self.targets[row]))
        return True

    def shift_click(self, at: Point) -> bool:
        """First a source colour, then its new target."""
        found = self.disc_at(*at)
        if found is None or not self.ground.teaches:
            return False
        source = self.marked
        if found.which == "source" or source is None:
            self.marked = found.source if found.which == "source" else None
        else:
            self.marked = None
            self.retarget(source, found.target)
        return True

    def let_go(self) -> bool:
        """No colour is marked any more."""
        marked, self.marked = self.marked, None
        return marked is not None

    def retarget(self, source: RGB, target: RGB) -> None:
        """Teach that `source` becomes `target`, fading out with the distance from `source`."""
        inputs, targets = self.ground.subject.source.samples()
        new = pulled(inputs, targets, source, target).astype(targets.dtype)  # the log keeps it
        edit = SetTargets(new)
        self.ground.subject.source.edit(edit)
        self._taught.add(edit, source, target)
        self._retarget()
        self._again()

    def _retarget(self) -> None:
        """Other lessons hold: what is wanted of the colours shown, and of the one whose way is drawn."""
        self.targets = self._taught.targets(self.inputs, self.panel.targets)
        far = self._cubes.get("target")
        if far is not None:
            self._far = colours_discs(far, self.targets[far.visible])
        self.ground.choose_again()

    def _keep_first(self) -> None:
        """The scene's own sample is wanted anew after a lesson, too."""
        subject = self.ground.subject
        if subject.probe is None or subject.target is None or subject.probe.size != 3 or subject.target.size != 3:
            return
        sample, plain = subject.probe.reshape(1, 3).copy(), subject.target.reshape(1, 3).copy()
        self.ground.again = lambda: (sample, self._taught.targets(sample, plain))

    def _again(self) -> None:
        self.stale = True
        if self.box is not None:
            self.lay_out(self.box)
        if self._under is not None:
            self._under = self.disc_at(*self._pointer)


def _rgb(colour: NDArray[np.floating]) -> RGB:
    r, g, b = (float(c) for c in colour)
    return r, g, b


# ---- `Taught`: what a hand has taught of colours, as far as it holds at the moment that is shown.

RGB = tuple[float, float, float]
REACH = 0.2
"""How far (as a colour difference in 0..1) a new target for one colour pulls its neighbours along."""


class _Lesson(NamedTuple):
    """One of them, and the edit that it was."""

    edit: SetTargets
    source: RGB
    target: RGB


class Taught:
    """The lessons of one colour cube, in the order in which they were given."""

    def __init__(self) -> None:
        self._lessons: list[_Lesson] = []
        self._seen: set[int] = set()  # numbers of those that a frame has shown: the others are on their way
        self._holds: list[int] = []
        self._known: tuple[object, ...] = ()

    def add(self, edit: SetTargets, source: RGB, target: RGB) -> None:
        """One more, which has been asked for."""
        self._holds.append(len(self._lessons))
        self._lessons.append(_Lesson(edit, source, target))

    def follow(self, frame: Frame) -> bool:
        """Whether others hold at a frame than held before, or one has come to the data that was on its way."""
        if frame.past is None or not self._lessons:
            return False
        done = [a for a in frame.past.edits if a.step <= frame.step and isinstance(a.edit, SetTargets)]
        known = (len(self._lessons), *map(id, done))
        if known == self._known:
            return False
        self._known = known
        edits = [a.edit for a in done if isinstance(a.edit, SetTargets)]
        there = {k for k, lesson in enumerate(self._lessons) if any(_same(edit, lesson.edit) for edit in edits)}
        arrived = there - self._seen
        self._seen |= there
        holds = [k for k in range(len(self._lessons)) if k in there or k not in self._seen]
        changed, self._holds = holds != self._holds or bool(arrived), holds
        return changed

    def targets(self, colours: ArrayLike, plain: ArrayLike) -> NDArray[Any]:
        """What colours (N, 3) are to become by now that were to become `plain` (N, 3) at first."""
        targets = np.asarray(plain, float)
        for k in self._holds:
            targets = pulled(colours, targets, self._lessons[k].source, self._lessons[k].target)
        return targets


def _same(one: SetTargets, other: SetTargets) -> bool:
    return one is other or one.targets is other.targets or np.array_equal(one.targets, other.targets)


def pulled(colours: ArrayLike, targets: NDArray[Any], centre: RGB, target: RGB) -> NDArray[Any]:
    """`targets` drawn towards `target`: wholly at `centre`, falling off as a Gaussian of width `REACH`."""
    distance = np.square(np.asarray(colours, float) - np.asarray(centre)).sum(axis=1, keepdims=True)
    pull = np.exp(-distance / (2 * REACH**2))
    return np.asarray((1 - pull) * targets + pull * np.asarray(target))
