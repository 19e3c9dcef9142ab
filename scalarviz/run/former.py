"""All or nothing: what undoes a change that fails, which is what the run referred to, and numbers written over.

A change replaces parts (plan, optimiser's numbers, data, engine, line of steps) and leaves the old ones as they are, so
referring to them suffices. Where it writes into an array that stays, it says so first (:meth:`Former.keep`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .core.gather import starts

if TYPE_CHECKING:
    from .run import Run

_ALL = slice(None)


_reads: dict[type, Callable[[Any], Any]] = {}
"""By class: what reads all attributes of one of its objects at once. A change of one weight reads a dozen objects."""


def _names(kind: type) -> list[str]:
    slots = (name for base in kind.__mro__ for name in getattr(base, "__slots__", ()))
    return [name for name in slots if name != "__weakref__"]


def _read(part: Any) -> Any:
    """A copy of the attributes of an object: a dictionary, or their values in the order of its slots."""
    kind = type(part)
    if kind not in _reads:
        _reads[kind] = (lambda one: vars(one).copy()) if hasattr(part, "__dict__") else attrgetter(*_names(kind))
    return _reads[kind](part)


def _put(part: Any, attributes: Any) -> None:
    """Not by setattr where there is a dictionary: that may be an edit."""
    if hasattr(part, "__dict__"):
        for name in vars(part).keys() - attributes.keys():
            del vars(part)[name]
        vars(part).update(attributes)
    else:
        for name, one in zip(_names(type(part)), attributes, strict=True):
            setattr(part, name, one)


class Former:
    """What a run was before a change.

    `lines`: whether the change may let go of lines of steps; else it touches that of now, and those it comes
    from, alone. `numbers`: False: whoever changes it puts the numbers back.
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
        self._parts = [(part, _read(part)) for part in parts]
        lists: list[list[Any]] = [timeline.lines, timeline._redo, run.history._family, *(line.keys for line in near)]
        self._lists = [(held, held.copy()) for held in lists]
        logs = (line.edits for line in near)  # a log is only added to, or its last edit makes place for another one
        self._logs = [(log, len(log), log[-1:]) for log in logs]
        self._numbers: list[tuple[NDArray[Any], slice, NDArray[Any]]] = []
        self._then: list[Callable[[], object]] = []

    def refer(self, *parts: Any) -> None:
        """Objects that the change is about to alter, although they were not of the run."""
        self._parts += [(part, _read(part)) for part in parts]

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
        for part, attributes in reversed(self._parts):
            _put(part, attributes)
        for held, former in self._lists:
            held[:] = former
        for log, length, last in self._logs:
            log[max(0, length - 1) :] = last
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
