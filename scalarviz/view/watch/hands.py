"""`Hands`: pointer and wheel over the picture of one viewer. What they do stands in the table of gestures.

A hand that changes a weight holds it: training waits until it lets go, and what it did in between is one edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ScalarvizError
from ..ink.sketch import Does, spot_at
from ..screen.story import SAYS
from ..screen.time_bar import GO
from .reasons import no_edits

if TYPE_CHECKING:
    from .viewer import Viewer

Point = tuple[float, float]

SCROLL = 0.05
"""Share of the colour range by which one notch of the wheel moves a weight, with Shift."""
ZOOM = 1.15
"""Factor of one notch of the wheel."""
SWEEP = 300.0
"""Logical pixels of a drag over a number that move the weight by the whole colour range."""
REST = 0.6
"""Seconds after which a wheel that rests has let go."""
DOUBLE = 0.4
"""Seconds within which a second click on the same thing is a double click."""
_DRAG = 4.0  # pixels of the pointer's world before a press becomes a drag
_NOTHING: Does = ("", "")  # of the time bar where there is none
_numbers = count(1)


@dataclass(slots=True)
class Grip:
    """A weight in the hand.

    Attributes
    ----------
    index : int
        Flat.
    start, value : float
        When the hand closed, and now.
    rate : float
        Change of a pixel, or of a notch.
    gesture : str
        What makes one edit of all that the hand does.
    until : float
        When it lets go by itself (the viewer's clock): infinity for a drag.
    """

    index: int
    start: float
    value: float
    rate: float
    gesture: str
    until: float = float("inf")


class Hands:
    """Pointer events in device pixels, for one viewer.

    Parameters
    ----------
    viewer : Viewer

    Attributes
    ----------
    grip : Grip or None
        The weight that is being changed.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._pressed: tuple[Point, str] | None = None
        self._number: int | None = None  # the weight whose number the button went down on
        self._over_help = self._shift = self._ctrl = False
        self._on_bar: Does | None = None  # of the time bar, on which the button went down
        self._clicked: tuple[object, float] | None = None  # what was clicked last, and when
        self._dragging = self._taken = False  # taken: by a panel, for which the least movement counts
        self.grip: Grip | None = None

    @property
    def free(self) -> bool:
        """Whether there is neither a weight in the hand nor a button down."""
        return self.grip is None and self._pressed is None

    def pass_time(self, now: float) -> None:
        """A wheel that rests lets go."""
        if self.grip is not None and now >= self.grip.until:
            self.let_go()

    # ---- the pointer

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down, perhaps with Shift or Ctrl: perhaps on a panel that takes it, or on a number."""
        self.let_go()
        viewer, bench = self._viewer, self._viewer.bench
        point = bench.to_logical(at)
        self._over_help = bool(bench.help)
        if self._over_help:  # nothing of what lies below the list of keys is touched
            return
        if viewer.desk is not None and viewer.desk.press(point, button):
            viewer.refresh()
            return
        self._pressed, self._dragging, self._shift, self._ctrl = (at, button), False, shift, ctrl
        if viewer.travels is not None and bench.bar.covers(point):
            self._on_bar = bench.bar.target(point) or _NOTHING
            viewer.travels.press(self._on_bar)
            return
        on_number = button == "left" and bench.touch.number_at(point)
        self._number = bench.selected if on_number else None
        self._taken = self._number is None and bench.side.press(point, button)
        if self._taken:
            self._viewer.refresh()

    def move(self, at: Point) -> None:
        """The pointer is at `at`: a drag belongs to what it began on; without a button it hovers."""
        viewer = self._viewer
        if self._at_desk(viewer.bench.to_logical(at)):
            return
        if self._pressed is None:
            if viewer.bench.hover(None if viewer.bench.help else at):
                viewer.refresh()
            return
        if self._on_bar is not None:
            self._along_bar(at, self._on_bar)
            return
        (x, y), button = self._pressed
        by = at[0] - x, at[1] - y
        if not (self._dragging or self._taken) and abs(by[0]) + abs(by[1]) < _DRAG * self._ratio():
            return
        self._dragging = True
        self._pressed = (at, button)
        if self._number is not None:
            self._drag_number(self._number, by[0])
        else:
            self._drag(at, by, button)
        viewer.refresh()

    def _at_desk(self, point: Point) -> bool:
        """Whether the pointer is over the panel of controls, or that holds it: then nothing else is pointed at."""
        viewer, desk = self._viewer, self._viewer.desk
        if desk is None or not desk.open or viewer.bench.help or self._pressed is not None:
            return False
        mine = desk.drag(point) or desk.owns(point)
        if desk.hover(point) | (mine and viewer.bench.hover(None)):
            viewer.refresh()
        return mine

    def _along_bar(self, at: Point, begun: Does) -> None:
        """The cursor of time is dragged; a button of the bar is not."""
        viewer = self._viewer
        if begun[0] == GO and viewer.travels is not None:
            target = viewer.bench.bar.target(viewer.bench.to_logical(at), held=True)
            if target is not None:
                viewer.travels.drag(int(target[1]))
        if viewer.bench.hover(at):
            viewer.refresh()

    def _ratio(self) -> float:
        """Device pixels of one pixel of the pointer's world."""
        return 1.0 if self._viewer.host is None else self._viewer.host.pixel_ratio

    def _drag(self, at: Point, by: Point, button: str) -> None:
        """A panel's movement, else left turns the scene and other buttons shift it."""
        bench = self._viewer.bench
        if bench.side.drag(bench.to_logical(at), bench.to_logical(by), button):
            if not self._taken:  # what is turned is not pointed at
                bench.hover(None)
        elif button == "left":
            bench.orbit(*by)
        else:
            bench.pan(*by)

    def release(self, at: Point) -> None:
        """The button went up; without a drag it was a click. On the list of keys it closes that."""
        bench, point = self._viewer.bench, self._viewer.bench.to_logical(at)
        if self._viewer.desk is not None and self._viewer.desk.release(point):
            self._viewer.refresh()
            return
        taken, clicked = self._taken, self._pressed is not None and not self._dragging
        left = self._pressed is not None and self._pressed[1] == "left"
        self._pressed, self._number, self._dragging, self._taken = None, None, False, False
        self._viewer.refresh()
        self.let_go()
        begun, self._on_bar = self._on_bar, None
        if begun is not None and self._viewer.travels is not None:
            self._viewer.travels.release(begun if bench.bar.target(point) == begun else _NOTHING)
        elif self._over_help:
            bench.help, self._over_help = 0, False
        elif taken:
            bench.side.release(point)
        elif clicked and left and bench.touch.on_alarm(point):
            if self._viewer.travels is not None:
                self._viewer.travels.rescue()
        elif clicked and (cap := spot_at(bench.story.spots, point)) is not None:
            self._viewer.say(cap.tip) if cap.name == SAYS else self._viewer.send(cap.name)
        elif clicked and bench.touch.inspector_at(point):
            self._click_inspector(point)
        elif clicked and not self._click(at) and left and self._viewer.desk is not None:
            self._viewer.desk.close()

    def _click(self, at: Point) -> bool:
        """A cube, a panel or nothing: with Ctrl a cube more or less, and at the second click its neuron.

        Returns whether something was there, or something that was selected before is not so any more.
        """
        bench, acts = self._viewer.bench, self._viewer.acts
        point = bench.to_logical(at)
        index = None if bench.side.covers(point) else bench.pick(at)
        again = self.again(("cube", index, bench.side.at(point)))
        if index is None and again and not self._shift and bench.side.double_click(point):
            return True
        if index is not None and self._ctrl:
            acts.toggle(index)
        elif index is not None and again and not self._shift:
            acts.select_part("neuron", index)
        else:
            return bench.click(at, shift=self._shift)
        return True

    def _click_inspector(self, point: Point) -> None:
        """What stands at the place; a value is typed after the second click."""
        spot = self._viewer.bench.touch.spot_at(point)
        number = self._viewer.bench.touch.number_at(point)
        again = self.again(("number", number) if number else ("spot", spot and spot.does))
        if number and again:
            self._viewer.send("type_value")
        elif spot is not None and not number:
            self._viewer.acts.click(spot, point)

    def again(self, what: object) -> bool:
        """Whether the same thing was clicked a moment ago; a third click is a first one."""
        before, now = self._clicked, self._viewer.clock
        again = before is not None and before[0] == what and now - before[1] <= DOUBLE
        self._clicked = None if again else (what, now)
        return again

    def leave(self) -> None:
        """The pointer left the window."""
        desk = self._viewer.desk
        if self._viewer.bench.hover(None) | (desk is not None and desk.hover(None)):
            self._viewer.refresh()

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """The wheel turned by `notches` across and up: it, or a panel, zooms; with Shift it changes a weight.

        With Shift the notches may come in either direction: macOS and browsers turn the wheel on its side then.
        """
        across, up = notches
        viewer = self._viewer
        bench = viewer.bench
        if bench.help:
            return
        if viewer.desk is not None and viewer.desk.scroll(bench.to_logical(at), up):
            viewer.refresh()
            return
        if not shift:
            if up and not bench.side.zoom(bench.to_logical(at), ZOOM**up):
                bench.zoom(ZOOM**up, at)
        elif reason := no_edits(viewer.here()):
            viewer.say(f"Shift+wheel: {reason}")
        else:
            index = None if bench.side.covers(bench.to_logical(at)) else bench.pick(at)
            if index is None:
                viewer.say("Shift+wheel changes the weight below the pointer: there is no cube")
            else:
                self.turn(index, up if abs(up) >= abs(across) else across)
        viewer.refresh()

    # ---- a weight in the hand

    def turn(self, index: int, notches: float) -> None:
        """The wheel or a key changes a weight; further notches on it are the same gesture until the wheel rests."""
        if self.grip is None or self.grip.index != index:
            self._take(index, SCROLL)
        if self.grip is not None:
            self.grip.until = self._viewer.clock + REST
            self._change(self.grip, notches)

    def _drag_number(self, index: int, dx: float) -> None:
        """A drag over the inspector's number changes the weight."""
        if self.grip is None:
            self._viewer.bench.hover(None)  # nothing more needs to be said of what a drag does
            self._take(index, 1.0 / (SWEEP * self._viewer.bench.scale))
        if self.grip is not None:
            self._change(self.grip, dx)

    def _take(self, index: int, share: float) -> None:
        """Close the hand around a weight; it is moved by `share` of its range a notch or pixel."""
        self.let_go()
        value = self._viewer.value_of(index)
        start = value if np.isfinite(value) else 0.0
        rate = share * self._viewer.bench.extent_of(index)
        self.grip = Grip(index, value, start, rate, f"hand {next(_numbers)}")
        self._viewer.hold()

    def _change(self, grip: Grip, amount: float) -> None:
        grip.value += grip.rate * amount
        self._put(grip, grip.value)

    def _put(self, grip: Grip, value: float) -> None:
        try:
            self._viewer.put(grip.index, value, grip.gesture)
        except ScalarvizError as error:
            self._viewer.say(str(error))
            self.let_go()

    def let_go(self, *, undo: bool = False) -> bool:
        """Open the hand, perhaps after setting the weight to what it was; returns whether there was one in it."""
        grip, self.grip = self.grip, None
        if grip is None:
            return False
        if undo:
            self._number = None
            self._put(grip, grip.start)
        self._viewer.release_hold()
        return True
