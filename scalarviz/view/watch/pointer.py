"""`Pointer`: pointer and wheel over the picture of one viewer; `actions.GESTURES` lists the gestures.

While a gesture changes a weight, training waits, and the whole gesture is one edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...errors import ScalarvizError
from ..ink.sketch import Click, contains, spot_at
from ..screen.strip import SAYS
from ..screen.time_bar import GO
from .actions import no_edits
from .host import Point

if TYPE_CHECKING:
    from .viewer import Viewer

SCROLL = 0.05
"""Share of the colour range by which one notch of Shift+wheel changes a weight."""
ZOOM = 1.15
"""Zoom factor of one notch of the wheel."""
SWEEP = 300.0
"""Logical pixels of a drag over a number that change the weight by the whole colour range."""
REST = 0.6
"""Seconds without a notch after which a wheel gesture ends."""
DOUBLE = 0.4
"""Seconds within which a second click on the same thing is a double click."""
_DRAG = 4.0  # pixels of the pointer's coordinates before a press becomes a drag
_NOTHING: Click = ("", "")  # a press off the time bar
_numbers = count(1)


@dataclass(slots=True)
class Press:
    """A pressed button, and the area that it was pressed on."""

    at: Point  # the current position
    button: str
    shift: bool
    ctrl: bool
    on: Literal["picture", "list of keys", "controls", "time bar", "number", "panel"] = "picture"
    target: Click = _NOTHING  # on the time bar
    dragged: bool = False


@dataclass(slots=True)
class Grip:
    """A weight that a gesture is changing."""

    index: int
    start: float  # its value at the start of the gesture
    value: float
    rate: float  # change a pixel or a notch
    gesture: str  # joins all changes into one edit
    until: float = float("inf")  # when it ends by itself (the viewer's clock)


class Pointer:
    """Pointer events in device pixels, for one viewer; `grip` is the weight being changed, or None."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._press: Press | None = None
        self._clicked: tuple[object, float] | None = None  # the last clicked thing, and the time
        self._pressed = 0.0  # the time of the last press
        self.grip: Grip | None = None

    @property
    def free(self) -> bool:
        """True if no weight is being changed and no button is down."""
        return self.grip is None and self._press is None

    def pass_time(self, now: float) -> None:
        """End a wheel gesture whose time is over."""
        if self.grip is not None and now >= self.grip.until:
            self.let_go()

    # ---- the pointer

    def press(
        self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False, when: float | None = None
    ) -> None:
        """Handle a button press; while the time bar or the controls are held, other buttons do nothing.

        `when` is its time in seconds, from a source that waits for no picture; default: the viewer's clock.
        """
        self._pressed = self._viewer.clock if when is None else when
        if self._press is None or self._press.on not in ("time bar", "controls"):
            self.let_go()
            self._press = self._find_area(Press(at, button, shift, ctrl))

    def _find_area(self, press: Press) -> Press:
        """Return the press with the topmost area that takes it."""
        viewer, bench, point = self._viewer, self._viewer.bench, self._viewer.bench.to_logical(press.at)
        if bench.interaction.help:  # the list of keys covers everything
            press.on = "list of keys"
        elif viewer.controls is not None and viewer.controls.press(point, press.button):
            press.on = "controls"
            viewer.refresh()
        elif bench.bar.covers(point):
            press.on, press.target = "time bar", bench.bar.target(point) or _NOTHING
            if press.target[0] == GO:
                viewer.travels.drag(int(press.target[1]))
        elif press.button == "left" and bench.selected is not None and bench.interaction.number_at(point):
            press.on = "number"
        elif bench.side.press(point, press.button):
            press.on = "panel"
            viewer.refresh()
        return press

    def move(self, at: Point) -> None:
        """Handle a pointer move: a drag belongs to the area where it began; without a button it hovers."""
        viewer, bench, press = self._viewer, self._viewer.bench, self._press
        point, controls = bench.to_logical(at), viewer.controls
        if press is None or press.on == "list of keys":
            shown = None if bench.interaction.help else point
            # the panel covers the rest
            mine = shown is not None and controls is not None and controls.panel.owns(shown)
            changed = controls is not None and controls.hover(shown)
            if bench.hover(None if mine or bench.interaction.help else at) or changed:
                viewer.refresh()
        elif press.on == "controls" and controls is not None:
            controls.drag(point)
        elif press.on == "time bar":
            self._along_bar(at, press.target)
        else:
            self._drag(at, press)

    def _along_bar(self, at: Point, begun: Click) -> None:
        """Drag the time cursor; buttons of the bar cannot be dragged."""
        viewer = self._viewer
        if begun[0] == GO:
            target = viewer.bench.bar.target(viewer.bench.to_logical(at), held=True)
            if target is not None:
                viewer.travels.drag(int(target[1]))
        if viewer.bench.hover(at):
            viewer.refresh()

    def _drag(self, at: Point, press: Press) -> None:
        """Drag a number, a panel or the scene once the pointer has moved far enough."""
        viewer, bench = self._viewer, self._viewer.bench
        by = at[0] - press.at[0], at[1] - press.at[1]
        ratio = 1.0 if viewer.host is None else viewer.host.pixel_ratio
        if not (press.dragged or press.on == "panel") and abs(by[0]) + abs(by[1]) < _DRAG * ratio:
            return
        press.dragged, press.at = True, at
        if press.on == "number" and bench.selected is not None:
            self._drag_number(bench.selected, by[0])
        elif bench.side.drag(bench.to_logical(at), bench.to_logical(by), press.button):
            if press.on != "panel":  # no hover while turning
                bench.hover(None)
        elif press.button == "left":
            bench.orbit(*by)
        else:
            bench.pan(*by)
        viewer.refresh()

    def release(self, at: Point) -> None:
        """Handle a button release; without a drag it is a click. On the list of keys it closes the list."""
        viewer, bench, press = self._viewer, self._viewer.bench, self._press
        point, controls, travels, self._press = bench.to_logical(at), viewer.controls, viewer.travels, None
        viewer.refresh()
        if press is None:
            return
        if press.on == "controls" and controls is not None:
            controls.release(point)
            return
        self.let_go()
        left = press.button == "left"
        if press.on == "time bar":
            travels.release(press.target if bench.bar.target(point) == press.target else _NOTHING)
        elif press.on == "list of keys":
            bench.interaction.help = 0
        elif press.on == "panel":
            bench.side.release(point)
        elif press.dragged:
            return
        elif left and (spot := bench.interaction.spot_at(point)) is not None and spot.name == "rescue":
            travels.rescue()
        elif (cap := spot_at(bench.story.spots, point)) is not None:
            viewer.say(cap.tip) if cap.name == SAYS else viewer.send(cap.name)
        elif bench.interaction.inspector is not None and contains(bench.interaction.inspector.box, point):
            self._click_inspector(point)
        elif not self._click(at, press) and left and controls is not None:
            controls.close()

    def _click(self, at: Point, press: Press) -> bool:
        """Click a cube, a panel or empty space; Ctrl adds or removes a cube, a second click selects its neuron.

        Return whether something was clicked, or an earlier selection ended.
        """
        bench, selected = self._viewer.bench, self._viewer.selected
        point = bench.to_logical(at)
        index = None if bench.side.covers(point) else bench.pick(at)
        again = self.is_double_click(("cube", index, bench.side.panel_at(point))) and not press.shift
        if index is None and again and bench.side.double_click(point):
            return True
        if index is not None and press.ctrl:
            selected.toggle(index)
        elif index is not None and again:
            selected.select_part("neuron", index)
        else:
            return bench.click(at, shift=press.shift)
        return True

    def _click_inspector(self, point: Point) -> None:
        """Click a part of the inspector; a second click on a value types it."""
        spot = self._viewer.bench.interaction.spot_at(point)
        number = self._viewer.bench.interaction.number_at(point)
        again = self.is_double_click(("number", number) if number else ("spot", spot and spot.click))
        if number and again:
            self._viewer.send("type_value")
        elif spot is not None and not number:
            self._viewer.selected.click(spot, point)

    def is_double_click(self, what: object) -> bool:
        """Return whether the same thing was clicked a moment ago; a third click counts as a first one."""
        before, now = self._clicked, self._pressed
        again = before is not None and before[0] == what and 0 <= now - before[1] <= DOUBLE
        self._clicked = None if again else (what, now)
        return again

    def leave(self) -> None:
        """Handle the pointer leaving the window."""
        controls = self._viewer.controls
        if self._viewer.bench.hover(None) | (controls is not None and controls.hover(None)):
            self._viewer.refresh()

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """Handle the wheel: it zooms a panel or the scene; with Shift it changes a weight.

        `notches` count to the right and up. With Shift both directions count, because macOS and
        browsers turn the wheel sideways then.
        """
        viewer, bench, (across, up) = self._viewer, self._viewer.bench, notches
        if bench.interaction.help:
            return
        if viewer.controls is not None and viewer.controls.scroll(bench.to_logical(at), up):
            viewer.refresh()
            return
        if not shift:
            if up and not bench.side.zoom(bench.to_logical(at), ZOOM**up):
                bench.zoom(ZOOM**up, at)
        elif reason := no_edits(viewer.action_context()):
            viewer.say(f"Shift+wheel: {reason}")
        else:
            index = None if bench.side.covers(bench.to_logical(at)) else bench.pick(at)
            if index is None:
                viewer.say("Shift+wheel changes the weight under the pointer: point at a cube")
            else:
                self.turn(index, up if abs(up) >= abs(across) else across)
        viewer.refresh()

    # ---- changing a weight

    def turn(self, index: int, notches: float) -> None:
        """Change a weight by wheel or key; more notches belong to the same gesture until they stop."""
        if self.grip is None or self.grip.index != index:
            self._begin(index, SCROLL)
        if self.grip is not None:
            self.grip.until = self._viewer.clock + REST
            self._set_value(self.grip, self.grip.value + self.grip.rate * notches)

    def _drag_number(self, index: int, dx: float) -> None:
        """Change the weight by a drag over the inspector's number."""
        if self.grip is None:
            self._viewer.bench.hover(None)  # no tooltip during a drag
            self._begin(index, 1.0 / (SWEEP * self._viewer.bench.scale))
        if self.grip is not None:
            self._set_value(self.grip, self.grip.value + self.grip.rate * dx)

    def _begin(self, index: int, share: float) -> None:
        """Start changing a weight by `share` of its range a notch or pixel."""
        self.let_go()
        value = float(self._viewer.current_frame().values[index])  # an opened step may show a later value
        start = value if np.isfinite(value) else 0.0
        self.grip = Grip(index, value, start, share * self._viewer.bench.extent_of(index), f"hand {next(_numbers)}")
        self._viewer.playback.hold()

    def _set_value(self, grip: Grip, value: float) -> None:
        grip.value = value
        try:
            self._viewer.set_weight(grip.index, value, grip.gesture)
        except ScalarvizError as error:
            self._viewer.say(str(error))
            self.let_go()

    def let_go(self, *, undo: bool = False) -> bool:
        """End the gesture, with `undo` at the old value; return whether a weight was being changed."""
        grip, self.grip = self.grip, None
        if grip is None:
            return False
        if undo:
            if self._press is not None:
                self._press.on = "picture"
            self._set_value(grip, grip.start)
        self._viewer.playback.release()
        return True
