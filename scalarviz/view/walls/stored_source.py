"""`Stored`: the numbers of a file as a source, and two of them beside each other: one moment, which stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame, Past, Tensor
from ...run.source import Can
from ...run.sources.played import Played
from ...run.sources.recorded_pair import Compared, RecordedPair
from ..shown.source import tensors_of

Float = NDArray[np.floating]
_PAST = Past(0, 0, steps=np.zeros(1, np.int64))


def amount(tensors: Sequence[Tensor]) -> str:
    """How many numbers in how many tensors, in words."""
    size, count = sum(tensor.size for tensor in tensors), len(tensors)
    return f"{size:,} number{'' if size == 1 else 's'} in {count:,} tensor{'' if count == 1 else 's'}"


class Stored(Played):
    """Named arrays that nobody changes.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Of real numbers, none empty.
    name : str
        Of the file.
    """

    can = Can()

    def __init__(self, arrays: Mapping[str, Float], name: str) -> None:
        super().__init__("a file of numbers", name)
        self._tensors = tensors_of(arrays)
        flat = np.concatenate([array.ravel() for array in arrays.values()])
        flat.setflags(write=False)
        nothing = np.broadcast_to(flat.dtype.type(0), flat.shape)
        unset = np.broadcast_to(np.False_, flat.shape)
        self._frame = Frame(0, np.nan, np.nan, flat, nothing, nothing, unset, unset)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """One for each array."""
        return self._tensors

    @property
    def past(self) -> Past:
        """There is one moment."""
        return _PAST

    @property
    def recorded(self) -> bool:
        """It is no record of steps."""
        return False

    @property
    def counted(self) -> bool:
        """There are no steps."""
        return False

    @property
    def says(self) -> str:
        """How much it is."""
        return amount(self._tensors)

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """The numbers."""
        return self._frame

    def frame_at(self, place: int) -> Frame:
        """The numbers."""
        return self._frame

    def loss_at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """There is none."""
        return np.full(len(places), np.nan)

    def lacks(self, quantity: str) -> str:
        """A file holds numbers alone."""
        return "" if quantity == "weight" else "a file holds weights alone"


class StoredPair(RecordedPair):
    """Two files, and their difference where names and shapes agree.

    Parameters
    ----------
    a, b : Stored
    names : (str, str)
        What they are called.
    """

    can = Can()

    def __init__(self, a: Stored, b: Stored, names: tuple[str, str]) -> None:
        super().__init__(a, b, names)
        self.heads = a.says, b.says
        self._frame = super().frame_at(0)
        for one in (self._frame, *self._frame.both):
            one.values.setflags(write=False)

    @property
    def recorded(self) -> bool:
        """It is no record of steps."""
        return False

    def frame_at(self, place: int) -> Compared:
        """The difference; it is computed once."""
        return self._frame

    def lacks(self, quantity: str) -> str:
        """Files hold numbers alone."""
        return "" if quantity == "weight" else "files hold weights alone"
