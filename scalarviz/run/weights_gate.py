"""`WeightsGate`: the part of a worker that stands before the weights, while its thread trains them.

Other threads see the last reading of the run, with what they themselves have asked for and has not been done yet laid
over it; what they write waits for the thread.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .asked_call import AskedCall
from .edits import Edit, SetFrozen, SetOptimizer, SetWeights
from .journeys import Journey
from .reading import Reading
from .requests import FrameRequest

if TYPE_CHECKING:
    from .run import Run

R = TypeVar("R")


def _nothing() -> None:
    """In the place of what can no longer be done."""


Item = tuple[Edit, str] | AskedCall | FrameRequest | Journey
"""What may wait for its turn: an edit with its gesture, a call, a frame, a way to another step."""


class WeightsGate:
    """Reading and writing weights; see :class:`scalarviz.scalar.store.Gate`."""

    run: Run
    _latest: Reading
    _waiting: deque[Item]

    @abstractmethod
    def mine(self) -> bool:
        """Whether this is the thread that trains, or none does."""

    @abstractmethod
    def do(self, edit: Edit, *, gesture: str = "") -> None:
        """Let an edit be done in its turn, without waiting for it."""

    @abstractmethod
    def call(self, function: Callable[[], R]) -> R:
        """What `function` returns or raises, called in its turn; waits for it."""

    def _now(self) -> Reading:
        """The last reading; while the run gets another network, the one after that is waited for."""
        latest, run = self._latest, self.run
        return latest if latest.forward is run._forward else self.call(run._reading)

    def number(self, name: str) -> Any:
        """A number of the optimiser: an own edit that waits, else as it is."""
        for edit in self._edits(SetOptimizer):
            if name in dict(edit.numbers):
                return dict(edit.numbers)[name]
        return getattr(self.run.optimizer, name)

    def read(self, index: int) -> float:
        """Value of the flat weight `index`: an own edit that waits, else that of the last frame."""
        if self.mine():
            return float(self.run._store.value[index])
        for edit in self._edits(SetWeights):
            if edit.start <= index < edit.start + len(edit.numbers):
                return float(edit.numbers[index - edit.start])
        return float(self._now().values[index])

    def read_gradient(self, index: int) -> float:
        """Gradient of the flat weight `index`, of the last frame."""
        return float(self.run._store.grad[index] if self.mine() else self._now().gradient[index])

    def values(self, span: slice) -> NDArray[Any]:
        """A read-only copy of flat weights: the last frame's, with own edits that wait."""
        return self._seen(self._now().values[span], span, SetWeights)

    def gradients(self, span: slice) -> NDArray[Any]:
        """A read-only copy of flat gradients, of the last frame."""
        return self._seen(self._now().gradient[span], span, None)

    def frozen(self, span: slice) -> NDArray[Any]:
        """A read-only copy of the flags of frozen weights, with own edits that wait."""
        return self._seen(self._now().frozen[span], span, SetFrozen)

    def write(self, start: int, numbers: NDArray[Any]) -> None:
        """Set the flat weights from `start` on at the next call boundary."""
        self.do(SetWeights(start, numbers), gesture="data")

    def freeze(self, start: int, flags: NDArray[np.bool_]) -> None:
        """Set which weights the optimiser leaves alone, at the next call boundary."""
        self.do(SetFrozen(start, flags), gesture="frozen")

    def moved(self, place: Callable[[int, int], int | None]) -> None:
        """The run has another network: what waits for a weight waits for that weight there.

        Parameters
        ----------
        place : callable
            ``place(start, count)``: where flat weights begin now, None where they are no longer in the run.
        """
        for k, item in enumerate(list(self._waiting)):
            if isinstance(item, tuple) and isinstance(item[0], SetWeights | SetFrozen):
                edit: Any = item[0]
                start = place(edit.start, len(edit.numbers if isinstance(edit, SetWeights) else edit.flags))
                self._waiting[k] = AskedCall(_nothing) if start is None else (replace(edit, start=start), item[1])

    def _edits(self, kind: type[Any]) -> list[Any]:
        """Edits of a kind that wait, the latest first."""
        waiting = (item[0] for item in reversed(list(self._waiting)) if isinstance(item, tuple))
        return [edit for edit in waiting if isinstance(edit, kind)]

    def _seen(self, numbers: NDArray[Any], span: slice, kind: type[Any] | None) -> NDArray[Any]:
        seen = numbers.copy()
        for edit in reversed(self._edits(kind)) if kind is not None else ():
            new = edit.numbers if isinstance(edit, SetWeights) else edit.flags
            first, last = max(span.start, edit.start), min(span.stop, edit.start + len(new))
            if first < last:
                seen[first - span.start : last - span.start] = new[first - edit.start : last - edit.start]
        seen.flags.writeable = False
        return seen
