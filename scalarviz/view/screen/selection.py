"""`Selection`: which weights are selected, as spans of the flat arrays, and what they are called together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Stage, Tensor, is_chain
from ...run.core.gather import weight_name
from ...run.edits.numbers import Spans
from ..panels.neuron_maps import units_of
from ..shown.subject import Subject

# ---- Who a weight is: its name, and what it stands between.


@dataclass(frozen=True, slots=True)
class Identity:
    """The name of a number, ``0.weight[2][0]``, and what it stands between, ``from r to b``."""

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
            return f"from {source_name(subject, at, place[1])} to {target_name(subject, at, place[0])}"
        if stage.bias is tensor and len(place) == 1:
            return f"bias of {target_name(subject, at, place[0])}"
    if len(place) == 2:
        return f"row {place[0]}, column {place[1]}"
    if len(place) >= 3:
        return f"output {place[0]}, input {place[1]}, kernel {', '.join(str(i) for i in place[2:])}"
    return ""


def source_name(subject: Subject, at: int, number: int) -> str:
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
            return _unit(subject, rows[name], number)
        if number < size:
            return _named(subject.sample.inputs, number, "input")
        number -= size
    raise AssertionError("a layer that reads whole rows has a column for each of their numbers")


def target_name(subject: Subject, at: int, number: int) -> str:
    """What output `number` of that layer becomes: the activation that reads it alone, or an output with a name."""
    stages, after = subject.way, at
    if at + 1 < len(stages) and stages[at + 1].weight is None and stages[at + 1].sources in ((), (stages[at].name,)):
        after = at + 1
    if after == len(stages) - 1:
        return _named(subject.sample.outputs, number, "output")
    return _unit(subject, stages[after], number)


def _named(names: tuple[str, ...], number: int, word: str) -> str:
    return names[number] if number < len(names) else f"{word} {number}"


def _unit(subject: Subject, stage: Stage, number: int) -> str:
    """What a unit of a stage's row is called: ``h3`` where the picture has it so, else after what makes it.

    In a graph with branches that is the name of the stage, as beside the row.
    """
    named = units_of(subject).get(stage.name)
    if named is not None:
        return named.name(number)
    row = stage.name if not is_chain(subject.way) else "sum" if stage.weight is not None else stage.kind
    return f"{row} {number}"


@dataclass(frozen=True, slots=True)
class Selection:
    """Weights that are selected: one, or several."""

    main: int  # flat index of the weight that was touched last; it is selected
    spans: Spans  # first and count of each run of neighbours, in order, with gaps between them
    words: str  # "row 2 of 0.weight", "3 weights"
    kind: str = ""  # which part of the outline they are, "row"; empty: they were picked one by one
    short: str = ""  # what the outline prints of that part, "row 2"

    @property
    def count(self) -> int:
        """How many weights."""
        return sum(count for _, count in self.spans)

    @property
    def single(self) -> bool:
        """Whether it is one weight."""
        return self.count == 1

    def __contains__(self, index: int) -> bool:
        return any(start <= index < start + count for start, count in self.spans)

    def of(self, flat: NDArray[Any]) -> NDArray[Any]:
        """The selected numbers of a flat array, in order (a copy)."""
        return np.concatenate([flat[start : start + count] for start, count in self.spans])

    def mask(self, first: int, size: int) -> NDArray[np.bool_]:
        """Which of the `size` weights from `first` on are selected."""
        found = np.zeros(size, bool)
        for start, count in self.spans:
            low, high = max(start - first, 0), min(start + count - first, size)
            if low < high:
                found[low:high] = True
        return found

    def toggled(self, index: int) -> Selection | None:
        """With one weight more, or without it; None where nothing is left."""
        picked = [] if index in self else [(index, 1)]
        for start, count in self.spans:
            inside = start <= index < start + count
            parts = [(start, index - start), (index + 1, start + count - index - 1)]
            picked += parts if inside else [(start, count)]
        spans = joined([span for span in picked if span[1]])
        if not spans:
            return None
        count = sum(span[1] for span in spans)
        left = spans[0][0] if index == self.main else self.main  # what was touched last may be gone
        return Selection(left if index in self else index, spans, f"{count:,} weights")


def joined(spans: Sequence[tuple[int, int]]) -> Spans:
    """Spans in order, neighbours as one; none may lie over another."""
    found: list[tuple[int, int]] = []
    for start, count in sorted(spans):
        if found and sum(found[-1]) == start:
            found[-1] = (found[-1][0], found[-1][1] + count)
        else:
            found.append((start, count))
    return tuple(found)


# ---- The outline that a weight stands in: network, layer, tensor, neuron, row, column, and the weight itself.


def parts_of(subject: Subject, index: int) -> tuple[Selection, ...]:
    """From the whole network down to the weight at flat `index`; a part that is no more than the next is left out.

    Buffers are no weights: they are no part of the network's or a layer's, and stand in none themselves.
    """
    tensor, found = tensor_of(subject, index), list[Selection]()

    def add(kind: str, short: str, words: str, spans: Sequence[tuple[int, int]]) -> None:
        one = Selection(index, joined(spans), words, kind, short)
        if spans and all(one.spans != other.spans for other in found):
            found.append(one)

    name, at, shape = weight_name(subject.tensors, index), index - tensor.start, tensor.shape
    wide = tensor.size // shape[0] if shape else tensor.size  # numbers of one row
    row, path = at // wide, "" if tensor.buffer else tensor.name.rpartition(".")[0]
    family = [t for t in subject.tensors if path and t.name.rpartition(".")[0] == path and not t.buffer]
    add("weight", name.removeprefix(tensor.name) or name, name, [(index, 1)])
    if len(shape) >= 2:
        inner = wide // shape[1]  # numbers of one kernel
        column = at % wide // inner
        column_spans = [(tensor.start + r * wide + column * inner, inner) for r in range(shape[0])]
        add("column", f"column {column}", f"column {column} of {tensor.name}", column_spans)
        add("row", f"row {row}", f"row {row} of {tensor.name}", [(tensor.start + row * wide, wide)])
    alike = [(t, t.size // t.shape[0]) for t in family if shape and t.shape and t.shape[0] == shape[0]]
    neuron = [(t.start + row * count, count) for t, count in alike]
    add("neuron", f"neuron {row}", f"neuron {row} of layer {path}", neuron)
    add("tensor", tensor.name.rpartition(".")[2], tensor.name, [(tensor.start, tensor.size)])
    add("layer", f"layer {path}", f"layer {path}", [(t.start, t.size) for t in family])
    if not tensor.buffer:
        total = sum(t.size for t in subject.tensors if not t.buffer)
        add("network", "network" if subject.stages else "all", f"all {total:,} weights", [(0, total)])
    return tuple(reversed(found))


def part(subject: Subject, index: int, kind: str) -> Selection:
    """That part of a kind around a weight, or the nearest below it: a lone weight is its own neuron."""
    order = ("network", "layer", "tensor", "neuron", "row", "column", "weight")
    parts = {part.kind: part for part in parts_of(subject, index)}
    return next(parts[k] for k in order[order.index(kind) :] if k in parts)
