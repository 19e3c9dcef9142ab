"""`WeightsSource`: Weights and Parameters, as a loop of the user's own changes them, as a `Source`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...run.core.frame import Curve, Frame, Role, Tensor
from ...run.core.graph import grouped
from ...run.edits import AddToWeights, Edit, ScaleWeights, SetFrozen, SetWeights, Together
from ...run.source import Can, Source
from ...run.sources.watched import Counted
from ...scalar import Block
from ...scalar.store import Store

Float = NDArray[np.floating]


class WeightsSource(Source):
    """Weights and Parameters by name. Somebody else changes them; they are looked at again and again.

    A step is a change of the numbers since they were last looked at, or what the loop says. A change by hand is none.
    """

    what, can = "a weight", Can(edit=True)

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self._parts = parts
        self._tensors = tensors_of({name: data for name, part in parts.items() if (data := np.asarray(part.data)).size})
        if not self._tensors:
            raise InputError("nothing to draw: got no numbers; allowed: at least one Weight or Parameter")
        self._loop, self._edited = Counted(), False
        self._values: Float | None = None
        self._update: Float | None = None

    @property
    def counted(self) -> bool:
        """Whether there was a step yet, or something was told."""
        return self._loop.calls > 0 or self._loop.step > 0

    @property
    def curve(self) -> Curve:
        """Step, loss and learning rate of every step of which a loss was told."""
        return self._loop.curve()

    def tell(self, *, step: object = None, loss: object = None, lr: object = None) -> None:
        """Take over what the loop says of its last step; of what is refused nothing is taken over."""
        self._look(self.values())
        self._loop.tell(said=True, step=step, loss=loss, lr=lr, seen=True)

    def _look(self, values: Float) -> None:
        """The numbers as they are now, which are kept: a change since the last look is a step."""
        if self._values is None or self._values.shape != values.shape:
            self._values, self._update = values, np.zeros_like(values)
        elif not np.array_equal(self._values, values, equal_nan=True):
            self._update = values - self._values
            self._values, self._edited = values, False
            self._loop.looked(changed=True, told=False)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """One for each Parameter, list of Weights, and other Weight."""
        return self._tensors

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """Values, gradients and flags as they are now."""
        flags = [_flags(part) for part in self._parts.values()]
        computed, frozen = (np.concatenate([pair[k] for pair in flags]).astype(bool) for k in (0, 1))
        values = self.values()
        self._look(values)
        assert self._update is not None  # known since the first look
        loop = self._loop
        return Frame(loop.step, loop.loss, loop.lr, values, self._gathered("grad"), self._update, computed, frozen,
                     curve=loop.curve(), edited=self._edited)  # fmt: skip

    @property
    def n_weights(self) -> int:
        """How many numbers there are."""
        return len(self.values())

    def values(self, start: int = 0, count: int | None = None) -> Float:
        """The weights, or `count` of them, a copy."""
        return np.asarray(self._gathered("data"), float)[start : None if count is None else start + count]

    def put_weights(self, start: int, numbers: NDArray[Any]) -> None:
        """Set some of them."""
        for index, number in enumerate(numbers, start):
            self._weight(index).data = float(number)

    def put_frozen(self, start: int, flags: NDArray[np.bool_]) -> None:
        """Freeze or free some of them."""
        for index, flag in enumerate(flags, start):
            self._weight(index).frozen = bool(flag)

    def place_of(self, store: Store, index: int) -> int | None:
        """Where a number of a store lies among the parts, one after the other."""
        first = 0
        for part in self._parts.values():
            block, own = (part, 0) if isinstance(part, Block) else (part._block, part._index)
            size = np.size(part.data)
            at = index - block.start - own
            if block.store is store and 0 <= at < size:
                return first + at
            first += size
        return None

    def _gathered(self, attribute: str) -> NDArray[Any]:
        return np.concatenate([np.ravel(getattr(part, attribute)) for part in self._parts.values()])

    def edit(self, edit: Edit, *, gesture: str = "") -> None:
        """Change the objects themselves: values and flags; StateError: any other edit."""
        if not isinstance(edit, SetWeights | AddToWeights | ScaleWeights | SetFrozen | Together):
            raise self._cannot(f"do {type(edit).__name__}")
        hands: Any = self  # what edits of weights need, as `scalarviz.run.edits.base.Hands` has it
        edit.check(hands)
        self._look(self.values())
        edit.resolved(hands).apply(hands)
        self._values, self._edited = self.values(), True

    def _weight(self, index: int) -> Any:
        for part in self._parts.values():
            size = np.size(part.data)
            if index < size:
                return part.weight(index) if isinstance(part, Block) else part
            index -= size
        raise InputError(f"there is no weight {index} behind the last one")


def _flags(part: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Computed and frozen flags of a Parameter or of a Weight."""
    if isinstance(part, Block):
        return part.computed.copy(), part.frozen_flags.copy()
    return np.array([part.has_grad]), np.array([part.frozen])


def tensors_of(blocks: Mapping[str, Float]) -> tuple[Tensor, ...]:
    """Arrays, none empty, as they lie one after the other; single numbers of one list are one tensor."""
    tensors, start = [], 0
    for name, block in blocks.items():
        role: Role = "bias" if name.rpartition(".")[2] == "bias" else "weight"
        tensors.append(Tensor(name, block.shape, start, role))
        start += block.size
    return grouped(tensors)
