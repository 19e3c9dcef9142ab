"""`Inspector`: what is selected, what is known of it, and where it was drawn last."""

from __future__ import annotations

import numpy as np

from ...run.core.frame import Frame
from ...run.source import Can
from ...run.weight_record import WeightRecord
from ..draw.places import Box
from ..draw.sketch import Sketch
from ..draw.theme import Theme
from ..shown.subject import Subject
from .account import Account
from .column import Told, draw_column
from .entry import Entry
from .explanation import Explanation, Lines
from .page import Does, Page, Spot
from .parts import parts_of
from .plots import Moved
from .selection import Selection
from .several import HEIGHT, draw_several, draw_several_small
from .small import draw_small
from .value_history import ValueHistory
from .who import tensor_of, who


class Inspector:
    """The panel of one selected weight, or of several.

    Parameters
    ----------
    subject : Subject
    selection : Selection or int
        What is selected; a flat index is that weight alone.

    Attributes
    ----------
    selection : Selection
    box, number : Box or None
        Where the panel and its value were drawn last; None where they were not.
    spots : list of Spot
        What a click on it does.
    account : Account or None
        Why the weight will move, as far as it is known.
    record : (RecordKey, WeightRecord) or None
        How the weight moved over all that is recorded, and of which past that is.
    entry : Entry or None
        A number that is being typed.
    """

    def __init__(self, subject: Subject, selection: Selection | int) -> None:
        parts = parts_of(subject, selection if isinstance(selection, int) else selection.main)
        self.selection = parts[-1].selected(selection) if isinstance(selection, int) else selection
        self.index = self.selection.main
        self.box: Box | None = None
        self.number: Box | None = None
        self.spots: list[Spot] = []
        self.who = who(subject, self.index)
        self.account: Account | None = None
        self.record: tuple[RecordKey, WeightRecord] | None = None
        self.entry: Entry | None = None
        self.parts = parts
        self._subject = subject
        self._explanation = Explanation(subject, self.index, tensor_of(subject, self.index))
        self._history = ValueHistory()

    @property
    def single(self) -> bool:
        """Whether it is of one weight."""
        return self.selection.single

    def follow(self, frame: Frame) -> None:
        """Take over the value of a frame; what stands still, as the numbers of a file do, has no course."""
        if self._subject.source.can == Can():
            return
        self._history.add(frame.step, float(frame.values[self.index]))

    def explanation(self, frame: Frame) -> Lines:
        """Where its gradient comes from and what the last step did with it; as much as is true."""
        return self._explanation.lines(frame) if self.single else ()

    def spot_at(self, point: tuple[float, float]) -> Spot | None:
        """What a click at a point does."""
        return next((spot for spot in reversed(self.spots) if spot.holds(point)), None)

    def hide(self) -> None:
        """It is drawn nowhere."""
        self.box = self.number = None
        self.spots = []

    @property
    def wanted(self) -> float:
        """Height that it would fill in the column (logical pixels)."""
        if not self.single:
            return HEIGHT
        return 4000.0 if self._subject.source.can.open else 290.0

    # the panel

    def sketch(self, box: Box, theme: Theme, frame: Frame, explanation: Lines) -> Sketch:
        """The small form in `box`; what does not fit is left out."""
        self.box, self.spots = box, []
        if not self.single:
            self.number = None
            return draw_several_small(box, theme, self.selection, frame, self.entry)
        sketch, self.number = draw_small(box, theme, frame, self._subject, self.index, self.who, self._history,
                                         explanation, self.entry)  # fmt: skip
        return sketch

    def column(
        self,
        box: Box,
        theme: Theme,
        frame: Frame,
        explanation: Lines = (),
        over: Does | None = None,
        *,
        opened: bool = False,
    ) -> Sketch:
        """The large form in `box`; `opened` says that somebody gives it the account of the coming step."""
        x, y, width, height = self.box = box
        page = Page(x, y, width, theme, over)
        edits = self._subject.source.can.edit
        if self.single:
            told = Told(self._subject, frame, self.who, self.parts, self.selection.kind, self.account,
                        self._moved(frame), explanation, self.entry, edits, opened)  # fmt: skip
            draw_column(page, told, height)
            self.number = next(spot.box for spot in page.spots if spot.name == "type")
        else:
            self.number = None
            draw_several(page, self.selection, self.parts, frame, self.entry, edits=edits)
        self.spots = page.spots
        return page.sketch

    def _moved(self, frame: Frame) -> Moved:
        """All that is recorded, as far as it is of this past, and what was seen since."""
        history, value = self._history, float(frame.values[self.index])
        steps, values = np.array(history.steps, np.float64), np.array(history.values, np.float64)
        if self.record is not None:
            (key, record), whole = self.record, slice(None)
            if key == record_key(frame):
                steps, values = steps[:0], values[:0]
            elif len(steps):  # since then the run went on, perhaps on another branch
                whole = slice(0, int(np.searchsorted(record.steps, steps[0])))
            steps = np.concatenate([record.steps[whole], steps])
            values = np.concatenate([record.values[whole], values])
        since = f"since step {int(steps[0]):,}" if len(steps) else ""
        return Moved(steps, values, since, frame.step, value)


RecordKey = tuple[int, int, int]
"""Of a past: its branch, its newest step, and how many edits it has."""


def record_key(frame: Frame) -> RecordKey | None:
    """Which past a frame has; None where nothing keeps one."""
    past = frame.past
    if past is None:
        return None
    branch = next((branch.number for branch in past.branches if branch.current), 0)
    return branch, past.newest, len(past.edits)
