"""`Rail`: a line of steps that was left, as the time bar shows it. The one of now is always the straight one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...run.core.frame import Branch, Past

ROWS = 2
"""Rails beside the straight one; older ones fold into the last."""


@dataclass(frozen=True, slots=True)
class Rail:
    """One row above the straight rail.

    Attributes
    ----------
    row : int
        1 is next to the straight one.
    source : int
        The row that it leaves: 0 is the straight one.
    leaves, newest : int
        Steps at which it begins and ends.
    branches : tuple of Branch
        What it stands for: one, or all that are folded.
    """

    row: int
    source: int
    leaves: int
    newest: int
    branches: tuple[Branch, ...]

    @property
    def folded(self) -> bool:
        """Whether it stands for several."""
        return len(self.branches) > 1


def trunk(branches: Sequence[Branch]) -> dict[int, int]:
    """The branch of now and those that it came from, by number: the step up to which each is the straight rail."""
    known = {branch.number: branch for branch in branches}
    branch = next((b for b in branches if b.current), None)
    found: dict[int, int] = {}
    until = 0 if branch is None else branch.newest
    while branch is not None and branch.number not in found:
        found[branch.number] = until
        until = branch.first
        branch = None if branch.parent is None else known.get(branch.parent)
    return found


def rails(past: Past, rows: int = ROWS) -> tuple[Rail, ...]:
    """What was left, the latest first and next to the straight rail; if there are too few `rows`, the oldest fold."""
    straight = trunk(past.branches)
    others = [b for b in past.branches if b.number not in straight or b.newest > straight[b.number]]
    others.sort(key=lambda b: -_left(b, straight, past.branches))
    shown = others if len(others) <= rows else others[: rows - 1]
    taken: dict[int, int] = {}
    found = []
    for row, branch in enumerate(shown, 1):
        leaves = straight.get(branch.number, branch.first)
        source = 0 if branch.parent is None else taken.get(branch.parent, 0)
        found.append(Rail(row, source if branch.number not in straight else 0, leaves, branch.newest, (branch,)))
        taken[branch.number] = row
    if folded := others[len(shown) :]:
        leaves = min(straight.get(b.number, b.first) for b in folded)
        found.append(Rail(len(shown) + 1, 0, leaves, max(b.newest for b in folded), tuple(folded)))
    return tuple(found)


def _left(branch: Branch, straight: dict[int, int], branches: Sequence[Branch]) -> float:
    """When it was left: what took its place was begun then. Of what nothing took the place of, when it was begun."""
    if branch.number in straight:
        child = next((b for b in branches if b.parent == branch.number and b.number in straight), None)
        return branch.number if child is None else child.number - 0.5
    return branch.number


def next_of(rail: Rail, now: int) -> int:
    """Which branch a click on a rail means: of several each in turn, the next after the one of `now`."""
    numbers = sorted(branch.number for branch in rail.branches)
    return next((number for number in numbers if number > now), numbers[0])
