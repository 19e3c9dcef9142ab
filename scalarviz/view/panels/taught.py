"""`Taught`: what a hand has taught of colours, as far as it holds at the moment that is shown.

What was undone holds no more, nor at a step before it was taught, nor on a branch without it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ...run.edits import SetTargets

RGB = tuple[float, float, float]
REACH = 0.2
"""How far (as a colour difference in 0..1) a new target for one colour pulls its neighbours along."""


class _Lesson(NamedTuple):
    """One of them, and the edit that it was."""

    edit: SetTargets
    source: RGB
    target: RGB


class Taught:
    """The lessons of one colour cube, in the order in which they were given."""

    def __init__(self) -> None:
        self._lessons: list[_Lesson] = []
        self._seen: set[int] = set()  # numbers of those that a frame has shown: the others are on their way
        self._holds: list[int] = []
        self._known: tuple[object, ...] = ()

    def add(self, edit: SetTargets, source: RGB, target: RGB) -> None:
        """One more, which has been asked for."""
        self._holds.append(len(self._lessons))
        self._lessons.append(_Lesson(edit, source, target))

    def follow(self, frame: Frame) -> bool:
        """Whether others hold at a frame than held before, or one has come to the data that was on its way."""
        if frame.past is None or not self._lessons:
            return False
        done = [a for a in frame.past.edits if a.step <= frame.step and isinstance(a.edit, SetTargets)]
        known = (len(self._lessons), *map(id, done))
        if known == self._known:
            return False
        self._known = known
        edits = [a.edit for a in done if isinstance(a.edit, SetTargets)]
        there = {k for k, lesson in enumerate(self._lessons) if any(_same(edit, lesson.edit) for edit in edits)}
        arrived = there - self._seen
        self._seen |= there
        holds = [k for k in range(len(self._lessons)) if k in there or k not in self._seen]
        changed, self._holds = holds != self._holds or bool(arrived), holds
        return changed

    def targets(self, colours: ArrayLike, plain: ArrayLike) -> NDArray[Any]:
        """What colours (N, 3) are to become by now that were to become `plain` (N, 3) at first."""
        targets = np.asarray(plain, float)
        for k in self._holds:
            targets = pulled(colours, targets, self._lessons[k].source, self._lessons[k].target)
        return targets


def _same(one: SetTargets, other: SetTargets) -> bool:
    return one is other or one.targets is other.targets or np.array_equal(one.targets, other.targets)


def pulled(colours: ArrayLike, targets: NDArray[Any], centre: RGB, target: RGB) -> NDArray[Any]:
    """`targets` drawn towards `target`: wholly at `centre`, falling off as a Gaussian of width `REACH`."""
    distance = np.square(np.asarray(colours, float) - np.asarray(centre)).sum(axis=1, keepdims=True)
    pull = np.exp(-distance / (2 * REACH**2))
    return np.asarray((1 - pull) * targets + pull * np.asarray(target))
