"""`Mirror`: a picture of what somebody else changes: a hand-written loop, ``w.step()``, a Run stepped by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ink.theme import Theme
from ..shown.subject import LOOP_CURVE, Subject
from ..workbench import Workbench
from .actions import bottom_line
from .guide import SourceGuide
from .reasons import Here
from .told_record import ToldRecord
from .travels import Travels
from .viewer import Viewer

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.looking import FrameRequest


class Mirror(Viewer):
    """Follows the source of a `Subject`.

    Parameters
    ----------
    subject : Subject
        What is shown.
    size : (int, int)
        Device pixels.
    theme, cmap : str
        See :class:`~scalarviz.view.workbench.Workbench`.
    bench : Workbench, optional
        One of a kind of its own, of that subject and size.
    """

    def __init__(
        self,
        subject: Subject,
        size: tuple[int, int],
        *,
        theme: str | Theme = "dark",
        cmap: str | None = None,
        bench: Workbench | None = None,
    ) -> None:
        keys = bottom_line(Here(subject, trains=self.trains))
        super().__init__(bench or Workbench(subject, size, theme, cmap, keys=keys, text_hz=10.0))
        self.subject = subject
        self._asked: FrameRequest | None = None
        self._last: Frame | None = None
        self._counted = subject.source.counted
        self._told = subject.source.facts is not None or LOOP_CURVE in subject.panels
        self._record = ToldRecord(self.bench, self.say)
        self._may_go()

    def _may_go(self) -> bool:
        """Let keys lead through the past, as soon as there is one; returns whether they do from now on."""
        if self.travels is not None or not self.subject.source.can.go:
            return False
        self.travels = Travels(self, self.frame, SourceGuide(self.subject.source))
        names = {"back", "first", "newest"}
        self.handlers |= {name: do for name, do in self.travels.handlers.items() if name in names}
        self.handlers["step"] = self.step
        return True

    def tick(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether the picture has to be drawn again."""
        self._make_room()
        if self.travels is not None and self._record.tell(self.frame()):
            self.refresh()
        return super().tick(seconds)

    def _make_room(self) -> None:
        """Room for step, loss and time, as soon as a loop of the user's own counts or tells them."""
        source, curve, goes = self.subject.source, self._told, self._may_go()
        if not curve and len(source.curve.step):
            self._told = True
            self.bench.side.add(LOOP_CURVE)
        if goes or (source.counted, self._told) != (self._counted, curve):
            self._counted = source.counted
            self.resize(self.bench.size)

    def frame(self) -> Frame:
        """The numbers as they are now; where another thread trains, the last ones that it has given."""
        before = request = self._asked
        if request is None or request.done:
            request = self.subject.request_frame(state=self.bench.colouring.shows.state)
        self._asked = None if request.done else request
        come = next((asked for asked in (request, before) if asked is not None and asked.done), None)
        if come is not None or self._last is None:
            self._last = (come or request).result()
        return self._last

    def step(self, count: int = 1) -> None:
        """Steps that were done before."""
        if self.travels is not None and not self.travels.forward(count):
            self.travels.newest()

    def pace_text(self, frame: Frame | None = None) -> str:
        """Where in the past `frame` stands (None: the newest one), and the engine, if there is one."""
        facts = self.subject.source.facts
        past = "" if self.travels is None else self.travels.words(frame)
        return "  ·  ".join(filter(None, (past, "" if facts is None else facts.engine)))
