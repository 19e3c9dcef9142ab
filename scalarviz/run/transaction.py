"""`Transaction`: make a change completely, or restore the run. It notes the parts of the run, and overwritten numbers.

A change replaces parts (plan, optimiser's numbers, data, engine, line of steps) and does not alter the old ones, so
references to them suffice. Before it writes into an array that stays, it calls :meth:`Transaction.keep`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from ..engine.problem import Problem
from ..scalar.store import Store
from .core.gather import starts
from .core.interrupts import DelayedInterrupt

if TYPE_CHECKING:
    from .run import Run

_ALL = slice(None)
_NAMES = {kind: [name for name in kind.__slots__ if name != "__weakref__"] for kind in (Problem, Store)}
"""Attributes of the classes without a dictionary."""
_READ = {kind: attrgetter(*names) for kind, names in _NAMES.items()}


class Transaction(DelayedInterrupt):
    """Changes a run in a block: an error restores the run, and Ctrl-C waits for the end.

    A nested block is part of the outer one.

    `lines`: the change may drop lines of steps; otherwise it touches only the current one. `numbers`: False if the
    caller restores the numbers. `setup`: False if it changes only weights and their flags.
    """

    __slots__ = ("_family", "_keeps", "_logs", "_numbers", "_outer", "_owned", "_run", "_slotted", "_then")

    def __init__(self, run: Run, *, lines: bool = False, numbers: bool = True, setup: bool = True) -> None:
        super().__init__()
        self._run, self._outer, self._keeps = run, run._transaction, numbers
        if self._outer is not None:
            return
        timeline, optimizer, training = run.timeline, run.optimizer, run._training
        near = timeline.lines if lines or timeline.redoable else [timeline.line]
        owners: list[Any] = [training, timeline, timeline.keyframes, *near, *[line.history for line in near]]
        slotted: list[Any] = [run._store]
        if setup:
            owners += [run, optimizer, optimizer.lr_pace, *optimizer.rules]
            slotted += [run._problem]
        self._owned = [(own, own.copy()) for own in map(vars, owners)]
        self._slotted = [(part, _READ[type(part)](part)) for part in slotted]
        # a log only grows, or its last edit is replaced
        self._logs = [(line.edits, len(line.edits), line.edits[-1:]) for line in near]
        self._family = training.history._family.copy()
        self._numbers: list[tuple[NDArray[Any], slice, NDArray[Any]]] = []
        self._then: list[Callable[[], object]] = []

    def __enter__(self) -> Self:
        super().__enter__()
        object.__setattr__(
            self._run, "_transaction", self._outer or self
        )  # nothing can fail between here and the block
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if self._outer is None:
                try:
                    if error[0] is not None:
                        self._restore()
                finally:
                    object.__setattr__(self._run, "_transaction", None)
        finally:
            super().__exit__()

    def refer(self, *parts: Any) -> None:
        """Note objects outside the run that the change will alter."""
        (self._outer or self)._owned += [(vars(part), vars(part).copy()) for part in parts]

    def keep(self, array: NDArray[Any], span: slice = _ALL) -> None:
        """Copy numbers that will be overwritten."""
        outer = self._outer or self
        if outer._keeps:
            outer._numbers.append((array, span, array[span].copy()))

    def on_restore(self, function: Callable[[], object]) -> None:
        """Call a function after the parts are restored, to undo the rest of the change."""
        (self._outer or self)._then.append(function)

    def _restore(self) -> None:
        run, left = self._run, self._run._left
        for own, former in reversed(self._owned):  # not by setattr, which may be an edit
            for name in own.keys() - former.keys():
                del own[name]
            own.update(former)
        for part, values in self._slotted:
            for name, value in zip(_NAMES[type(part)], values, strict=True):
                setattr(part, name, value)
        for log, length, last in self._logs:
            log[max(0, length - 1) :] = last
        run.history._family[:] = self._family
        for array, span, numbers in reversed(self._numbers):
            array[span] = numbers
        for block, start in starts(run._tape).items():
            if block.store is not run._store or block.start != start:
                block._point(run._store, start)
        run._graph.put_activations()
        for function in reversed(self._then):
            function()
        run._training.watch(run._training._readback)
        if run._left is not left:
            left.detach()
        if not run._left.alive:
            run._attach()
        run._traveller.mark_announced()


def keep(run: Run, array: NDArray[Any], span: slice) -> None:
    """Keep numbers of a run before they are overwritten, so that a failed change can restore them."""
    if run._transaction is not None:
        run._transaction.keep(array, span)
