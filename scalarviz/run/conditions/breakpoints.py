"""`Breakpoint` and `Breakpoints`: conditions that a run stops at, listed and counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from ...checks import flag
from ...errors import InputError, TypeMismatchError, listing, shown
from .condition import Condition
from .faults import brief
from .numbers import Named


class Breakpoint:
    """A condition that a run stops at when it becomes true.

    Attributes
    ----------
    number : int
        Counts from 1; no other breakpoint of the run ever has it.
    once : bool
        Whether it is disabled when it has been hit.
    hits : int
        How often it has stopped the run.
    step : int or None
        Where it did so last.
    trouble : str
        Why it cannot be looked at any more: the model was changed to one without that weight. Empty if it can.
    """

    def __init__(self, number: int, condition: Condition, once: bool = False) -> None:
        self.number, self.condition, self.once = number, condition, once
        self.trouble = ""
        self._enabled = True
        self.hits = 0
        self.step: int | None = None

    @property
    def text(self) -> str:
        """The condition as it was written."""
        return self.condition.text

    @property
    def enabled(self) -> bool:
        """Whether it is looked at."""
        return self._enabled and not self.trouble

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        self._enabled = flag(enabled, "enabled")

    def renamed(self, named: Named) -> None:
        """The run has other weights now: the text is read anew."""
        try:
            self.condition, self.trouble = Condition.read(self.text, named, f"breakpoint {self.number}:"), ""
        except InputError as error:
            self.trouble = str(error).partition("\n")[0]

    def hit(self, step: int) -> None:
        """It has become true at `step`."""
        self.hits, self.step = self.hits + 1, step
        if self.once:
            self._enabled = False

    def __repr__(self) -> str:
        where = f", hit {_times(self.hits)}, last at step {self.step:,}" if self.step is not None else ""
        off = "" if self.enabled else f", disabled{self.trouble and f' ({self.trouble})'}"
        return f"Breakpoint({self.number}: {brief(self.text)}{', once' if self.once else ''}{where}{off})"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


class Breakpoints(Sequence[Breakpoint]):
    """The breakpoints of one run, in the order in which they were set; ``run.break_on`` sets one.

    Any thread may change them: the run looks at them anew before every call of its engine.
    """

    def __init__(self) -> None:
        self._all: tuple[Breakpoint, ...] = ()
        self._last = 0

    def set(self, condition: Condition, once: bool = False) -> Breakpoint:
        """One more."""
        self._last += 1
        new = Breakpoint(self._last, condition, flag(once, "break_on: once"))
        self._all = (*self._all, new)
        return new

    def renamed(self, named: Named) -> None:
        """The run has these names now."""
        for point in self._all:
            point.renamed(named)

    @property
    def enabled(self) -> tuple[Breakpoint, ...]:
        """Those that are looked at."""
        return tuple(point for point in self._all if point.enabled)

    @property
    def remark(self) -> str:
        """What those that are looked at cost, one clause; empty where that is next to nothing."""
        slow = [str(point.number) for point in self.enabled if not point.condition.of_losses]
        return f"one step a call, for breakpoint{'s' * (len(slow) > 1)} {' and '.join(slow[:3])}" if slow else ""

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
        """The breakpoint of that number, or itself.

        Raises
        ------
        InputError
            There is none.
        TypeMismatchError
            Neither a Breakpoint nor its number.
        """
        if isinstance(which, bool) or not isinstance(which, Breakpoint | int):
            raise TypeMismatchError(f"a breakpoint or its number is wanted, got {type(which).__name__} {shown(which)}")
        for point in self._all:
            if point is which or point.number == which:
                return point
        numbers = listing(point.number for point in self._all) or "none"
        raise InputError(f"there is no breakpoint {shown(which)}; there are {numbers}")

    def remove(self, which: Breakpoint | int) -> None:
        """Take one away, by its number or itself.

        Raises
        ------
        InputError, TypeMismatchError
            See :meth:`numbered`.
        """
        gone = self.numbered(which)
        self._all = tuple(point for point in self._all if point is not gone)

    def clear(self) -> None:
        """Take all away."""
        self._all = ()

    def enable(self, which: Breakpoint | int) -> None:
        """Look at one (again), by its number or itself; see :meth:`numbered` for errors."""
        self.numbered(which).enabled = True

    def disable(self, which: Breakpoint | int) -> None:
        """Look at one no more, by its number or itself; see :meth:`numbered` for errors."""
        self.numbered(which).enabled = False

    def __repr__(self) -> str:
        if not self._all:
            return "no breakpoints; run.break_on('grad > 10') sets one"
        rows = [("", "condition", "", "hits", "last step")]
        for point in self._all:
            state = ("once" if point.once else "on") if point.enabled else "off"
            last = "" if point.step is None else f"{point.step:,}"
            rows.append((str(point.number), brief(point.text, 40), state, f"{point.hits:,}", last))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(_row(row, widths) for row in rows)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line of the table: words to the left, numbers to the right."""
    placed = [
        cell.ljust(width) if k in (1, 2) else cell.rjust(width)
        for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(placed).rstrip()
