"""Who a weight is: its name, and what it stands between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...run.core.frame import Stage, Tensor, is_chain
from ...run.core.gather import weight_name
from ..shown.subject import Subject


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a flat index is.

    Attributes
    ----------
    name : str
        ``0.weight[2][0]``.
    meaning : str
        ``from r to b``.
    """

    name: str
    meaning: str


def who(subject: Subject, index: int) -> Identity:
    """Name and meaning of the scalar at flat `index`."""
    tensor = tensor_of(subject, index)
    place = tuple(int(i) for i in np.unravel_index(index - tensor.start, tensor.shape)) if tensor.shape else ()
    return Identity(weight_name(subject.tensors, index), _meaning(subject, tensor, place))


def tensor_of(subject: Subject, index: int) -> Tensor:
    """The tensor that holds the scalar at flat `index`."""
    return next(t for t in subject.tensors if t.start <= index < t.start + t.size)


def _meaning(subject: Subject, tensor: Tensor, place: tuple[int, ...]) -> str:
    if tensor.buffer:
        return f"of channel {place[0]}; steps move it, no optimiser" if place else "counts the steps"
    for at, stage in enumerate(subject.way):
        if stage.weight is tensor and len(place) == 2:
            return f"from {_source(subject, at, place[1])} to {_target(subject, at, place[0])}"
        if stage.bias is tensor and len(place) == 1:
            return f"bias of {_target(subject, at, place[0])}"
    if len(place) == 2:
        return f"row {place[0]}, column {place[1]}"
    if len(place) >= 3:
        return f"output {place[0]}, input {place[1]}, kernel {', '.join(str(i) for i in place[2:])}"
    return ""


def _source(subject: Subject, at: int, number: int) -> str:
    """What feeds input `number` of the layer at place `at`: a unit of a row that it reads, if it reads whole rows."""
    stages, stage = subject.way, subject.way[at]
    if not stage.whole or stage.weight is None:  # sums or parts of rows, which have no name
        return f"its input {number}"
    rows = {row.name: row for row in stages}
    names = stage.sources or (stages[at - 1].name if at else "input",)
    sample = stage.weight.shape[1] - sum(rows[name].outputs for name in names if name in rows)
    for name in names:
        size = rows[name].outputs if name in rows else sample
        if number < size and name in rows:
            return f"{_row(stages, rows[name])} {number}"
        if number < size:
            return _named(subject.sample.inputs, number, "input")
        number -= size
    raise AssertionError("a layer that reads whole rows has a column for each of their numbers")


def _target(subject: Subject, at: int, number: int) -> str:
    """What output `number` of that layer becomes: the activation that reads it alone, or an output with a name."""
    stages, after = subject.way, at
    if at + 1 < len(stages) and stages[at + 1].weight is None and stages[at + 1].sources in ((), (stages[at].name,)):
        after = at + 1
    if after == len(stages) - 1:
        return _named(subject.sample.outputs, number, "output")
    return f"{_row(stages, stages[after])} {number}"


def _named(names: tuple[str, ...], number: int, word: str) -> str:
    return names[number] if number < len(names) else f"{word} {number}"


def _row(stages: Sequence[Stage], stage: Stage) -> str:
    """What a stage's row is called: what makes it; in a graph with branches its name, as beside the row."""
    if not is_chain(stages):
        return stage.name
    return "sum" if stage.weight is not None else stage.kind
