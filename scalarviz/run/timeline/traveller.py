"""`Traveller`: what a timeline needs of a run. All of it happens between two calls of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..edits import Applied, Edit
from ..history import History


class Kept(Protocol):
    """What a run gives to be put back later. Nothing of it is ever changed."""

    @property
    def nbytes(self) -> int:
        """Bytes that it holds alone."""
        ...


class Twin(Protocol):
    """A run's steps done again beside it, on numbers of its own."""

    @property
    def steps(self) -> int:
        """Where it stands."""
        ...

    def replay(self, most: int) -> int:
        """Steps that were done before, at most so many: one call of the engine. Returns how many."""
        ...

    def keyframe(self) -> Kept:
        """What it takes to do the next step again, by the run."""
        ...


class Traveller(Protocol):
    """A run that goes back and forth."""

    @property
    def steps(self) -> int:
        """Steps done, where it stands."""
        ...

    def in_turn(self, function: Callable[[], object]) -> None:
        """Call a function between two calls of the engine, whatever thread this is."""
        ...

    def keyframe(self) -> Kept:
        """What it takes to do the next step again; the step before is not seen in it."""
        ...

    def whole(self) -> Kept:
        """All of the moment, the last step's gradient and update included."""
        ...

    def same_data(self, kept: Kept) -> bool:
        """Whether steps from there on would learn from what they learnt from."""
        ...

    def forget_step(self) -> None:
        """Gradient and update of the step before are not known here."""
        ...

    def put(self, kept: Kept) -> None:
        """Stand there again.

        Raises
        ------
        StateError
            It cannot: the engine that computed it is lost.
        """
        ...

    def advance(self, most: int) -> int:
        """New steps, at most so many: one call of the engine. Returns how many."""
        ...

    def replay(self, most: int) -> int:
        """Steps that were done before, likewise."""
        ...

    def again(self, edit: Edit) -> None:
        """Do an edit that was done before."""
        ...

    def found(self) -> list[Applied]:
        """Changes that nobody announced since the last look, as edits."""
        ...

    def looked(self) -> None:
        """The numbers of now are announced."""
        ...

    def twin(self, kept: Kept) -> Twin | None:
        """Steps beside the run from a kept moment on; None where the run has another engine, data or optimiser now."""
        ...

    @property
    def seconds_a_step(self) -> float:
        """What a step of the engine takes, as measured last; infinite before the first."""
        ...

    def write(self, history: History) -> None:
        """Where new steps are booked from now on."""
        ...
