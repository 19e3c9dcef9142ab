"""`Breakpoints`: conditions at which a run stops, checked while it does steps; and a search for past steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ...checks import flag
from ...engine.problem import Rates
from ...errors import InputError, TypeMismatchError, listing, shown, typed
from ..core.history import History
from ..past.timeline import Timeline
from .conditions import OF_LOSSES, Before, Condition, Named, Numbers, Reason, reason
from .expression import brief

Progress = Callable[[float], bool | None]
"""Called with the finished share, 0 to 1; the search stops if it returns False."""
Here = tuple[Condition | None, Numbers]
PROGRESS_EVERY = 100
"""Steps between two of these calls."""


def in_losses(condition: Condition, history: History, first: int, end: int) -> tuple[bool, int | None]:
    """Return the last step after `first` and before `end` at which a condition of losses became true."""
    span = slice(*np.searchsorted(history.step, [first, end - 1], side="right"))
    steps, losses, rates = history.step[span], history.loss[span], history.lr[span]
    known = len(steps) == max(end - 1 - first, 0)
    if not known or not len(steps):
        return known, None
    start = {"loss": np.asarray(np.nan), "lr": rates[0], "step": np.asarray(float(first))}
    numbers = {"loss": losses, "lr": rates, "step": steps.astype(np.float64)}
    found = np.flatnonzero(condition.became_true_at(numbers, start))
    return True, int(steps[found[-1]]) if len(found) else None


def search(timeline: Timeline, here: Callable[[], Here], progress: Progress | None, end: int) -> int | None:
    """Return the last step before `end` at which a condition became true; repeats steps from each keyframe, backwards.

    The run moves along `timeline` meanwhile and returns to its step. `here` returns the condition, parsed for the
    current model (None if that lacks the weight), and the numbers.
    """
    at, first, last = timeline.place().step, timeline.span[0], end - 1
    found, stop = None, last
    try:
        while stop > first and found is None:
            key = timeline.line.nearest(stop - 1, timeline.line.count_edits(stop - 1))
            start = first if key is None else key.step if key.whole else key.step + 1
            timeline.to(start)
            with timeline.travelling("through its history"):
                condition: Condition | None = None
                before: Before | None = None
                for step in range(start, stop + 1):
                    if step > start:
                        timeline.advance(1)
                    former = condition
                    condition, numbers = here()
                    if condition is not None and condition is former and before is not None:  # the same model
                        risen, before = condition.became_true(numbers.read, before)
                        found = step if risen.any() else found
                    else:
                        before = None if condition is None else condition.keep(numbers.read)
                    done = step - start
                    if progress is not None and done and (step == stop or done % PROGRESS_EVERY == 0):
                        share = (last - stop + done) / (last - first)
                        if progress(share) is False:
                            return None
            stop = start
    finally:
        timeline.to(at)
    return found


class Breakpoint:
    """A condition at which a run stops when it becomes true.

    `number` counts from 1 and never changes. `hits` counts the stops, the last one at `step`; `once` disables it
    after the first hit. `trouble` says why it is not checked: the changed model lacks its weight.
    """

    def __init__(self, number: int, condition: Condition, once: bool) -> None:
        self.number, self.condition, self.once = number, condition, once
        self.hits, self.trouble, self._enabled = 0, "", True
        self.step: int | None = None

    @property
    def text(self) -> str:
        """The condition as written."""
        return self.condition.text

    @property
    def enabled(self) -> bool:
        """True if the breakpoint is checked."""
        return self._enabled and not self.trouble

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        self._enabled = flag(enabled, "enabled")

    def reread(self, named: Named) -> None:
        """Parse the text again after the weights of the run changed."""
        try:
            self.condition, self.trouble = Condition.read(self.text, named, f"breakpoint {self.number}:"), ""
        except InputError as error:
            self.trouble = str(error).partition("\n")[0]

    def hit(self, step: int) -> None:
        """Count a hit at `step`."""
        self.hits, self.step = self.hits + 1, step
        if self.once:
            self._enabled = False

    def __repr__(self) -> str:
        hits = f"{self.hits:,} hit{'s' * (self.hits > 1)}"
        where = "" if self.step is None else f", {hits}, last at step {self.step:,}"
        off = "" if self.enabled else f", disabled{self.trouble and f' ({self.trouble})'}"
        return f"Breakpoint({self.number}: {brief(self.text)}{', once' if self.once else ''}{where}{off})"


class Breakpoints(Sequence[Breakpoint]):
    """The breakpoints of one run, in the order in which ``run.break_on`` set them.

    Any thread may change them: the run reads them again before every call of its engine.
    """

    def __init__(self) -> None:
        self._all: tuple[Breakpoint, ...] = ()
        self._last = 0

    def set(self, condition: Condition, once: bool) -> Breakpoint:
        """Add a breakpoint."""
        self._last += 1
        self._all = (*self._all, Breakpoint(self._last, condition, once))
        return self._all[-1]

    @property
    def enabled(self) -> tuple[Breakpoint, ...]:
        """The breakpoints that are checked."""
        return tuple(point for point in self._all if point.enabled)

    @property
    def remark(self) -> str:
        """Words about breakpoints that slow training down, one clause; empty for none."""
        slow = [str(point.number) for point in self.enabled if not point.condition.of_losses]
        return f"checks breakpoint{'s' * (len(slow) > 1)} {' and '.join(slow[:3])} after every step" if slow else ""

    @overload
    def __getitem__(self, place: int) -> Breakpoint: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Breakpoint, ...]: ...
    def __getitem__(self, place: int | slice) -> Breakpoint | tuple[Breakpoint, ...]:
        return self._all[place]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(self._all)

    def numbered(self, which: Breakpoint | int) -> Breakpoint:
        """Return the breakpoint with that number, or itself."""
        if isinstance(which, bool) or not isinstance(which, Breakpoint | int):
            raise TypeMismatchError(f"expected a breakpoint or its number, got {typed(which)}")
        for point in self._all:
            if point is which or point.number == which:
                return point
        numbers = listing(point.number for point in self._all) or "none"
        raise InputError(f"there is no breakpoint {shown(which)}; allowed: {numbers}")

    def remove(self, which: Breakpoint | int) -> None:
        """Remove one, by its number or itself; see :meth:`numbered` for errors."""
        gone = self.numbered(which)
        self._all = tuple(point for point in self._all if point is not gone)

    def clear(self) -> None:
        """Remove all."""
        self._all = ()

    def enable(self, which: Breakpoint | int) -> None:
        """Enable one, by its number or itself; see :meth:`numbered` for errors."""
        self.numbered(which).enabled = True

    def disable(self, which: Breakpoint | int) -> None:
        """Disable one, by its number or itself; see :meth:`numbered` for errors."""
        self.numbered(which).enabled = False

    def __repr__(self) -> str:
        if not self._all:
            return "no breakpoints; run.break_on('grad > 10') sets one"
        texts = [brief(point.text, 40) for point in self._all]
        wide = max(map(len, ["condition", *texts]))
        lines = [f"    {'condition':{wide}}        {'hits':>9}  last step"]
        for point, text in zip(self._all, texts, strict=True):
            state = ("once" if point.once else "on") if point.enabled else "off"
            last = "" if point.step is None else f"{point.step:,}"
            lines.append(f"{point.number:>2}  {text:{wide}}  {state:4}  {point.hits:>9,}  {last:>9}".rstrip())
        return "\n".join(lines)


# ---- `Watch`: checks the breakpoints of a run while it does steps


MOST_SAID = 2
"""The most breakpoints that one line names."""


@dataclass(frozen=True, slots=True, eq=False)
class Stop:
    """A stop of a run, with the conditions that became true in its last step."""

    step: int
    breakpoints: tuple[Breakpoint, ...]  # those that were hit
    numbers: tuple[str, ...]  # the numbers in each condition
    weights: tuple[int, ...] = ()  # flat indices of the weights in the conditions, in order

    def __str__(self) -> str:
        """Return one line, such as ``breakpoint 1 at step 57: grad > 10 (grad 12.3 in 0.weight[2][1])``."""
        said = [
            f"breakpoint {point.number} at step {self.step:,}: {brief(point.text)}{numbers and f' ({numbers})'}"
            for point, numbers in zip(self.breakpoints[:MOST_SAID], self.numbers[:MOST_SAID], strict=True)
        ]
        more = len(self.breakpoints) - MOST_SAID
        return "; ".join([*said, f"and {more} more"] if more > 0 else said)

    def __repr__(self) -> str:
        return f"Stop({self})"


class Watch:
    """Checks breakpoints (at least one) before and after one call of the engine: an `Onlooker` of a training."""

    def __init__(self, points: Sequence[Breakpoint], read: Callable[[], Numbers]) -> None:
        self._points, self._read = tuple(points), read  # `read` gives the current numbers of the run
        self.single = not all(point.condition.of_losses for point in points)  # the call may do one step only
        numbers = read()
        self._former = {name: numbers.read(name) for name in OF_LOSSES}
        self._before = [point.condition.keep(numbers.read) for point in points] if self.single else []
        self._at = 0  # the step at which one became true
        self.stop: Stop | None = None  # the stop at the run's step after the call

    def until(self, first: int, losses: NDArray[np.float64], lr: Rates) -> int | None:
        """Return the steps of the call to keep: up to the first at which a condition became true; None keeps all."""
        if self.single:
            return None
        count, former = len(losses), self._former
        rates = lr[:count, 0] if isinstance(lr, np.ndarray) else np.full(count, lr)
        steps = {"loss": losses, "lr": rates, "step": np.arange(first + 1.0, first + count + 1.0)}
        rises = np.array([point.condition.became_true_at(steps, former) for point in self._points])
        found = rises.any(axis=0)
        if not found.any():
            return None
        at = int(found.argmax())
        if at:
            former = {name: array[at - 1] for name, array in steps.items()}
        self._points = tuple(point for point, rise in zip(self._points, rises, strict=True) if rise[at])
        self._before = [point.condition.keep(former.__getitem__) for point in self._points]
        self._at = first + at + 1
        return at + 1

    def after(self) -> None:
        """Find the stop after the call, and count hits."""
        numbers = self._read()
        step = int(numbers.read("step"))
        if not self.single and step != self._at:  # none was hit, or the run diverged before
            return
        found: list[tuple[Breakpoint, Reason]] = []
        for point, before in zip(self._points, self._before, strict=True):
            where, _ = point.condition.became_true(numbers.read, before)
            if where.any():
                point.hit(step)
                found.append((point, reason(point.condition.expression, numbers, where, before)))
        if found:
            points, why = zip(*found, strict=True)
            weights = dict.fromkeys(index for each in why for index in each.weights)
            self.stop = Stop(step, points, tuple(each.text for each in why), tuple(weights))
