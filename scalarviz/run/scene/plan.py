"""`Plan`: where a scene wants its tensors: named groups from left to right, in the order in which numbers go through.

Made for networks whose parts read one row of numbers and add to it (a residual stream): the row is a line below the
groups, from which each but the first reads, and to which each but the last adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...checks import flag, text
from ...errors import InputError, TypeMismatchError, UnknownNameError, listing, shown
from ..core.frame import Tensor

WIDEST = 400.0
"""Pixels of a room between plates, at most."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One tensor in a plan, by its name (``"0.weight"``), with the title that it has in the picture.

    `turned`: its inputs are drawn downwards, its outputs across, so that its rows are those of a plate beside
    it.
    """

    tensor: str
    title: str
    turned: bool = False

    def __post_init__(self) -> None:
        text(self.tensor, "Placed: the tensor")
        text(self.title, "Placed: the title")
        flag(self.turned, "Placed: turned")


@dataclass(frozen=True, slots=True)
class Room:
    """Room between plates, in which a panel draws; panels find it by `name`.

    `width` is in pixels of the 1280x720 grid, more than 0 and at most `WIDEST`.
    """

    name: str
    width: float

    def __post_init__(self) -> None:
        text(self.name, "Room: the name")
        wide: Any = self.width
        if isinstance(wide, bool) or not isinstance(wide, int | float):
            raise TypeMismatchError(f"Room: width is a number of pixels, got {type(wide).__name__} {shown(wide)}")
        if not 0 < wide <= WIDEST:
            raise InputError(f"Room: width is more than 0 and at most {WIDEST:g} pixels, got {shown(wide)}")


Column = tuple[Placed, ...] | Room


@dataclass(frozen=True, slots=True)
class Group:
    """Plates under one title: columns from left to right.

    A column is a tuple of :class:`Placed`, one below the other, or a :class:`Room`.
    """

    title: str
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        text(self.title, "Group: the title")
        given: Any = self.columns
        plates = isinstance(given, tuple) and any(isinstance(c, tuple) and c for c in given)
        if not plates or not all(
            isinstance(c, Room) or (isinstance(c, tuple) and c and all(isinstance(p, Placed) for p in c)) for c in given
        ):
            raise TypeMismatchError(
                f"Group: columns is a tuple of Rooms and of tuples of Placed, at least one of these, got {shown(given)}"
                '; try columns=((Placed("0.weight", "first"),),)'
            )

    @property
    def plates(self) -> list[Placed]:
        """All of them, column by column."""
        return [placed for column in self.columns if isinstance(column, tuple) for placed in column]


@dataclass(frozen=True, slots=True)
class Plan:
    """The groups of a network, from left to right; `stream` is said of the line below them, if there is one."""

    groups: tuple[Group, ...]
    stream: str = ""

    def __post_init__(self) -> None:
        given: Any = self.groups
        if not isinstance(given, tuple) or not given or not all(isinstance(group, Group) for group in given):
            raise TypeMismatchError(f"Plan: groups is a tuple of Groups, at least one, got {shown(given)}")
        text(self.stream, "Plan: the stream")
        for what, names in (("tensor", [p.tensor for p in self.plates]), ("room", [r.name for r in self._rooms()])):
            twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
            if twice is not None:
                raise InputError(f"Plan: the {what} {shown(twice)} comes twice; each has one place")

    @property
    def rooms(self) -> list[Room]:
        """Those that are left to pictures, in order."""
        return list(self._rooms())

    def _rooms(self) -> Iterator[Room]:
        return (c for group in self.groups for c in group.columns if isinstance(c, Room))

    @property
    def plates(self) -> list[Placed]:
        """All of them, in order."""
        return [placed for group in self.groups for placed in group.plates]

    def check(self, tensors: Sequence[Tensor]) -> None:
        """Refuse a plan of another network: of unknown tensors, without all of them, or with one that is no matrix."""
        known = {tensor.name: tensor for tensor in tensors if tensor.role != "count"}
        for placed in self.plates:
            if placed.tensor not in known:
                raise UnknownNameError(f"Plan: there is no tensor {shown(placed.tensor)}; allowed: {listing(known)}")
            if len(known[placed.tensor].shape) != 2:
                raise InputError(
                    f"Plan: {placed.tensor} has the shape {known[placed.tensor].shape}; a plan places matrices"
                )
        if left_out := sorted(known.keys() - {placed.tensor for placed in self.plates}):
            raise InputError(f"Plan: it leaves out {listing(left_out)}; every tensor needs a place")
