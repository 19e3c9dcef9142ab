"""A change is done whole, or the run is as it was: what it referred to before, and the numbers that are written over.

A change replaces parts (plan, optimiser's numbers, data, engine, line of steps) and leaves the old ones as they are, so
referring to them suffices. Where it writes into an array that stays, it says so first (:meth:`Former.keep`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .core.optimizer import starts

if TYPE_CHECKING:
    from .run import Run

_ALL = slice(None)


def _attributes(part: Any) -> dict[str, Any]:
    if hasattr(part, "__dict__"):
        return dict(vars(part))
    return {name: getattr(part, name) for name in part.__slots__ if name != "__weakref__"}


class _Part:
    """One object: its attributes, and what its lists, sets and mappings held."""

    def __init__(self, part: Any) -> None:
        self.part, self.attributes = part, _attributes(part)
        self.held = [(one, one.copy()) for one in self.attributes.values() if isinstance(one, list | dict)]

    def put_back(self) -> None:
        part = self.part
        if hasattr(part, "__dict__"):
            for name in [name for name in vars(part) if name not in self.attributes]:
                del vars(part)[name]
            vars(part).update(self.attributes)  # not by setattr, which may be an edit
        else:
            for name, one in self.attributes.items():
                setattr(part, name, one)
        for one, held in self.held:
            if isinstance(one, list):
                one[:] = held
            else:
                one.clear()
                one.update(held)


class Former:
    """What a run was before a change.

    Parameters
    ----------
    run : Run
    lines : bool
        Whether the change may let go of lines of steps; else it touches that of now, and those it comes from, alone.
    numbers : bool
        False: whoever changes it puts the numbers back.
    """

    def __init__(self, run: Run, lines: bool, numbers: bool) -> None:
        self._run, self._graph, self._store, self._keeps = run, run._graph, run._store, numbers
        timeline, optimizer = run.timeline, run.optimizer
        near = timeline.lines if lines or timeline._redo else [line for line, _, _ in timeline.line.path()]
        parts = [
            run, run._problem, run._training, run._store, run.breakpoints, timeline, timeline.keyframes, *near,
            *(line.history for line in near), optimizer, optimizer.lr_pace,
            *(rule for rule in optimizer.rules if rule is not optimizer),
        ]  # fmt: skip
        self._parts = [_Part(part) for part in parts]
        self._numbers: list[tuple[NDArray[Any], slice, NDArray[Any]]] = []
        self._then: list[Callable[[], object]] = []

    def refer(self, *parts: Any) -> None:
        """Objects that the change is about to alter, although they were not of the run."""
        self._parts += [_Part(part) for part in parts]

    def keep(self, array: NDArray[Any], span: slice = _ALL) -> None:
        """Numbers that are about to be written over."""
        if self._keeps:
            self._numbers.append((array, span, array[span].copy()))

    def then(self, function: Callable[[], object]) -> None:
        """What else undoes the change, once the parts are back."""
        self._then.append(function)

    def put_back(self) -> None:
        """The run is as it was."""
        run, left = self._run, self._run._left
        for part in reversed(self._parts):
            part.put_back()
        for array, span, numbers in reversed(self._numbers):
            array[span] = numbers
        for block, start in starts(self._graph.tape).items():
            if block.store is not self._store or block.start != start:
                block._point(self._store, start)
        self._graph.put_activations()
        for function in reversed(self._then):
            function()
        run._training.watch(run._training._asked)
        if run._left is not left:
            left.detach()
        if not run._left.alive:
            run._attach()
        run._traveller.announced()


@contextmanager
def all_or_nothing(run: Run, *, lines: bool = False, numbers: bool = True) -> Iterator[None]:
    """What is changed within it is changed whole: after an error the run is as it was."""
    if run._former is not None:  # it is a part of such a change
        yield
        return
    former = run._former = Former(run, lines, numbers)
    try:
        yield
    except BaseException:
        former.put_back()
        raise
    finally:
        run._former = None


def keep(run: Run, array: NDArray[Any], span: slice = _ALL) -> None:
    """Numbers of a run are about to be written over: a change that fails puts them back."""
    if run._former is not None:
        run._former.keep(array, span)
