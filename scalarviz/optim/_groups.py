"""Parameter groups: weights with numbers of their own, as in PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import text
from ..errors import InputError, TypeMismatchError, listing, shown
from ..scalar import Block, Value, Weight, where
from ..scalar.number import at_least_zero
from ..scalar.weight import Indices
from ._checked import held_by

INITIAL = "initial_lr"
MOST = 64
"""The most groups; the rule of a weight takes the numbers of all groups."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupNumbers:
    """All numbers of the parameter groups except their rates; immutable.

    `of`: the group of each weight, empty if there is one group.
    """

    numbers: tuple[dict[str, Any], ...]
    of: Indices

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupNumbers) and self.numbers == other.numbers and np.array_equal(self.of, other.of)

    __hash__ = None  # type: ignore[assignment]


def grouped(params: Any, title: str) -> tuple[list[tuple[Block, Indices]], list[dict[str, Any]], Indices]:
    """Read the `params` argument of an optimiser: a list of parameters, or a list of groups.

    Return each block once, with the flat indices of its weights; the numbers of each group; and the group of each
    weight, in that order. The last two are empty for a list of parameters.
    """
    listed = _groups_in(params)
    if not listed:
        return held_by(params, title), [], np.zeros(0, np.intp)
    if len(listed) > MOST:
        raise InputError(f"{title}: at most {MOST} parameter groups, got {len(listed)}")
    where_: dict[Block, dict[int, int]] = {}
    numbers: list[dict[str, Any]] = []
    for j, group in enumerate(listed):
        if "params" not in group or not all(isinstance(name, str) for name in group):
            raise InputError(f"{title}: group {j} has no 'params'; write {{'params': [...], 'lr': 0.1}}")
        given = group["params"]
        own = held_by([given] if isinstance(given, Block | Weight) else given, f"{title}, group {j}")
        for block, places in own:
            known = where_.setdefault(block, {})
            twice = next((place for place in places.tolist() if place in known), None)
            if twice is not None:
                raise InputError(
                    f"{title}: weight {twice} of {block.name or 'a parameter'} is in groups {known[twice]} and "
                    f"{j}; put each weight in one group"
                )
            known.update(dict.fromkeys(places.tolist(), j))
        numbers.append({name: part for name, part in group.items() if name != "params"})
    held = [(block, np.array(sorted(places), np.intp)) for block, places in where_.items()]
    return held, numbers, np.array([where_[block][i] for block, places in held for i in places.tolist()], np.intp)


def _groups_in(params: Any) -> list[Mapping[str, Any]]:
    """Return the given groups; empty if parameters are given."""
    if not isinstance(params, list | tuple) or not any(isinstance(part, Mapping) for part in params):
        return []
    wrong = next((part for part in params if not isinstance(part, Mapping)), None)
    if wrong is not None:
        raise TypeMismatchError(
            f"params has groups, such as {{'params': [...]}}, and a {type(wrong).__name__}; give only groups"
        )
    return list(params)


class ParamGroup(MutableMapping[str, Any]):
    """One group: ``"params"`` and the numbers of its rule by name. Setting one works as on the optimiser."""

    def __init__(self, optimizer: Any, index: int) -> None:
        self._optimizer, self._index = optimizer, index

    def __getitem__(self, name: str) -> Any:
        name = text(name, "a key of a parameter group")
        if name == "params":
            return self._params()
        if name == INITIAL:
            known = self._optimizer.lr_pace.initial
            if not known:
                raise InputError(f"a parameter group has no {INITIAL!r} yet; set it, or create a schedule")
            return known[self._index]
        numbers = self._optimizer.group_numbers(self._index)
        if name not in numbers:
            raise InputError(f"a parameter group has no {shown(name)}; allowed: params, {listing(numbers)}")
        return numbers[name]

    def __setitem__(self, name: str, number: Any) -> None:
        name = text(name, "a key of a parameter group")
        if name == "params":
            raise InputError("the weights of a parameter group are fixed; create another optimiser")
        if name == INITIAL:
            pace, new = self._optimizer.lr_pace, at_least_zero(number, f"a parameter group: {INITIAL}")
            known = pace.initial or pace.rates
            pace.initial = tuple(new if j == self._index else one for j, one in enumerate(known))
            return
        self._optimizer.set_group({name: number}, self._index)

    def __delitem__(self, name: str) -> None:
        raise InputError(f"{shown(name)} of a parameter group cannot be deleted")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name == "params" or name in self._optimizer.group_numbers(self._index))

    def __iter__(self) -> Iterator[str]:
        return iter(["params", *self._optimizer.group_numbers(self._index)])

    def __len__(self) -> int:
        return 1 + len(self._optimizer.group_numbers(self._index))

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={part!r}" for name, part in self._optimizer.group_numbers(self._index).items())
        return f"ParamGroup({sum(1 for _ in self._params())} parts, {numbers})"

    def _params(self) -> list[Block | Weight]:
        found: list[Block | Weight] = []
        start, of = 0, self._optimizer.group_of
        for block, held in self._optimizer.blocks():
            own: Indices = held[of[start : start + len(held)] == self._index] if len(of) else held
            start += len(held)
            found += [block] if len(own) == block.size else [block.weight(int(i)) for i in own]
        return found


def picked(which: Value, results: Iterable[list[Value]]) -> list[Value]:
    """Return the result of the group with the number `which`, from the results of all groups."""
    *others, found = results
    for j in range(len(others) - 1, -1, -1):
        found = [where(which > j + 0.5, later, own) for later, own in zip(found, others[j], strict=True)]
    return found
