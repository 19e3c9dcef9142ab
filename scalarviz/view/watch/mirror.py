"""`Mirror`: a picture of what somebody else changes: a hand-written loop, ``w.step()``, a Run stepped by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shown.subject import LOOP_CURVE, Subject
from ..workbench import Workbench
from .actions import Here, bottom_line
from .viewer import Viewer

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.looking import FrameRequest


class Mirror(Viewer):
    """Follows the source of a `Subject`, in `size` device pixels or in a workbench of its own kind."""

    def __init__(self, subject: Subject, size: tuple[int, int], *, bench: Workbench | None = None) -> None:
        keys = bottom_line(Here(subject, trains=self.trains))
        super().__init__(bench or Workbench(subject, size, keys=keys, text_hz=10.0))
        self.subject = subject
        self._asked: FrameRequest | None = None
        self._last: Frame | None = None
        self._told = subject.source.facts is not None or LOOP_CURVE in subject.panels
        self._room = self._wants_room()

    def tick(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether the picture has to be drawn again."""
        self._make_room()
        return super().tick(seconds)

    def _wants_room(self) -> tuple[bool, bool, bool]:
        """For what: steps that are counted, losses that are told, a past that one can go to."""
        return self.subject.source.counted, self._told, self.subject.source.can.go

    def _make_room(self) -> None:
        """Room for step, loss and time, as soon as a loop of the user's own counts or tells them."""
        if not self._told and len(self.subject.source.curve.step):
            self._told = True
            self.bench.side.add(LOOP_CURVE)
        if self._room != (room := self._wants_room()):
            self._room = room
            self.resize(self.bench.size)

    def now(self) -> Frame:
        """The numbers as they are; where another thread trains, the last ones that it has given."""
        before = request = self._asked
        if request is None or request.done:
            request = self.subject.request_frame(state=self.bench.colouring.shows.state)
        self._asked = None if request.done else request
        come = next((asked for asked in (request, before) if asked is not None and asked.done), None)
        if come is not None or self._last is None:
            self._last = (come or request).result()
        return self._last

    def pace(self, frame: Frame) -> list[str]:
        """Where in the past it is, and the engine, if there is one."""
        facts = self.subject.source.facts
        return [self.travels.words(frame), "" if facts is None else facts.engine]
