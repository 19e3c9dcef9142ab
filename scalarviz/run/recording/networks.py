"""The networks of a recording: tensors and stages, read and checked before any number of theirs is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError
from ..frame import Role, Stage, Tensor
from .encoding import marked, weights_of
from .schema import LONGEST_NAME, MOST_NUMBERS, MOST_OUTPUTS, MOST_SIDES, MOST_TENSORS, clean


@dataclass(frozen=True)
class Shapes:
    """Tensors and stages of one network.

    Attributes
    ----------
    tensors : tuple of Tensor
    stages : tuple of Stage
    inputs : int
        Numbers of one sample.
    """

    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...]
    inputs: int

    @cached_property
    def size(self) -> int:
        """Scalars of a frame."""
        return sum(tensor.size for tensor in self.tensors)

    @cached_property
    def weights(self) -> NDArray[np.bool_]:
        """Which of them are weights."""
        return weights_of(self.tensors)

    @cached_property
    def rows(self) -> dict[str, slice]:
        """Where the row of a stage, and of ``"input"``, lies in the rows of a probe."""
        found, at = {}, 0
        for name, count in (("input", self.inputs), *((stage.name, stage.outputs) for stage in self.stages)):
            found[name] = slice(at, at + count)
            at += count
        return found

    @cached_property
    def row_size(self) -> int:
        """Numbers of all rows."""
        return self.inputs + sum(stage.outputs for stage in self.stages)

    @cached_property
    def unit_bytes(self) -> int:
        """Bytes of what is told of units."""
        return 8 + 4 * sum(stage.outputs for stage in marked(self.stages))


def read_networks(database: sqlite3.Connection, inputs: int) -> dict[int, Shapes]:
    """All networks by number.

    Raises
    ------
    FileFormatError
        Names, shapes or places that cannot be, or too many.
    sqlite3.Error
        The file is damaged.
    """
    tensors: dict[int, dict[str, Tensor]] = {}
    rows = database.execute(
        "SELECT network, name, shape, start, role FROM tensor ORDER BY network, number LIMIT ?", (MOST_TENSORS + 1,)
    )
    for network, *parts in _few(rows):
        known = tensors.setdefault(_whole(network), {})
        tensor = _tensor(known, *parts)
        known[tensor.name] = tensor
    stages: dict[int, dict[str, Stage]] = {network: {} for network in tensors}
    outputs = dict.fromkeys(tensors, 0)
    rows = database.execute(
        "SELECT network, name, kind, outputs, weight, bias, shape, input_shape, sources, whole FROM stage "
        "ORDER BY network, number LIMIT ?", (MOST_TENSORS + 1,),
    )  # fmt: skip
    for network, *parts in _few(rows):
        if _whole(network) not in tensors:
            raise FileFormatError("it has stages of a network that it has not")
        stage = _stage(stages[network], tensors[network], *parts)
        stages[network][stage.name] = stage
        outputs[network] += stage.outputs
        if outputs[network] > MOST_OUTPUTS:  # there need be no numbers of theirs: nothing else bounds them
            raise FileFormatError(f"its stages have more than {MOST_OUTPUTS:,} outputs")
    return {number: Shapes(tuple(found.values()), tuple(stages[number].values()), inputs)
            for number, found in tensors.items()}  # fmt: skip


def _few(rows: sqlite3.Cursor) -> list[Any]:
    found = rows.fetchall()
    if len(found) > MOST_TENSORS:
        raise FileFormatError(f"it has more than {MOST_TENSORS:,} tensors or stages")
    return found


def _tensor(before: dict[str, Tensor], name: Any, shape: Any, start: Any, role: Any) -> Tensor:
    words = _name(name, before)
    sides = _sides(shape)
    last = next(reversed(before.values()), None)
    expected = last.start + last.size if last else 0
    if role not in get_args(Role) or _whole(start) != expected:
        raise FileFormatError(f"its tensor {words} lies nowhere, or is nothing that there is")
    made = Tensor(words, sides, start, role)
    if expected + made.size > MOST_NUMBERS:
        raise FileFormatError(f"it has more than {MOST_NUMBERS:,} numbers a frame")
    return made


def _stage(before: dict[str, Stage], named: dict[str, Tensor], name: Any, kind: Any, outputs: Any, weight: Any,
           bias: Any, shape: Any, input_shape: Any, sources: Any, whole: Any) -> Stage:  # fmt: skip
    words = _name(name, before) if name != "" or before else ""  # the model itself
    if not isinstance(kind, str) or not 0 < _whole(outputs) <= MOST_OUTPUTS:
        raise FileFormatError(f"its stage {words} has no kind or no outputs")
    for tensor in (weight, bias):
        if tensor is not None and tensor not in named:
            raise FileFormatError(f"its stage {words} has a weight that there is not")
    read = _list(sources)
    if not all(isinstance(one, str) and (one == "input" or one in before) for one in read):
        raise FileFormatError(f"its stage {words} reads what there is not")
    return Stage(words, clean(kind, LONGEST_NAME), outputs, named.get(weight), named.get(bias), _sides(shape),
                 _sides(input_shape), tuple(read), whole == 1)  # fmt: skip


def _name(name: Any, others: Collection[str]) -> str:
    if not isinstance(name, str) or not name or name != clean(name, LONGEST_NAME) or name in others:
        raise FileFormatError("a name in it is none, or comes twice")
    return name


def _whole(given: Any) -> int:
    if not isinstance(given, int) or not 0 <= given < 1 << 53:
        raise FileFormatError("a number in it is none, or negative")
    return given


def _list(text: Any) -> list[Any]:
    try:
        said = json.loads(text) if isinstance(text, str) and len(text) < 1 << 20 else None
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, list):
        raise FileFormatError("a shape in it is none")
    return said


def _sides(text: Any) -> tuple[int, ...]:
    sides = _list(text)
    if len(sides) > MOST_SIDES or not all(type(side) is int and 0 <= side <= MOST_NUMBERS for side in sides):
        raise FileFormatError("a shape in it is none, or too large")
    if prod(sides) > MOST_NUMBERS:
        raise FileFormatError("a shape in it is too large")
    return tuple(sides)
