"""`SelectedWeights`: what keys and clicks do to the selected weights: type, nudge, freeze, scale."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...run.edits import Edit, RedrawWeights, ScaleWeights, SetFrozen, SetWeights, Together
from ...run.sources.played import RecordedSource
from ..ink.widgets import Entry
from ..screen.selection import Selection, part, parts_of
from .questions import SignSearch

if TYPE_CHECKING:
    from ..ink.sketch import Spot
    from ..screen.inspector import Inspector
    from .viewer import Viewer


class SelectedWeights:
    """The selection of one viewer; each action on it is one edit, and `handlers` has them by their names."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._search: SignSearch | None = None
        self.handlers: dict[str, Callable[..., object]] = {
            "type_value": self.type_value, "find_sign": self.find_sign, "select_more": self._select_more,
            "nudge_up": partial(self._nudge, +1.0), "nudge_down": partial(self._nudge, -1.0),
            "freeze": self._freeze, "zero": self._zero,
            "halve": partial(self._scale, 0.5), "double": partial(self._scale, 2.0),
            "redraw": lambda: viewer.change(RedrawWeights(self._selection.spans, self._selection.words)),
        }  # fmt: skip

    @property
    def _inspector(self) -> Inspector:
        found = self._viewer.bench.touch.inspector
        assert found is not None  # the table of actions says that something has to be selected
        return found

    @property
    def _selection(self) -> Selection:
        return self._inspector.selection

    # ---- what is selected

    def _select_more(self) -> None:
        """The next larger part of the outline; after the whole network the weight alone."""
        selection = self._selection
        parts = [one for one in parts_of(self._viewer.bench.subject, selection.main) if one.kind != "column"]
        larger = [one for one in parts if one.count > selection.count]
        chosen = larger[-1] if larger else parts[-1]
        self._viewer.bench.select(chosen)

    def select_part(self, kind: str, main: int | None = None) -> None:
        """A part of the outline around a weight, by its kind; one that is no more than a smaller part is that."""
        bench = self._viewer.bench
        bench.select(part(bench.subject, self._selection.main if main is None else main, kind))

    def toggle(self, index: int) -> None:
        """One weight more, or without it."""
        inspector = self._viewer.bench.touch.inspector
        self._viewer.bench.select(index if inspector is None else inspector.selection.toggled(index))

    def click(self, spot: Spot, at: tuple[float, float]) -> None:
        """A place of the inspector was clicked, at a point in logical pixels."""
        if spot.name == "part":
            self.select_part(str(spot.value))
        elif spot.name == "sample":
            self._show_sample(int(spot.value))
        elif spot.name == "moment":
            first, last = (int(step) for step in str(spot.value).split())
            share = (at[0] - spot.box[0]) / spot.box[2]
            self._viewer.travels.go(first + round(share * (last - first)))
        elif spot.name != "type":  # a value is typed after a double click: a click may be the start of a drag
            self._viewer.send(spot.name)

    def _show_sample(self, number: int) -> None:
        bench = self._viewer.bench
        sample, target = bench.subject.source.sample(number)
        if bench.side.ground.chooses(np.size(sample)):
            bench.side.ground.choose(sample, target)
            self._viewer.say(f"shows sample {number + 1:,}")

    # ---- when was it so

    def find_sign(self) -> None:
        """Go to the step at which the weight last changed its sign."""
        inspector, source = self._inspector, self._viewer.bench.subject.source
        if not inspector.single:
            self._viewer.say("V asks of one weight: click a cube")
        elif isinstance(source, RecordedSource):
            name, step = inspector.who.name, source.last_sign_change(inspector.index)
            if step is None:
                self._viewer.say(f"{name} has not changed its sign before, in what was recorded")
            else:
                self._viewer.say(f"{name} changed its sign at step {step:,}, or since the recorded step before it")
                self._viewer.travels.go(step)
        else:
            self._search = SignSearch(self._viewer, inspector.index, inspector.who.name)

    def pass_time(self) -> None:
        """How far a search is."""
        search = self._search
        if search is None or search.ended:
            self._search = None
            return
        share = f"{100 * search.share:.0f} %"
        self._viewer.say(f"searching where {search.name} changed its sign: {share}; Escape gives up")
        self._viewer.refresh()

    def give_up(self) -> bool:
        """Give up what is being searched; whether there was something."""
        if self._search is not None:
            self._search.give_up()
        return self._search is not None

    # ---- edits

    def _each(self, edit: Callable[[int, int], Edit], does: str) -> None:
        """One edit for each span of what is selected, together one."""
        selection = self._selection
        edits = tuple(edit(start, count) for start, count in selection.spans)
        self._viewer.change(edits[0] if selection.single else Together(edits, f"{does} {selection.words}"))

    def _freeze(self) -> None:
        """The optimiser leaves them alone; where it does already, no longer."""
        frozen = not self._selection.of(self._viewer.shown.frozen).all()
        self._each(lambda start, count: SetFrozen(start, np.full(count, frozen)), "freeze" if frozen else "free")

    def _zero(self) -> None:
        self._each(lambda start, count: SetWeights(start, np.zeros(count)), "zero")

    def _scale(self, factor: float) -> None:
        self._viewer.change(ScaleWeights(self._selection.spans, factor, self._selection.words))

    def _nudge(self, notches: float) -> None:
        if self._selection.single:
            self._viewer.pointer.turn(self._selection.main, notches)
        else:
            self._viewer.say("+ and - move one weight; * and / scale several")

    # ---- typing

    def type_value(self) -> None:
        """From now on keys are digits: of the value, or of what several are multiplied with."""
        self._inspector.entry = Entry("" if self._inspector.single else "times")

    def key(self, pressed: str, text: str) -> bool:
        """A key while a number is typed; whether it was taken."""
        inspector = self._viewer.bench.touch.inspector
        if inspector is None or inspector.entry is None:
            return False
        entry = inspector.entry
        if pressed == "Enter":
            self._typed(inspector, entry)
        elif pressed == "Escape":
            inspector.entry = None
        elif pressed in ("Backspace", "Delete"):
            entry.erase()
        elif not entry.type(text or pressed):
            self._viewer.say("Enter sets the number, Escape leaves it")
        return True

    def _typed(self, inspector: Inspector, entry: Entry) -> None:
        """Enter: the number is set, as one edit; an empty one changes nothing."""
        number = entry.number
        if number is None and entry.text:
            self._viewer.say(f"{entry.text} is no number; such as -0.5 or 1e-3")
            return
        inspector.entry = None
        if number is not None and inspector.single:
            self._viewer.change(SetWeights(inspector.index, np.array([number])))
        elif number is not None:
            self._scale(number)
