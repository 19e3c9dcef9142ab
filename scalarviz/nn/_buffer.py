"""`Buffer`: numbers of a module that a graph reads and no optimiser trains, such as the running mean of a norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, shown
from ..scalar import Block, Value, tracing
from ._parameter import fitted, float_array

if TYPE_CHECKING:
    from ._module import Module


class Buffer(Block):
    """An array beside the parameters: a Run keeps it in its store, frames and files; no gradient goes to it."""

    __slots__ = ("first", "shape", "whole")

    buffer: ClassVar[bool] = True
    first: NDArray[np.float64]
    shape: tuple[int, ...]
    whole: bool

    def __init__(self, data: ArrayLike, whole: bool = False) -> None:
        array = float_array(data, "a buffer: the data")
        super().__init__(array.size)
        self.shape, self.whole, self.first = array.shape, whole, array
        self.flat_value[:] = array.ravel()

    @property
    def data(self) -> NDArray[Any]:
        """The values: a live view; a read-only copy of a count, and beside a training thread. Assigning copies."""
        found = self._seen_values(0, self.size).reshape(self.shape)
        if self.whole:
            with np.errstate(invalid="ignore"):
                found = found.astype(np.int64)
            found.flags.writeable = False
        return found

    @data.setter
    def data(self, array: ArrayLike) -> None:
        self._write(0, self.fitted(array, self.name or "a buffer").ravel())

    def fitted(self, array: ArrayLike, title: str) -> NDArray[np.float64]:
        """`array` as numbers that it can have: of a count whole ones, up to 2**53, of which a float64 has each."""
        new = fitted(array, self.shape, title)
        if self.whole and not ((new == np.floor(new)) & (new >= 0) & (new <= 2.0**53)).all():
            raise InputError(f"{title} counts, so it must be a whole number >= 0, at most 2**53; got {shown(array)}")
        return new

    def number(self, index: int) -> Value:
        """One of the numbers in a graph: of a recorded one what it will be, else what it is now."""
        weight = self.weight(index)
        return weight if tracing.active() is not None else Value(weight.data)

    @property
    def role(self) -> Literal["buffer", "count"]:
        """The kind of picture."""
        return "count" if self.whole else "buffer"

    def weight_name(self, index: int) -> str:
        """``"1.running_mean[2]"`` for the number at flat `index`."""
        place = "".join(f"[{i}]" for i in np.unravel_index(index, self.shape)) if self.shape else ""
        return f"{self.name}{place}"

    def __deepcopy__(self, memo: dict[int, object]) -> Buffer:
        return _restored(*self._numbers())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._numbers()

    def _numbers(self) -> tuple[Any, ...]:
        return np.array(self.data), self.whole, self.first, np.array(self._seen_frozen(0, self.size))


def _restored(data: Any, whole: bool, first: Any, frozen: Any) -> Buffer:
    """A stand-alone Buffer of these numbers, for copies and pickles."""
    copy = Buffer(first, whole)
    copy.flat_value[:] = np.ravel(data)
    copy.frozen_flags[:] = frozen
    return copy


class Buffered:
    """An attribute of a module that is read and set as an array, and kept as a `Buffer`; None where there is none."""

    def __init__(self, whole: bool = False) -> None:
        self._name, self._whole = "", whole

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        """The array, of a count the number; of the class this object."""
        if module is None:
            return self
        kept = vars(module).get(self._name)
        if not isinstance(kept, Buffer):
            return kept
        return kept.data[()] if kept.whole else kept.data  # `+= 1` makes another number, and sets that

    def __set__(self, module: Module, value: Any) -> None:
        """Copies into the buffer there is; the first array, or a Buffer, becomes it."""
        kept = vars(module).get(self._name)
        if value is not None and not isinstance(value, Buffer):
            if isinstance(kept, Buffer):
                kept.data = value
                return
            value = Buffer(value, self._whole)
        vars(module)[self._name] = value
        if value is not None:
            module._adopt(value)
