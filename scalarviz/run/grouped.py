"""Loose Weights that a list holds, as one tensor: a matrix of Weights is looked at as a matrix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from .frame import Role, Tensor

_PLACE = re.compile(r"(.+?)((?:\.\d+)+)\Z", re.DOTALL)

Place = tuple[int, ...]


def grouped(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The same weights, with those of one list (``"w.0"``, ``"w.1"``) as one tensor ``"w"`` of the list's shape.

    Lists of lists become matrices, or, where their rows are of unequal lengths, a tensor each row. What does not
    stand together in the order of the list stays as it is.
    """
    found: list[Tensor] = []
    at = 0
    while at < len(tensors):
        name, members = _list_at(tensors, at)
        found += _as_arrays(name, members) if len(members) > 1 else [tensors[at]]
        at += max(1, len(members))
    return tuple(found)


def _list_at(tensors: Sequence[Tensor], at: int) -> tuple[str, list[tuple[Place, Tensor]]]:
    """The lone Weights of one list that begins with tensor number `at`, each with its place."""
    name, members = "", list[tuple[Place, Tensor]]()
    for tensor in tensors[at:]:
        parts = _PLACE.match(tensor.name) if tensor.shape == () else None
        if parts is None or (members and parts[1] != name):
            break
        place = tuple(int(number) for number in parts[2][1:].split("."))
        if place != (0,) * len(place) if not members else not _follows(members[-1][0], place):
            break
        name = parts[1]
        members.append((place, tensor))
    return name, members


def _follows(place: Place, following: Place) -> bool:
    """Whether a place is the next one in a list of lists: one number counts up, those behind it begin with 0."""
    if len(place) != len(following):
        return False
    at = next((k for k, (a, b) in enumerate(zip(place, following, strict=True)) if a != b), len(place))
    return at < len(place) and following[at] == place[at] + 1 and not any(following[at + 1 :])


def _as_arrays(name: str, members: Sequence[tuple[Place, Tensor]]) -> list[Tensor]:
    shape = tuple(1 + number for number in members[-1][0])
    role: Role = "bias" if name.rpartition(".")[2] == "bias" else "weight"
    if len(members) == prod(shape):  # places count up, so that as many as the last one allows are all of them
        return [Tensor(name, shape, members[0][1].start, role)]
    rows: dict[Place, list[Tensor]] = {}
    for place, tensor in members:
        rows.setdefault(place[:-1], []).append(tensor)
    return [Tensor(".".join((name, *map(str, place))), (len(row),), row[0].start, role) for place, row in rows.items()]
