"""What the thread that trains hands to the one that writes: copies, or what nobody changes any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.data import Data
from ..edits.applied import Applied
from ..forward import Forward
from ..frame import Curve
from .coming import Coming

OVERHEAD = 1024
"""Bytes of an item beside its arrays."""


@dataclass(frozen=True, slots=True)
class Way:
    """A branch begins.

    Attributes
    ----------
    number, parent, first, before, why, jumped
        As those of :class:`~scalarviz.run.timeline.line.Line`.
    """

    number: int
    parent: int | None
    first: int
    before: int
    why: str
    jumped: bool

    nbytes = OVERHEAD


@dataclass(frozen=True, slots=True)
class Done:
    """An edit of a branch, its so-manieth; one of the same gesture takes the place of the last."""

    branch: int
    number: int
    applied: Applied

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return OVERHEAD + self.applied.nbytes


@dataclass(frozen=True, slots=True)
class Named:
    """The named moments of a branch, all of them, by step."""

    branch: int
    flags: dict[int, str]

    nbytes = OVERHEAD


@dataclass(frozen=True, slots=True)
class Passed:
    """Steps of a branch: their numbers, losses and learning rates."""

    branch: int
    curve: Curve

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return OVERHEAD + sum(part.nbytes for part in self.curve)


@dataclass(frozen=True, slots=True)
class Network:
    """The network that frames of this number are of."""

    number: int
    forward: Forward

    nbytes = OVERHEAD


@dataclass(frozen=True, slots=True)
class Look:
    """One moment.

    Attributes
    ----------
    branch, step, edits : int
        Its place.
    network : int
    kept : bool
        Whether thinning leaves it: the run came here by an edit, a jump, its beginning or its end.
    instead : bool
        Whether it takes the place of what was written of this place: an edit took that of the one before it.
    loss, lr : float
    next_lr : float
    batch : int
    optimizer : str
        Samples of a step, and the class that trains.
    edited : bool
    stopped : str
        As in :class:`~scalarviz.run.frame.Frame`.
    value : ndarray, shape (P,)
    gradient, previous, moved : ndarray, shape (P,), or None
        What of it was asked for; `moved` where it is not ``value - previous``.
    computed, frozen : ndarray of uint8, shape (P,)
    forward : Forward
    data : Data
    coming : Coming or None
        The step that comes after it, where micro-steps are wanted.
    """

    branch: int
    step: int
    edits: int
    network: int
    kept: bool
    instead: bool
    loss: float
    lr: float
    next_lr: float
    batch: int
    optimizer: str
    edited: bool
    stopped: str
    value: NDArray[Any]
    gradient: NDArray[Any] | None
    previous: NDArray[Any] | None
    moved: NDArray[Any] | None
    computed: NDArray[np.uint8]
    frozen: NDArray[np.uint8]
    forward: Forward
    data: Data
    coming: Coming | None = None

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        arrays = (self.value, self.gradient, self.previous, self.moved, self.computed, self.frozen)
        opened = 0 if self.coming is None else self.coming.nbytes
        return OVERHEAD + opened + sum(array.nbytes for array in arrays if array is not None)


@dataclass(frozen=True, slots=True)
class Stands:
    """Where the run stands: the place that a recording shows as that of now. None: at the branch's last frame."""

    branch: int
    step: int | None

    nbytes = OVERHEAD


Item = Way | Done | Named | Passed | Network | Look | Stands
