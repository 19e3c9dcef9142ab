"""`Buffer`: numbers of a module that a graph reads and no optimiser trains, such as the running mean of a norm."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, shown
from ..scalar import Block, Value, tracing
from ._parameter import fitted, float_array


class Buffer(Block):
    """An array beside the parameters. A Run keeps it in its store, frames and files; it gets no gradient."""

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
        """The values as a live view; a count, or any buffer beside a training thread, is a read-only copy.

        Assigning copies.
        """
        found = self._seen("value", 0, self.size).reshape(self.shape)
        if self.whole:
            with np.errstate(invalid="ignore"):
                found = found.astype(np.int64)
            found.flags.writeable = False
        return found

    @data.setter
    def data(self, array: ArrayLike) -> None:
        self._write(0, self.fitted(array, self.name or "a buffer").ravel())

    def fitted(self, array: ArrayLike, title: str) -> NDArray[np.float64]:
        """Return `array` as valid numbers of this buffer. A count takes whole numbers up to 2**53, exact in float64."""
        new = fitted(array, self.shape, title)
        if self.whole and not ((new == np.floor(new)) & (new >= 0) & (new <= 2.0**53)).all():
            raise InputError(f"{title} is a count, so it must be a whole number from 0 to 2**53; got {shown(array)}")
        return new

    def number(self, index: int) -> Value:
        """Return one number for a graph: a recorded graph reads it later, any other gets its current value."""
        weight = self.weight(index)
        return weight if tracing.active() is not None else Value(weight.data)

    @property
    def role(self) -> Literal["buffer", "count"]:
        """The kind of picture."""
        return "count" if self.whole else "buffer"

    def weight_name(self, index: int) -> str:
        """Return the name of the number at flat `index`, such as ``"1.running_mean[2]"``."""
        place = "".join(f"[{i}]" for i in np.unravel_index(index, self.shape)) if self.shape else ""
        return f"{self.name}{place}"

    def __deepcopy__(self, memo: dict[int, object]) -> Buffer:
        return _restored(*self._numbers())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._numbers()

    def _numbers(self) -> tuple[Any, ...]:
        return np.array(self.data), self.whole, self.first, np.array(self._seen("frozen", 0, self.size))


def _restored(data: Any, whole: bool, first: Any, frozen: Any) -> Buffer:
    """Return a stand-alone Buffer with these numbers, for copies and pickles."""
    copy = Buffer(first, whole)
    copy.flat_value[:] = np.ravel(data)
    copy.frozen_flags[:] = frozen
    return copy


class Buffered:
    """A module attribute that is read and set as an array and kept as a `Buffer`; None if there is none."""

    def __init__(self, whole: bool = False) -> None:
        self._name, self._whole = "", whole

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        """Return the array, or the number for a count; on the class, return this object."""
        if module is None:
            return self
        kept = vars(module).get(self._name)
        if not isinstance(kept, Buffer):
            return kept
        return kept.data[()] if kept.whole else kept.data  # `+= 1` makes a new number and sets it

    def __set__(self, module: Any, value: Any) -> None:
        """Copy into the existing buffer; the first array, or a Buffer, becomes the buffer."""
        kept = vars(module).get(self._name)
        if value is not None and not isinstance(value, Buffer):
            if isinstance(kept, Buffer):
                kept.data = value
                return
            value = Buffer(value, self._whole)
        vars(module)[self._name] = value
        if value is not None:
            module._adopt(value)
