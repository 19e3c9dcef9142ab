"""`Selection`: the selected weights as spans of the flat arrays, with their common name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.edits.numbers import Spans
from ..shown.names import Names, tensor_of, who
from ..shown.subject import Subject


@dataclass(frozen=True, slots=True)
class Selection:
    """One or several selected weights."""

    main: int  # flat index of the weight that was touched last and is still selected
    spans: Spans  # first index and count of each run of neighbours, ordered, with gaps between them
    words: str  # "row 2 of 0.weight", "3 weights"
    kind: str = ""  # kind of part, e.g. "row"; empty if picked one by one
    short: str = ""  # name of the part in the inspector, e.g. "row 2"

    @property
    def count(self) -> int:
        """The number of weights."""
        return sum(count for _, count in self.spans)

    @property
    def single(self) -> bool:
        """Whether it is a single weight."""
        return self.count == 1

    def __contains__(self, index: int) -> bool:
        return any(start <= index < start + count for start, count in self.spans)

    def numbers_of(self, flat: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of the selected numbers of a flat array, in order."""
        return np.concatenate([flat[start : start + count] for start, count in self.spans])

    def mask(self, first: int, size: int) -> NDArray[np.bool_]:
        """Return a mask of the `size` weights from flat index `first` on; True for selected ones."""
        found = np.zeros(size, bool)
        for start, count in self.spans:
            low, high = max(start - first, 0), min(start + count - first, size)
            if low < high:
                found[low:high] = True
        return found

    def toggled(self, index: int) -> Selection | None:
        """Return the selection with a weight added or removed; None if nothing is left."""
        picked = [] if index in self else [(index, 1)]
        for start, count in self.spans:
            inside = start <= index < start + count
            parts = [(start, index - start), (index + 1, start + count - index - 1)]
            picked += parts if inside else [(start, count)]
        spans = joined([span for span in picked if span[1]])
        if not spans:
            return None
        count = sum(span[1] for span in spans)
        left = spans[0][0] if index == self.main else self.main  # the weight touched last may be gone
        return Selection(left if index in self else index, spans, f"{count:,} weights")


def joined(spans: Sequence[tuple[int, int]]) -> Spans:
    """Return spans in order with neighbours joined; spans must not overlap."""
    found: list[tuple[int, int]] = []
    for start, count in sorted(spans):
        if found and sum(found[-1]) == start:
            found[-1] = (found[-1][0], found[-1][1] + count)
        else:
            found.append((start, count))
    return tuple(found)


# ---- The parts around a weight: network, layer, tensor, neuron, row, column, and the weight itself.


def parts_of(subject: Subject, index: int) -> tuple[Selection, ...]:
    """Return the parts from the whole network down to the weight at flat `index`.

    A part that equals the next smaller one is left out. Buffers are not weights: they belong to no layer or network.
    """
    tensor, found, names = tensor_of(subject, index), list[Selection](), Names(subject)

    def add(kind: str, short: str, words: str, spans: Sequence[tuple[int, int]]) -> None:
        one = Selection(index, joined(spans), words, kind, short)
        if spans and all(one.spans != other.spans for other in found):
            found.append(one)

    known, at, shape = who(subject, index), index - tensor.start, tensor.shape
    wide = tensor.size // shape[0] if shape else tensor.size  # numbers of one row
    row, path = at // wide, "" if tensor.buffer else tensor.name.rpartition(".")[0]
    family = [t for t in subject.tensors if path and t.name.rpartition(".")[0] == path and not t.buffer]
    layer = next((k for k, s in enumerate(subject.way) if s.weight is not None and s.weight in family), None)
    title = names.tensors[tensor.name] if layer is None else names.stages[subject.way[layer].name]
    matrix = layer is not None and len(shape) == 2
    to = names.target(layer, row) if layer is not None else f"{row + 1}"
    add("weight", "weight" if known.name != known.code else known.code, known.name, [(index, 1)])
    if len(shape) >= 2:
        inner = wide // shape[1]  # numbers of one kernel
        column = at % wide // inner
        column_spans = [(tensor.start + r * wide + column * inner, inner) for r in range(shape[0])]
        said = f"from {names.source(layer, column)}" if matrix and layer is not None else f"column {column + 1}"
        add("column", said, f"{said} in {title}", column_spans)
        said = f"to {to}" if matrix else f"row {row + 1}"
        add("row", said, f"{said} in {title}", [(tensor.start + row * wide, wide)])
    alike = [(t, t.size // t.shape[0]) for t in family if shape and t.shape and t.shape[0] == shape[0]]
    neuron = [(t.start + row * count, count) for t, count in alike]
    add("neuron", f"neuron {to}", f"neuron {to} of {title}", neuron)
    part_words = names.tensors[tensor.name]
    said = part_words if part_words != title else f"weights of {title}"
    add("tensor", tensor.name.rpartition(".")[2], said, [(tensor.start, tensor.size)])
    add("layer", title, title, [(t.start, t.size) for t in family])
    if not tensor.buffer:
        total = sum(t.size for t in subject.tensors if not t.buffer)
        add("network", "network" if subject.stages else "all", f"all {total:,} weights", [(0, total)])
    return tuple(reversed(found))


def part(subject: Subject, index: int, kind: str) -> Selection:
    """Return the part of a kind around a weight, or the next smaller part: a lone weight is its own neuron."""
    order = ("network", "layer", "tensor", "neuron", "row", "column", "weight")
    parts = {part.kind: part for part in parts_of(subject, index)}
    return next(parts[k] for k in order[order.index(kind) :] if k in parts)
