"""`DigitHands`: drawing a digit with the mouse, seeing at once what it is read as, and teaching it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .actions import Gesture, Here
from .keys import normalised
from .viewer import Point, Viewer

if TYPE_CHECKING:
    from ...run.frame import Frame
    from ...run.worker import Worker
    from ..shown.pad import DigitPad
    from .playback import Playback


def _no_digit(here: Here) -> str:
    return "there is no digit to draw on" if here.subject.pad is None else ""


GESTURES = (
    Gesture("Drag", "view", "on the digit: draw one (right button: erase)", _no_digit),
    Gesture("0\N{EN DASH}9", "edit", "on the digit: learn it as that digit", _no_digit),
    Gesture("Backspace", "view", "on the digit: clear it", _no_digit),
)
"""For the list of keys of a scene that has a digit to draw on."""


class DigitHands(Viewer):
    """The part of a live view that belongs to its digit; without one it does nothing.

    While the pointer is on the digit the keys 0 to 9 and Backspace belong to it.
    """

    worker: Worker
    playback: Playback
    _with_rows: Frame | None
    _last: Point | None = None  # of a stroke, in pixels of the picture
    _erasing = False

    @property
    def pad(self) -> DigitPad | None:
        """What is drawn on."""
        return self.bench.subject.pad

    def _place(self, at: Point) -> Point | None:
        if self.pad is None or self.bench.help:
            return None
        return self.pad.place(self.bench.to_logical(at))

    def press(self, at: Point, button: str = "left") -> None:
        """A button went down: on the digit a stroke begins."""
        place = self._place(at)
        if place is None:
            super().press(at, button)
            return
        self._erasing = button != "left"
        self._stroke(place, place)

    def move(self, at: Point) -> None:
        """The pointer is at `at`."""
        place = self._place(at)
        if self.pad is not None and (place is not None) != self.pad.active:
            self.pad.active = place is not None
            self.refresh()
        if self._last is None:
            super().move(at)
        elif place is not None:
            self._stroke(self._last, place)

    def release(self, at: Point) -> None:
        """The button went up: a stroke ends."""
        if self._last is None:
            super().release(at)
        self._last = None

    def leave(self) -> None:
        """The pointer left the window."""
        if self.pad is not None and self.pad.active:
            self.pad.active = False
            self.refresh()
        super().leave()

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """A key was pressed; returns whether it means something here."""
        pad = self.pad
        if pad is not None and pad.active and not self.bench.help and not ctrl:
            if len(text) == 1 and text in "0123456789":
                self.learn(int(text))
                return True
            if normalised(name, text) in ("Backspace", "Delete"):
                pad.clear()
                self._redrawn()
                return True
        return super().key(name, text, shift=shift, ctrl=ctrl)

    def learn(self, label: int) -> None:
        """Add the digit to the data as what it is, at the next call boundary, and go on training."""
        pad = self.pad
        if pad is None or not pad.picture.any():  # an empty sheet is no digit
            return
        sample = pad.picture[None].copy()

        def change(run: Any) -> None:
            run.add_samples(sample, [[label]])

        self.worker.edit(change, f"a drawn {label}")
        pad.label = label
        pad.learnt += 1
        self.refresh()
        if not self.playback.running:
            self.playback.play()

    def _stroke(self, start: Point, end: Point) -> None:
        assert self.pad is not None
        self.pad.stroke(start, end, erase=self._erasing)
        self._last = end
        self._redrawn()

    def _redrawn(self) -> None:
        self._with_rows = None  # the rows of another sample
        self.refresh()
