"""`Acts`: what hands do to the weights that are selected: type, nudge, freeze, zero, scale, draw anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ScalarvizError
from ...run.callbacks import condition_name
from ...run.edits import Edit, RedrawWeights, ScaleWeights, SetFrozen, SetWeights, Together
from ..ink.widgets import Entry
from ..screen.selection import Selection, parts_of

if TYPE_CHECKING:
    from ...run.run import Run
    from ...run.source import Source
    from ..ink.sketch import Spot
    from ..screen.inspector import Inspector
    from .viewer import Viewer


class Acts:
    """The selection of one viewer, as an object of deeds. Each is one edit.

    Parameters
    ----------
    viewer : Viewer

    Attributes
    ----------
    handlers : dict of str to callable
        By the names of the table of actions.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self.handlers: dict[str, Callable[..., None]] = {
            "type_value": self.type_value, "nudge_up": self.nudge_up, "nudge_down": self.nudge_down,
            "freeze": self.freeze, "zero": self.zero, "halve": self.halve, "double": self.double,
            "redraw": self.redraw, "select_more": self.select_more, "find_sign": self.find_sign,
        }  # fmt: skip
        self._search: Search | None = None

    @property
    def _inspector(self) -> Inspector:
        found = self._viewer.bench.touch.inspector
        assert found is not None  # the table says that something has to be selected
        return found

    @property
    def _selection(self) -> Selection:
        return self._inspector.selection

    def _do(self, edit: Edit) -> None:
        self._viewer.change(edit)

    # ---- what is selected

    def select_more(self) -> None:
        """The next larger part of the outline; after the whole network the weight alone."""
        selection = self._selection
        parts = [part for part in parts_of(self._viewer.bench.subject, selection.main) if part.kind != "column"]
        larger = [part for part in parts if sum(count for _, count in part.spans) > selection.count]
        chosen = larger[-1] if larger else parts[-1]
        self._viewer.bench.select(chosen.selected(selection.main))

    def select_part(self, kind: str, main: int | None = None) -> None:
        """A part of the outline around a weight, by its kind; one that is no more than a smaller part is that."""
        bench = self._viewer.bench
        index = self._selection.main if main is None else main
        order = ("network", "layer", "tensor", "neuron", "row", "column", "weight")
        parts = {part.kind: part for part in parts_of(bench.subject, index)}
        found = next(parts[k] for k in order[order.index(kind) :] if k in parts)
        bench.select(found.selected(index))

    def toggle(self, index: int) -> None:
        """One weight more, or without it."""
        inspector = self._viewer.bench.touch.inspector
        chosen = None if inspector is None else inspector.selection.toggled(index)
        self._viewer.bench.select(index if inspector is None else chosen)

    def click(self, spot: Spot, at: tuple[float, float]) -> None:
        """A place of the inspector was clicked, at a point in logical pixels."""
        if spot.name == "part":
            self.select_part(str(spot.value))
        elif spot.name == "sample":
            self._show_sample(int(spot.value))
        elif spot.name == "moment":
            first, last = (int(step) for step in str(spot.value).split())
            share = (at[0] - spot.box[0]) / spot.box[2]
            if self._viewer.travels is not None:
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
        inspector = self._inspector
        if not inspector.single:
            self._viewer.say("V asks of one weight: click a cube")
            return
        self._search = Search(self._viewer.bench.subject.source, inspector.index, inspector.who.name)

    def pass_time(self) -> None:
        """A search goes on, or has come to an end."""
        search = self._search
        if search is None:
            return
        self._viewer.say(search.words)
        if search.done:
            self._search, step = None, search.step
            if step is not None and self._viewer.travels is not None:
                self._viewer.travels.go(step)
        self._viewer.refresh()

    def let_go(self) -> bool:
        """Escape: give up what is being searched; whether there was something."""
        search = self._search
        if search is not None:
            search.give_up()
        return search is not None

    # ---- deeds

    def freeze(self) -> None:
        """The optimiser leaves them alone; where it does already, no longer."""
        selection = self._selection
        frozen = not selection.of(self._viewer.shown.frozen).all()
        flags = tuple(SetFrozen(start, np.full(count, frozen)) for start, count in selection.spans)
        if selection.single:
            self._do(flags[0])
        else:
            self._do(Together(flags, f"{'freeze' if frozen else 'free'} {selection.words}"))

    def zero(self) -> None:
        """All of them become 0."""
        selection = self._selection
        if selection.single:
            self._do(SetWeights(selection.main, np.zeros(1)))
        else:
            parts = tuple(SetWeights(start, np.zeros(count)) for start, count in selection.spans)
            self._do(Together(parts, f"zero {selection.words}"))

    def halve(self) -> None:
        """Half of what they are."""
        self._scale(0.5)

    def double(self) -> None:
        """Twice what they are."""
        self._scale(2.0)

    def _scale(self, factor: float) -> None:
        self._do(ScaleWeights(self._selection.spans, factor, self._selection.words))

    def redraw(self) -> None:
        """They begin anew."""
        self._do(RedrawWeights(self._selection.spans, self._selection.words))

    def nudge_up(self) -> None:
        """A notch more."""
        self._nudge(1.0)

    def nudge_down(self) -> None:
        """A notch less."""
        self._nudge(-1.0)

    def _nudge(self, notches: float) -> None:
        if self._selection.single:
            self._viewer.hands.turn(self._selection.main, notches)
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
        if number is None:
            return
        if inspector.single:
            self._do(SetWeights(inspector.index, np.array([number])))
        else:
            self._scale(number)


# ---- `Search`: asks the run when a weight last changed its sign, and does not wait for the answer.


class Search:
    """One question.

    Parameters
    ----------
    source : Source
        That has a past.
    index : int
        Of the weight, flat.
    name : str
        What it is called.

    Attributes
    ----------
    step : int or None
        Where it changed its sign, once that is known.
    """

    def __init__(self, source: Source, index: int, name: str) -> None:
        self.step: int | None = None
        self._index, self._name, self._share, self._given_up = index, name, 0.0, False
        self._words = ""
        self._asked = source.ask(self._find)

    def _find(self, run: Run) -> int | None:
        return run.find(f"sign({condition_name(run, self._index)}) changes", progress=self._told)

    def _told(self, share: float) -> bool:
        self._share = share
        return not self._given_up

    def give_up(self) -> None:
        """No more is searched."""
        self._given_up = True

    @property
    def done(self) -> bool:
        """Whether the answer is there; it is taken over."""
        if not self._asked.done():
            return False
        if not self._words:
            self._take()
        return True

    @property
    def words(self) -> str:
        """How far it is, or what was found."""
        if not self.done:
            return f"searching where {self._name} changed its sign: {100 * self._share:.0f} %; Escape gives up"
        return self._words

    def _take(self) -> None:
        try:
            self.step = self._asked.result()
        except ScalarvizError as error:
            self._words = str(error)
            return
        if self.step is not None:
            self._words = f"{self._name} changed its sign at step {self.step:,}"
        elif self._given_up:
            self._words = "given up"
        else:
            self._words = f"{self._name} has not changed its sign before"
