"""The outline that a weight stands in: network, layer, tensor, neuron, row, column, and the weight itself."""

from __future__ import annotations

from dataclasses import dataclass

from ...run.core.frame import Tensor
from ...run.core.gather import weight_name
from ...run.edits.weights import Spans
from ..shown.subject import Subject
from .selection import Selection, joined
from .who import tensor_of


@dataclass(frozen=True, slots=True)
class Part:
    """One entry of the outline.

    Attributes
    ----------
    kind : {"network", "layer", "tensor", "neuron", "row", "column", "weight"}
    short : str
        What the outline prints (``"row 2"``).
    words : str
        What an edit says (``"row 2 of 0.weight"``).
    spans : tuple of (int, int)
    """

    kind: str
    short: str
    words: str
    spans: Spans

    def selected(self, main: int) -> Selection:
        """The weights of this part, as a selection around the weight `main`."""
        return Selection(main, self.spans, self.words, self.kind)


def parts_of(subject: Subject, index: int) -> tuple[Part, ...]:
    """From the whole network down to the weight at flat `index`; a part that is no more than the next is left out.

    Buffers are no weights: they are no part of the network's or a layer's, and stand in none themselves.
    """
    tensor = tensor_of(subject, index)
    total = sum(t.size for t in subject.tensors if not t.buffer)
    network = "network" if subject.stages else "all"
    found = [] if tensor.buffer else [Part("network", network, f"all {total:,} weights", ((0, total),))]
    path = "" if tensor.buffer else tensor.name.rpartition(".")[0]
    family = [t for t in subject.tensors if path and t.name.rpartition(".")[0] == path and not t.buffer]
    if path:
        spans = joined([(t.start, t.size) for t in family])
        found.append(Part("layer", f"layer {path}", f"layer {path}", spans))
    found.append(Part("tensor", tensor.name.rpartition(".")[2], tensor.name, ((tensor.start, tensor.size),)))
    found += _within(tensor, family, path, index)
    name = weight_name(subject.tensors, index)
    found.append(Part("weight", name.removeprefix(tensor.name) or name, name, ((index, 1),)))
    kept: list[Part] = []
    for part in reversed(found):
        if all(part.spans != other.spans for other in kept):
            kept.insert(0, part)
    return tuple(kept)


def part(subject: Subject, index: int, kind: str) -> Part:
    """That part of a kind around a weight, or the nearest below it: a lone weight is its own neuron."""
    order = ("network", "layer", "tensor", "neuron", "row", "column", "weight")
    parts = {part.kind: part for part in parts_of(subject, index)}
    return next(parts[k] for k in order[order.index(kind) :] if k in parts)


def _within(tensor: Tensor, family: list[Tensor], path: str, index: int) -> list[Part]:
    """Neuron, row and column of an element."""
    found = []
    row = _row_of(tensor, index)
    neuron = joined([
        (t.start + row * (t.size // t.shape[0]), t.size // t.shape[0])
        for t in family
        if tensor.shape and t.shape and t.shape[0] == tensor.shape[0]
    ])  # fmt: skip
    if neuron:
        found.append(Part("neuron", f"neuron {row}", f"neuron {row} of layer {path}", neuron))
    if len(tensor.shape) < 2:
        return found
    wide = tensor.size // tensor.shape[0]
    found.append(Part("row", f"row {row}", f"row {row} of {tensor.name}", ((tensor.start + row * wide, wide),)))
    inner = wide // tensor.shape[1]  # numbers of one kernel
    column = (index - tensor.start) % wide // inner
    spans = joined([(tensor.start + r * wide + column * inner, inner) for r in range(tensor.shape[0])])
    found.append(Part("column", f"column {column}", f"column {column} of {tensor.name}", spans))
    return found


def _row_of(tensor: Tensor, index: int) -> int:
    return (index - tensor.start) // (tensor.size // tensor.shape[0]) if tensor.shape else 0
