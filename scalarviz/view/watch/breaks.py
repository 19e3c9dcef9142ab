"""`Breaks`: breakpoints in a window: a condition is typed, and one that is hit is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...errors import ScalarvizError
from ...run.callbacks import condition_name, holds
from ...run.questions.expression import brief

if TYPE_CHECKING:
    from ...run.questions.breakpoints import Breakpoint, Stop
    from ...run.worker import Worker
    from .viewer import Viewer

STOP_SECONDS = 20.0
"""How long it is said which breakpoint stopped the run, and with what numbers."""
SET_SECONDS = 6.0
LONGEST = 400
"""Letters that are typed; ``run.break_on`` takes longer conditions."""
LISTED = 3
EXAMPLES = "such as loss < 0.01, grad > 10, nan, 0.weight[0][0] crosses 0"


class Breaks:
    """The breakpoints of one view; `typed` is the condition that is being typed, None while none is."""

    def __init__(self, view: Viewer, worker: Worker) -> None:
        self._view, self._worker = view, worker
        self._told: Stop | None = None
        self._refused = ""
        self._offered = False  # what is typed was put there, so letters replace it
        self._new = ""  # what was said of a new one, of which it is asked whether it is true already
        self.typed: str | None = None
        self.handlers: dict[str, Callable[..., None]] = {"break_on": self.open}

    # ---- one that was hit

    def pass_time(self) -> None:
        """What stopped the training is said once; the weight in question is selected, where none is."""
        stop = self._worker.stopped
        if stop is self._told:
            return
        self._told, self._new = stop, ""
        self._view.refresh()
        if stop is not None:
            if stop.weights and self._view.bench.selected is None:
                self._view.bench.select(stop.weights[0])  # why did it move?
            self._view.say(f"{stop}  \N{MIDDLE DOT}  , looks into that step", STOP_SECONDS)
            self._view.tell(str(stop))

    # ---- typing one

    def open(self) -> None:
        """From now on keys are letters of a condition; one of the selected weight is offered."""
        index = self._view.bench.selected
        self.typed = "" if index is None else f"{condition_name(self._worker.run, index)} crosses 0"
        self._refused, self._offered = "", index is not None

    def prompt(self) -> str:
        """What is typed, what is wrong with it, and what else there is; empty while nothing is typed."""
        if self.typed is None:
            return ""
        points = self._worker.run.breakpoints
        there = [_listed(point) for point in points[-LISTED:]]
        if len(points) > LISTED:
            there.insert(0, f"{len(points) - LISTED} more")
        hint = f"  ({EXAMPLES})" if not self.typed else ""
        ways = "Enter sets it, letters replace it, End keeps it" if self._offered else "Enter sets it"
        parts = [f"pause when: {self.typed}|{hint}", self._refused or f"{ways}, Escape leaves it"]
        if there and not self._refused:
            parts += ["; ".join(there), "a number switches one off or on, with a minus it goes"]
        return "  ·  ".join(parts)

    def key(self, pressed: str, text: str) -> bool:
        """A key while a condition is typed; whether it was taken."""
        if self.typed is None:
            return False
        if pressed == "Enter":
            self._enter(self.typed.strip())
        elif pressed == "Escape":
            self.typed = None
        elif pressed in ("Backspace", "Delete"):
            self.typed, self._refused = self.typed[:-1] if pressed == "Backspace" else "", ""
        elif text and text.isprintable():
            self.typed, self._refused = (text if self._offered else self.typed + text)[:LONGEST], ""
        self._offered = False
        return True

    def _enter(self, text: str) -> None:
        if not text:
            self.typed = None
            return
        try:
            self.take(text)
        except ScalarvizError as error:
            first = str(error).partition("\n")[0]
            said, near, _ = first[max(first.find("at character"), 0) :].partition("?")  # the text stands before it
            self._refused = said + near
            return
        self.typed = None

    def take(self, text: str) -> None:
        """Set a condition, by its number switch one off or on, or with a minus take it away; it is said.

        Raises
        ------
        InputError, UnknownNameError
            It cannot be read; there is no breakpoint of that number.
        """
        said = self._switched(text) if text.removeprefix("-").isdecimal() else self._set(text)
        self._view.say(said, SET_SECONDS)

    @property
    def listed(self) -> list[dict[str, object]]:
        """Those of the run: number, condition, hits, whether it is on."""
        return [{"number": p.number, "text": brief(p.text, 60), "hits": p.hits, "on": p.enabled}
                for p in self._worker.run.breakpoints]  # fmt: skip

    def _set(self, text: str) -> str:
        run = self._worker.run
        point = run.break_on(text)
        cost = "" if point.condition.of_losses else "; the engine does one step a call"
        said = f"breakpoint {point.number}: pauses when {point.text}{cost}"
        if not point.condition.expression.looks_back:
            self._new = said
            # it fails where the model is changed meanwhile, or the run closed
            self._view.ask(lambda run: holds(run, text), partial(self._say_whether_true, said), lambda error: None)
        return said

    def _say_whether_true(self, said: str, true: bool) -> None:
        """A condition that is true already pauses the run when it becomes true again."""
        if true and said == self._new:
            self._view.say(f"{said}; it is true now, so it waits until it is again", SET_SECONDS)

    def _switched(self, text: str) -> str:
        points = self._worker.run.breakpoints
        point = points.numbered(int(text.removeprefix("-")[:9]))
        if text.startswith("-"):
            points.remove(point)
            return f"breakpoint {point.number} is gone"
        point.enabled = not point.enabled
        return f"breakpoint {point.number} is {'on' if point.enabled else 'off'}: {point.text}"


def _listed(point: Breakpoint) -> str:
    said = [f"{point.number} {brief(point.text, 40)}"]
    said += [f"{point.hits:,} hit{'s' * (point.hits > 1)}"] * bool(point.hits)
    said += [] if point.enabled else ["off"]
    return ", ".join(said)
