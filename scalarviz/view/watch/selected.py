"""`SelectedWeights`: keys and clicks on the selected weights: type, nudge, freeze, scale.

`Asking` asks the run for the inspector why the weight will move and how it moved, without slowing training or the
window. `SignSearch` finds the last change of sign.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ScalarvizError
from ...run.callbacks import condition_name
from ...run.edits import Edit, RedrawWeights, ScaleWeights, SetFrozen, SetWeights, Together
from ...run.sources.played import RecordedSource
from ...run.travel import WeightRecord, weight_record
from ..ink.widgets import Entry
from ..screen.account import Account, account_of
from ..screen.inspector import RecordKey, record_key
from ..shown.names import Selection, part, parts_of

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.run import Run
    from ..ink.sketch import Spot
    from ..screen.inspector import Inspector
    from .viewer import Viewer


class SelectedWeights:
    """The selection of one viewer; each action on it is one edit, and `handlers` maps action names to functions."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._search: SignSearch | None = None
        self.handlers: dict[str, Callable[..., object]] = {
            "type_value": self.type_value, "find_sign": self.find_sign, "select_more": self._select_more,
            "nudge_up": partial(self._nudge, +1.0), "nudge_down": partial(self._nudge, -1.0),
            "freeze": self._freeze,
            "zero": partial(self._edit_spans, lambda start, count: SetWeights(start, np.zeros(count)), "zero"),
            "halve": partial(self._scale, 0.5), "double": partial(self._scale, 2.0),
            "redraw": lambda: viewer.change(RedrawWeights(self._selection.spans, self._selection.words)),
        }  # fmt: skip

    @property
    def _inspector(self) -> Inspector:
        found = self._viewer.bench.interaction.inspector
        assert found is not None  # the table of actions requires a selection
        return found

    @property
    def _selection(self) -> Selection:
        return self._inspector.selection

    # ---- selection

    def _select_more(self) -> None:
        """Select the next larger part; after the whole network the single weight."""
        selection = self._selection
        parts = [one for one in parts_of(self._viewer.bench.subject, selection.main) if one.kind != "column"]
        larger = [one for one in parts if one.count > selection.count]
        self._viewer.bench.select(larger[-1] if larger else parts[-1])

    def select_part(self, kind: str, main: int | None = None) -> None:
        """Select the part of a kind around a weight; a part that is no larger than a smaller kind becomes that."""
        bench = self._viewer.bench
        bench.select(part(bench.subject, self._selection.main if main is None else main, kind))

    def toggle(self, index: int) -> None:
        """Add a weight to the selection, or remove it."""
        inspector = self._viewer.bench.interaction.inspector
        self._viewer.bench.select(index if inspector is None else inspector.selection.toggled(index))

    def click(self, spot: Spot, at: tuple[float, float]) -> None:
        """Handle a click on a part of the inspector, at a point in logical pixels."""
        if spot.name == "part":
            self.select_part(str(spot.value))
        elif spot.name == "sample":
            self._show_sample(int(spot.value))
        elif spot.name == "moment":
            first, last = (int(step) for step in str(spot.value).split())
            self._viewer.travels.go(first + round((at[0] - spot.box[0]) / spot.box[2] * (last - first)))
        elif spot.name != "type":  # a double click types a value: a single click may start a drag
            self._viewer.send(spot.name)

    def _show_sample(self, number: int) -> None:
        bench = self._viewer.bench
        sample, target = bench.subject.source.sample(number)
        if bench.side.shared.can_choose(np.size(sample)):
            bench.side.shared.choose(sample, target)
            self._viewer.say(f"shows sample {number + 1:,}")

    # ---- search

    def find_sign(self) -> None:
        """Go to the step at which the weight last changed its sign."""
        inspector, source = self._inspector, self._viewer.bench.subject.source
        if not inspector.single:
            self._viewer.say("V needs one weight: click a cube")
        elif isinstance(source, RecordedSource):
            name, step = inspector.who.name, source.last_sign_change(inspector.index)
            if step is None:
                self._viewer.say(f"{name} did not change its sign in the recorded steps")
            else:
                self._viewer.say(f"{name} changed its sign between the previous recorded step and step {step:,}")
                self._viewer.travels.go(step)
        else:
            self._search = SignSearch(self._viewer, inspector.index, inspector.who.name)

    def pass_time(self) -> None:
        """Report the progress of a search."""
        search = self._search
        if search is None or search.ended:
            self._search = None
            return
        share = f"{100 * search.share:.0f} %"
        self._viewer.say(f"searching the last change of sign of {search.name}: {share} (Esc cancels)")

    def cancel(self) -> bool:
        """Cancel a search; return whether there was one."""
        if self._search is not None:
            self._search.given_up = True
        return self._search is not None

    # ---- edits

    def _edit_spans(self, edit: Callable[[int, int], Edit], does: str) -> None:
        """Make one edit for each span of the selection, joined into one."""
        selection = self._selection
        edits = tuple(edit(start, count) for start, count in selection.spans)
        self._viewer.change(edits[0] if selection.single else Together(edits, f"{does} {selection.words}"))

    def _freeze(self) -> None:
        """Freeze the selection, or unfreeze it if all of it is frozen."""
        frozen = not self._selection.numbers_of(self._viewer.shown.frozen).all()
        self._edit_spans(lambda start, count: SetFrozen(start, np.full(count, frozen)), "freeze" if frozen else "free")

    def _scale(self, factor: float) -> None:
        self._viewer.change(ScaleWeights(self._selection.spans, factor, self._selection.words))

    def _nudge(self, notches: float) -> None:
        if self._selection.single:
            self._viewer.pointer.turn(self._selection.main, notches)
        else:
            self._viewer.say("+ and - change one weight; * and / scale several")

    # ---- typing

    def type_value(self) -> None:
        """Start typing a number: the value of one weight, or a factor for several."""
        self._inspector.entry = Entry("" if self._inspector.single else "times")

    def key(self, pressed: str, text: str) -> bool:
        """Handle a key while a number is typed; return whether it was used."""
        inspector = self._viewer.bench.interaction.inspector
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
            self._viewer.say("Enter sets the number, Escape cancels")
        return True

    def _typed(self, inspector: Inspector, entry: Entry) -> None:
        """Set the typed number as one edit; an empty number changes nothing."""
        number = entry.number
        if number is None and entry.text:
            self._viewer.say(f"got {entry.text}; allowed: a number, such as -0.5 or 1e-3")
            return
        inspector.entry = None
        if number is not None and inspector.single:
            self._viewer.change(SetWeights(inspector.index, np.array([number])))
        elif number is not None:
            self._scale(number)


# ---- Questions to the run about the selected weight; nothing waits for the answers.

Answer = Account | tuple[RecordKey, WeightRecord]
Question = Callable[[Any], Answer]
"""Asks a run, or a recording: both open the next step."""

LEAST = 0.15
"""Fewest seconds between two questions."""
QUICK = 0.02
"""Most seconds that an answer may take while training runs."""
BLINK = 0.3
"""Seconds for which an outdated answer is shown until the next one arrives."""
SHARE, AT_REST = 30.0, 2.0
"""Pause before the next question, in multiples of an answer's time, while training runs and when idle."""


def _account(opens: Any, index: int, along: bool) -> Account:
    edits = opens.edits if isinstance(opens, RecordedSource) else len(opens.log)
    return account_of(opens.open(), index, edits, along=along)


def _timed(run: Any, question: Question) -> tuple[float, Answer]:
    """Return the seconds that an answer took, and the answer."""
    begun = time.perf_counter()
    answer = question(run)
    return time.perf_counter() - begun, answer


class Asking:
    """Asks the run about the selected weight, for one viewer."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer, self._bench = viewer, viewer.bench
        viewer.bench.interaction.opens_steps = True
        self._asked = False  # whether an answer is pending
        self._costs = {False: 0.0, True: 0.0}  # seconds that the last answer took, without and with "what if"
        self._rests, self._share, self._least, self._old = 0.0, SHARE, LEAST, 0.0
        self._refused: Inspector | None = None
        self._told: tuple[Inspector, RecordKey] | None = None

    def pass_time(self, seconds: float, frame: Frame) -> None:
        """Advance by `seconds` with `frame` shown, and ask if a question is due."""
        self._rests -= seconds
        held = self._viewer.pointer.grip is not None  # training waits while the user watches the effect
        self._share = AT_REST if held or self._viewer.is_idle else SHARE
        self._least = 0.0 if held else LEAST
        inspector, source = self._bench.interaction.inspector, self._bench.subject.source
        if inspector is None or not inspector.single:
            return
        self._check_age(inspector, self._bench.interaction.written or frame, seconds)
        if not self._viewer.trains:  # such a source knows the weight's past at once
            self._tell_record(inspector, frame)
        if self._asked or not source.can.open or inspector is self._refused:
            return
        if self._bench.interaction.column(self._bench.places) is not None:
            question = self._question(inspector, frame)
            if question is not None:
                self._asked = True
                take, fail = partial(self._take_answer, inspector), partial(self._fail, inspector)
                self._viewer.ask_run(partial(_timed, question=question), take, fail)

    def _check_age(self, inspector: Inspector, frame: Frame, seconds: float) -> None:
        """Hide an outdated account after `BLINK` seconds."""
        account = inspector.account
        old = account is not None and not self._is_current(account, frame)
        self._old = self._old + seconds if old else 0.0
        if inspector.of_now != (self._old <= BLINK):
            inspector.of_now = not inspector.of_now
            self._viewer.refresh()

    def _tell_record(self, inspector: Inspector, frame: Frame) -> None:
        """Give the inspector the past of its weight, once for each past."""
        key = record_key(frame)
        if key is None or (inspector, key) == self._told:
            return
        self._told = inspector, key
        try:
            record = self._bench.subject.source.weight_record(inspector.index)
        except ScalarvizError as error:
            self._viewer.say(str(error))
            return
        inspector.record = None if record is None else (key, record)
        self._viewer.refresh()

    def _question(self, inspector: Inspector, frame: Frame) -> Question | None:
        """Return the question that is due, or None."""
        account, index, quick = inspector.account, inspector.index, self._costs[True] < QUICK
        rests = self._viewer.is_idle  # idle: there is time for more, and for the past of a run
        if account is None or not self._is_current(account, frame):
            if self._rests > 0.0 and account is not None:
                return None
            return partial(_account, index=index, along=quick)
        if account.along is None and (rests or quick):
            return partial(_account, index=index, along=True)
        key = record_key(frame)
        known = key is None or (inspector.record is not None and inspector.record[0] == key)
        if key is None or known or not (self._viewer.trains and rests):
            return None
        return lambda run: (key, weight_record(run, index))

    def _take_answer(self, inspector: Inspector, answer: tuple[float, Answer]) -> None:
        """Show an answer."""
        seconds, found = answer
        self._asked, self._rests = False, max(self._least, self._share * seconds)
        if isinstance(found, Account):
            self._costs[found.along is not None] = seconds
            inspector.account = found
        else:
            inspector.record = found

    def _fail(self, inspector: Inspector, error: Exception) -> None:
        """Stop asking: the run was closed, the weight is of another run, or the run is too large."""
        self._asked, self._refused, inspector.account = False, inspector, None

    def _is_current(self, account: Account, frame: Frame) -> bool:
        """Return whether an account is of the moment shown."""
        same = (account.step, account.edits) == (frame.step, self._bench.subject.source.edits)
        return same and account.values is not None and np.array_equal(account.values, frame.exact, equal_nan=True)


class SignSearch:
    """Finds when a weight last changed its sign, and goes there."""

    def __init__(self, viewer: Viewer, index: int, name: str) -> None:
        self._viewer, self.name = viewer, name
        self.share, self.ended, self.given_up = 0.0, False, False

        def find(run: Run) -> int | None:
            return run.find(f"sign({condition_name(run, index)}) changes", progress=self._report_progress)

        viewer.ask_run(find, self._go_to_step, self._fail)

    def _report_progress(self, share: float) -> bool:
        self.share = share
        return not self.given_up

    def _go_to_step(self, step: int | None) -> None:
        self.ended = True
        if step is not None:
            self._viewer.say(f"{self.name} changed its sign at step {step:,}")
            self._viewer.travels.go(step)
        else:
            self._viewer.say("search cancelled" if self.given_up else f"{self.name} has never changed its sign")

    def _fail(self, error: Exception) -> None:
        self.ended = True
        self._viewer.say(str(error))
