"""`Viewer`: a picture that is watched and touched. Knows no window system: it is told keys, pointer and time.

A window, a notebook or a test owns one, calls `tick` about 60 times a second and draws when it says so. What a user
can do is a method named in the table of keys, or a pointer event. Where the numbers come from is the business of the
subclasses: `live.LiveView` trains a run, `mirror.Mirror` follows objects that somebody else changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..workbench import Workbench
from .controls import find, help_lines, mouse_lines, normalised

if TYPE_CHECKING:
    from ...run.frame import Frame

Point = tuple[float, float]
Colour = tuple[float, float, float]

MAPS = ("", "grey", "viridis", "coolwarm")
"""What the key for the next colour map goes through; empty: the quantity's own."""
SCROLL = 0.05
"""Share of the colour range by which one notch of the wheel moves a weight."""
ZOOM = 1.15
"""Factor of one notch of the wheel beside the cubes."""
_DRAG = 4.0  # device pixels before a press becomes a drag


class Viewer:
    """Keys, pointer and redrawing around one workbench. Use it with the workbench's GL context current.

    Parameters
    ----------
    bench : Workbench
    theme : str

    Attributes
    ----------
    closing, full_screen, screenshot_wanted : bool
        What the owner is asked for.
    notes : list of str
        Lines that the owner is to tell and take out.
    """

    def __init__(self, bench: Workbench, theme: str = "dark") -> None:
        self.bench = bench
        bench.touch.table = (*help_lines(type(self)), *mouse_lines(type(self)))
        self.closing = False
        self.full_screen = False
        self.screenshot_wanted = False
        self.notes: list[str] = []
        self._theme = theme
        self._shown: Frame | None = None
        self._dirty = True
        self._pressed: tuple[Point, str] | None = None
        self._start: Point = (0.0, 0.0)  # of the press
        self._dragging = False

    # ---- what a subclass says

    def frame(self) -> Frame:
        """The numbers as they are now."""
        raise TypeError(f"{type(self).__name__} must say where its numbers come from")

    def pace_text(self) -> str:
        """The HUD's second line."""
        return ""

    def message(self) -> str:
        """What went wrong, empty if nothing did."""
        return ""

    def notice(self) -> str:
        """What happened that is no trouble, for as long as it is to be shown."""
        return ""

    def nudge(self, index: int, amount: float) -> None:
        """Add `amount` to the flat weight `index`."""

    def close(self) -> None:
        """Let go of what is shown."""

    # ---- time

    def advance(self, seconds: float) -> None:
        """`seconds` have passed and nobody can see the picture: only what is shown goes on."""

    def tick(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether the picture has to be drawn again."""
        self.advance(seconds)
        frame, said = self.frame(), (self.message(), self.notice())
        touch = self.bench.touch
        if not (self._dirty or self.bench.moving or said != (touch.message, touch.notice) or self._differs(frame)):
            return False
        self._shown, self._dirty = frame, False
        self.bench.message, touch.notice = said
        self.bench.update(frame, self.pace_text(), seconds)
        return True

    def _differs(self, frame: Frame) -> bool:
        old = self._shown
        if old is frame:
            return False
        return (
            old is None
            or old.step != frame.step
            or not all(
                np.array_equal(getattr(old, name), getattr(frame, name), equal_nan=name != "frozen")
                for name in ("values", "gradient", "frozen")
            )
        )

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint the picture into the bound framebuffer."""
        self.bench.draw(viewport)

    def refresh(self) -> None:
        """Draw at the next tick whatever happened."""
        self._dirty = True

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""
        self.bench.resize(size)
        self.refresh()

    # ---- keys

    def key(self, name: str | None, text: str = "", *, shift: bool = False) -> bool:
        """A key was pressed; returns whether it means something here."""
        entry = find(normalised(name, text))
        action: Callable[..., None] | None = getattr(self, entry.action, None) if entry else None
        if entry is None or action is None:
            return False
        if entry.action == "step":
            action(10 if shift else 1)
        else:
            action()
        self.refresh()
        return True

    def show_weights(self) -> None:
        """Colour by value."""
        self.bench.set_look(quantity="weight")

    def show_gradients(self) -> None:
        """Colour by gradient."""
        self.bench.set_look(quantity="gradient")

    def show_updates(self) -> None:
        """Colour by last update."""
        self.bench.set_look(quantity="update")

    def next_map(self) -> None:
        """The next colour map."""
        here = MAPS.index(self.bench.cmap_name) if self.bench.cmap_name in MAPS else -1
        self.bench.set_look(cmap=MAPS[(here + 1) % len(MAPS)])

    def refit_range(self) -> None:
        """Fit the range of the colours to what is shown now."""
        self.bench.refit_range()

    def fit(self) -> None:
        """Fit the camera."""
        self.bench.fit_camera()

    def screenshot(self) -> None:
        """Let the owner save what is shown."""
        self.screenshot_wanted = True

    def toggle_panels(self) -> None:
        """Hide or show everything but the cubes."""
        self.bench.show_panels(not self.bench.panels_shown)

    def toggle_theme(self) -> None:
        """Light or dark."""
        self._theme = "light" if self._theme == "dark" else "dark"
        self.bench.set_look(theme=self._theme)

    def toggle_full_screen(self) -> None:
        """Full screen or window; the owner acts on it."""
        self.full_screen = not self.full_screen

    def toggle_help(self) -> None:
        """Show or hide the list of keys."""
        self.bench.help = not self.bench.help

    def escape(self) -> None:
        """Close the list of keys, else let go of a cube or colour, else the window."""
        if self.bench.help:
            self.bench.help = False
        elif self.bench.selected is not None or self.bench.marked_colour is not None:
            self.bench.select(None)
            self.bench.mark_colour(None)
        else:
            self.closing = True

    # ---- pointer, in device pixels

    def press(self, at: Point, button: str = "left") -> None:
        """A button went down."""
        self._pressed, self._start, self._dragging = (at, button), at, False

    def move(self, at: Point) -> None:
        """The pointer is at `at`: a drag turns what it began on (left) or shifts the scene, else it hovers."""
        if self._pressed is None:
            if self.bench.hover(at):
                self.refresh()
            return
        (x, y), button = self._pressed
        dx, dy = at[0] - x, at[1] - y
        if not self._dragging and abs(dx) + abs(dy) < _DRAG:
            return
        self._dragging = True
        self._pressed = (at, button)
        if button == "left":
            self.bench.orbit(dx, dy, self._start)
        else:
            self.bench.pan(dx, dy)
        self.refresh()

    def release(self, at: Point) -> None:
        """The button went up; without a drag it was a click."""
        if self._pressed is not None and not self._dragging:
            self.click(at)
            self.refresh()
        self._pressed, self._dragging = None, False

    def leave(self) -> None:
        """The pointer left the window."""
        if self.bench.hover(None):
            self.refresh()

    def click(self, at: Point) -> None:
        """Select the cube under the pointer, or nothing."""
        self.bench.select(self.bench.pick(at))

    def scroll(self, at: Point, notches: float) -> None:
        """The wheel turned: over a cube it changes that weight, elsewhere it zooms."""
        index = self.bench.pick(at)
        if index is None:
            self.bench.zoom(ZOOM**notches, at)
        else:
            self.nudge(index, SCROLL * notches * self.bench.extent_of(index))
        self.refresh()
