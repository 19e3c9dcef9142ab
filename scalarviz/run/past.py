"""What a picture shows of the past: the branches of a run, its edits and its named moments, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .frame import NO_CURVE, Curve

if TYPE_CHECKING:
    from .edits.applied import Applied


@dataclass(frozen=True, slots=True)
class Flag:
    """A moment that was named.

    Attributes
    ----------
    step : int
    name : str
    """

    step: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One line of steps.

    Attributes
    ----------
    number : int
        Counts from 0, the line that the run began with; it stays as long as there is the branch.
    parent : int or None
        The branch that it left; None where it began by itself (a loaded file).
    first : int
        The step after which it left its parent, or at which it begins.
    newest : int
        Its last step.
    curve : Curve
        Its own steps, those after `first`.
    edits : tuple of Applied
        Its own, those after it left.
    current : bool
        Whether the run is on it.
    why : str
        What made it begin, in words (``"0.weight[2][1] = 2"``); empty for the first.
    """

    number: int
    parent: int | None
    first: int
    newest: int
    curve: Curve = NO_CURVE
    edits: tuple[Applied, ...] = ()
    current: bool = False
    why: str = ""

    def __repr__(self) -> str:
        begun = f", begun by {self.why!r}" if self.why else ""
        now = ", current" if self.current else ""
        return f"Branch({self.number}: steps {self.first:,} to {self.newest:,}{begun}{now})"


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """The time around one frame: where it can go, and what happened where.

    Attributes
    ----------
    first, newest : int
        Steps at which the run can stand, on the branch of now.
    curve : Curve
        All steps of that branch, those before it left its parent included.
    edits : tuple of Applied
        Likewise.
    branches : tuple of Branch
        All of them, the oldest first, that of now included.
    flags : tuple of Flag
        Named moments of that branch, by step.
    undo, redo : str
        What the next undo and redo would do, in the words of the edit; empty where there is nothing.
    steps : ndarray of int64, shape (N,), or None
        Where it can stand, in order, if not at every step from `first` to `newest`.
    seed : int or None
        What drew the first weights of that branch, where a restart did.
    """

    first: int
    newest: int
    curve: Curve = NO_CURVE
    edits: tuple[Applied, ...] = ()
    branches: tuple[Branch, ...] = ()
    flags: tuple[Flag, ...] = ()
    undo: str = ""
    redo: str = ""
    steps: NDArray[np.int64] | None = None
    seed: int | None = None

    def nearest(self, step: int) -> int:
        """The step nearest to `step` at which one can stand."""
        if self.steps is None:
            return step
        after = int(np.searchsorted(self.steps, step))
        near = self.steps[max(after - 1, 0) : after + 1]
        return int(near[np.argmin(np.abs(near - step))])

    def beside(self, step: int, by: int) -> int:
        """Where one stands `by` steps of those at which one can after `step` (before it, below 0); perhaps nowhere.

        From a step between two of them the first one is the next in that direction.
        """
        if self.steps is None:
            return step + by
        first = np.searchsorted(self.steps, step, side="right" if by > 0 else "left")
        place = int(first) + by - (1 if by > 0 else 0)
        if place < 0:
            return self.first - 1
        return int(self.steps[place]) if place < len(self.steps) else self.newest + 1
