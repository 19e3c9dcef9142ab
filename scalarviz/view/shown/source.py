"""What has weights and is no run, as a `Source`: named arrays, a hand loop's weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import integer
from ...errors import InputError
from ...run.checks import LAST_STEP
from ...run.core.frame import Curve, Frame, Role, Tensor
from ...run.core.graph import grouped
from ...run.edits import AddToWeights, Edit, ScaleWeights, SetFrozen, SetWeights, Together
from ...run.source import Can, Source
from ...run.sources.watched import told_number
from ...scalar import Block
from ...scalar.store import Store

Float = NDArray[np.floating]


class Followed(Source):
    """What somebody else changes: its steps are counted, and may be told."""

    def __init__(self) -> None:
        self._told = Told()
        self._counted = False

    @property
    def counted(self) -> bool:
        """Whether there was a step yet, or something was told."""
        return self._counted or self._told.step > 0

    @property
    def curve(self) -> Curve:
        """The losses that were told."""
        return self._told.curve

    def tell(self, *, step: object = None, loss: object = None, lr: object = None) -> None:
        """Take over what the loop says of its last step; no numbers are refused."""
        self._told.look(self.values())
        self._told.tell(step=step, loss=loss, lr=lr)
        self._counted = True

    @abstractmethod
    def values(self) -> Float:
        """The numbers as they are now, flat."""


class ArraysSource(Followed):
    """Named arrays, read anew for every frame; those without elements are left out.

    They are looked at, not touched: they are somebody's data. InputError: no arrays, only empty ones, or one that is
    not made of real numbers.
    """

    what = "an array"

    def __init__(self, arrays: Mapping[str, ArrayLike]) -> None:
        super().__init__()
        self._arrays = arrays
        self._tensors = tensors_of(_blocks(arrays))

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """One for each array, and for each list of single numbers."""
        return self._tensors

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """The numbers as they are now."""
        flat = self.values()
        flags = np.zeros(len(flat), bool)
        return self._told.frame(flat, np.zeros_like(flat), flags, flags)

    def values(self) -> Float:
        """The arrays one after the other, a copy."""
        return np.concatenate([block.ravel() for block in _blocks(self._arrays).values()])


class WeightsSource(Followed):
    """Weights and Parameters by name, as a loop of the user's own changes them."""

    what, can = "a weight", Can(edit=True)

    def __init__(self, parts: Mapping[str, Any]) -> None:
        super().__init__()
        self._parts = parts
        self._tensors = tensors_of(_blocks({name: part.data for name, part in parts.items()}))

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """One for each Parameter, list of Weights, and other Weight."""
        return self._tensors

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """Values, gradients and flags as they are now."""
        flags = [_flags(part) for part in self._parts.values()]
        computed, frozen = (np.concatenate([pair[k] for pair in flags]).astype(bool) for k in (0, 1))
        return self._told.frame(self.values(), self._gathered("grad"), computed, frozen)

    def values(self) -> Float:
        """The weights, a copy."""
        return np.asarray(self._gathered("data"), float)

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
        hands: Any = _WeightHands(self)
        edit.check(hands)
        self._told.look(self.values())
        edit.resolved(hands).apply(hands)
        self._told.by_hand(self.values())

    def _weight(self, index: int) -> Any:
        for part in self._parts.values():
            size = np.size(part.data)
            if index < size:
                return part.weight(index) if isinstance(part, Block) else part
            index -= size
        raise InputError(f"there is no weight {index} behind the last one")


class _WeightHands:
    """What edits of weights need of them; see :class:`scalarviz.run.edits.base.Hands`."""

    def __init__(self, source: WeightsSource) -> None:
        self._source = source

    @property
    def n_weights(self) -> int:
        return len(self._source.values())

    def values(self, start: int, count: int) -> Float:
        return self._source.values()[start : start + count]

    def put_weights(self, start: int, numbers: NDArray[Any]) -> None:
        for index, number in enumerate(numbers, start):
            self._source._weight(index).data = float(number)

    def put_frozen(self, start: int, flags: NDArray[np.bool_]) -> None:
        for index, flag in enumerate(flags, start):
            self._source._weight(index).frozen = bool(flag)


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


def _blocks(arrays: Mapping[str, ArrayLike]) -> dict[str, Float]:
    blocks = {str(name): _block(str(name), value) for name, value in arrays.items()}
    blocks = {name: block for name, block in blocks.items() if block.size}
    if not blocks:
        raise InputError("nothing to draw: got no numbers; allowed: at least one array with at least one element")
    return blocks


def _block(name: str, value: ArrayLike) -> Float:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"dtype {array.dtype}")
        return np.asarray(array, np.float32 if array.dtype == np.float32 else np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"array {name!r}: got {type(value).__name__} ({error}); allowed: real numbers") from error


# ---- `Told`: what is known of a loop that somebody else wrote: its steps, its loss, and what its last step did.

Floats = NDArray[np.floating]
LIMIT = 5_000
"""Points of the curve; above, every second one is dropped."""


class Told:
    """The past of numbers that are looked at again and again.

    A step is a change of the numbers since they were last looked at, or what the loop says. A change by hand is none.
    """

    def __init__(self) -> None:
        self.step = 0
        self.loss = self.lr = float("nan")
        self._values: Floats | None = None
        self._update: Floats | None = None
        self._edited = False
        self._points: list[tuple[int, float, float]] = []
        self._curve: Curve | None = None

    def tell(self, *, step: object = None, loss: object = None, lr: object = None) -> None:
        """What the loop says of its last step; None says nothing, and of what is refused nothing is taken over."""
        at = self.step if step is None else min(integer("step", step, 0), LAST_STEP)
        new = [told_number(name, told) for name, told in (("loss", loss), ("lr", lr))]
        self.step = at
        self.loss, self.lr = (
            old if told is None else told for told, old in zip(new, (self.loss, self.lr), strict=True)
        )
        if new[0] is None or at == 0:
            return
        while self._points and self._points[-1][0] >= at:  # a loop that began again
            self._points.pop()
        self._points.append((at, self.loss, self.lr))
        if len(self._points) > LIMIT:
            self._points = self._points[:-1:2] + self._points[-1:]
        self._curve = None

    def look(self, values: Floats) -> None:
        """The numbers as they are now, which are kept: a change since the last look is a step."""
        if self._values is None or self._values.shape != values.shape:
            self._values, self._update = values, np.zeros_like(values)
        elif not np.array_equal(self._values, values, equal_nan=True):
            self._update = values - self._values
            self._values, self._edited = values, False
            self.step += 1

    def by_hand(self, values: Floats) -> None:
        """A hand has changed them to `values`: that is no step."""
        self._values, self._edited = values, True

    def frame(self, values: Floats, gradient: Floats, computed: NDArray[Any], frozen: NDArray[Any]) -> Frame:
        """A frame of the numbers as they are now."""
        self.look(values)
        assert self._update is not None  # known since the first look
        return Frame(self.step, self.loss, self.lr, values, gradient, self._update, computed, frozen,
                     curve=self.curve, edited=self._edited)  # fmt: skip

    @property
    def curve(self) -> Curve:
        """Step, loss and learning rate of every step of which a loss was told."""
        if self._curve is None:
            steps, losses, rates = zip(*self._points, strict=True) if self._points else ((), (), ())
            self._curve = Curve(np.array(steps, np.int64), np.array(losses, float), np.array(rates, float))
        return self._curve
