"""What has weights and is no run, as a `Source`: named arrays, a hand loop's weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...run.core.frame import Curve, Frame, Role, Tensor
from ...run.core.graph import grouped
from ...run.edits import AddToWeights, Edit, ScaleWeights, SetFrozen, SetWeights, Together
from ...run.source import Can, Source
from ...scalar import Block
from ...scalar.store import Store
from .told import Told

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
        """Take over what the loop says of its last step.

        Raises
        ------
        InputError, TypeMismatchError
            No numbers.
        """
        self._told.look(self.values())
        self._told.tell(step=step, loss=loss, lr=lr)
        self._counted = True

    @abstractmethod
    def values(self) -> Float:
        """The numbers as they are now, flat."""


class ArraysSource(Followed):
    """Named arrays. They are looked at, not touched: they are somebody's data.

    Parameters
    ----------
    arrays : mapping of str to array_like
        Read anew for every frame; those without elements are left out.

    Raises
    ------
    InputError
        No arrays, only empty ones, or one that is not made of real numbers.
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
    """Weights and Parameters by name, as a loop of the user's own changes them.

    Parameters
    ----------
    parts : mapping of str to Weight or Parameter
    """

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
        """Change the objects themselves: values and flags, nothing else.

        Raises
        ------
        StateError
            Any other edit.
        """
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
