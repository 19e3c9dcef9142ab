"""`Names`: display names for the parts of a network, the same in the picture, at the pointer, in panels and sentences.

Examples are ``layer 1``, ``ReLU 2``, ``h3``. The name of a module in code (``0.weight``) appears only in the
inspector's second line. A module with a name of its own (``encoder``) keeps it, and a plan has its own names.
`Selection`: the selected weights as spans of the flat arrays, with their common name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.gather import weight_name
from ...run.core.tensors import Stage, Tensor
from ...run.edits.numbers import Spans
from ..cubes.scale import in_words
from ..space.chain import ChainLayer, chain_of
from .subject import Subject

LETTERS = "hkmnpqrstuvw"
"""The letter of the units of each hidden layer, in order."""
_CALL = re.compile(r" \(\d+\)\Z")


class Hidden(NamedTuple):
    """A hidden layer. `row` is the stage that makes its activations, `kind` the kind of that stage."""

    row: str
    kind: str
    weight: Tensor
    bias: Tensor | None
    units: int
    letter: str

    def name(self, unit: int) -> str:
        """Return the name of a unit: ``h3``."""
        return f"{self.letter}{unit + 1}"


def chain_in(subject: Subject) -> list[ChainLayer]:
    """Return the layers of a chain, or an empty list if the network is none."""
    return chain_of([t for t in subject.tensors if t.size and t.role != "count"], subject.way)


def hidden_of(subject: Subject) -> list[Hidden]:
    """Return the hidden layers of a chain, or an empty list if the network is none."""
    kinds = {stage.name: stage.kind for stage in subject.way}
    return [
        Hidden(layer.row, kinds[layer.row], layer.weight, layer.bias, layer.outputs, LETTERS[k % len(LETTERS)])
        for k, layer in enumerate(chain_in(subject)[:-1])
    ]


class Names:
    """The display names of one subject as it is now.

    Attributes
    ----------
    stages : dict of str to str
        Names of stages by their names in code: ``layer 1``, ``ReLU 1``; the only stage of a kind has no number.
    tensors : dict of str to str
        Names of tensors by their names in code: ``layer 1`` for the weights of a layer, ``bias of layer 1``.
    hidden : dict of str to Hidden
        The hidden layers of a chain by row; their units are ``h1``, ``h2``, ..., ``k1``, ...
    """

    def __init__(self, subject: Subject) -> None:
        self._subject, self._way = subject, subject.way
        planned = {} if subject.plan is None else {placed.tensor: placed.title for placed in subject.plan.plates}
        own = {_CALL.sub("", stage.name): self._stage_title(stage, planned) for stage in self._way}
        counts, numbers = Counter(own.values()), Counter[str]()
        for path, name in own.items():
            numbers[name] += 1
            own[path] = f"{name} {numbers[name]}" if counts[name] > 1 and name != path else name
        self.stages = {s.name: own[_CALL.sub("", s.name)] + "".join(_CALL.findall(s.name)) for s in self._way}
        planned |= Names(subject.both[0]).tensors if subject.both else {}
        self.tensors: dict[str, str] = {
            tensor.name: planned.get(tensor.name, self._tensor_title(tensor, own)) for tensor in subject.tensors
        }
        self.hidden = {layer.row: layer for layer in hidden_of(subject)}
        self._last = self._way[-1] if self._way else None

    def _stage_title(self, stage: Stage, planned: dict[str, str]) -> str:
        """Return the name of a stage without its number."""
        path = _CALL.sub("", stage.name)
        parts = [part for part in path.split(".") if not part.isdecimal()]  # a number is a place in a list, not a name
        given = stage.weight is not None and parts not in ([], [""], ["output"], ["layers"])
        return planned.get(f"{path}.weight", "") or (" ".join(parts) if given else in_words(stage.kind))

    def _tensor_title(self, tensor: Tensor, stages: dict[str, str]) -> str:
        path, _, part = tensor.name.rpartition(".")
        stage = next((s for s in self._way if tensor in (s.weight, s.bias)), None)
        name = stages.get(_CALL.sub("", stage.name) if stage is not None else path)
        if name is None:
            return tensor.name
        part = part.replace("_", " ")
        if tensor.buffer:  # short, because there is little room: "running mean 2"
            return " ".join([part, *re.findall(r"\d+\Z", name)])
        return name if part == "weight" else f"{part} of {name}"

    def unit(self, stage: Stage, number: int) -> str:
        """Return the name of one number of a stage.

        It is an output's name, ``h3``, ``ReLU 1, unit 3``, or a place in a map.
        """
        if stage is self._last:
            return self.of_sample(self._subject.sample.outputs, number, "output")
        if stage.name in self.hidden:
            return self.hidden[stage.name].name(number)
        return f"{self.stages[stage.name]}, {self.place(stage, number)}"

    @staticmethod
    def place(stage: Stage, number: int) -> str:
        """Return the place of a number in its stage: ``unit 3``, or for images ``map 3, row 2, column 5``."""
        if len(stage.shape) != 3:
            return f"unit {number + 1}"
        return "map {}, row {}, column {}".format(*(int(k) + 1 for k in np.unravel_index(number, stage.shape)))

    @staticmethod
    def of_sample(given: tuple[str, ...], number: int, word: str) -> str:
        """Return the name of an input or an output."""
        return given[number] if number < len(given) else f"{word} {number}"

    def source(self, at: int, number: int) -> str:
        """Return the name of input `number` of the layer at place `at`: a unit, if the layer reads whole rows."""
        stages, stage = self._way, self._way[at]
        if not stage.whole or stage.weight is None:  # sums and parts of rows have no name
            return f"input {number + 1} of {self.stages[stage.name]}"
        rows = {row.name: row for row in stages}
        names = stage.sources or (stages[at - 1].name if at else "input",)
        sample = stage.weight.shape[1] - sum(rows[name].outputs for name in names if name in rows)
        for name in names:
            size = rows[name].outputs if name in rows else sample
            if number < size and name in rows:
                return self.unit(rows[name], number)
            if number < size:
                return self.of_sample(self._subject.sample.inputs, number, "input")
            number -= size
        raise AssertionError("a layer that reads whole rows has a column for each of their numbers")

    def target(self, at: int, number: int) -> str:
        """Return the name of output `number` of the layer at place `at`.

        It is the unit of the activation that alone reads the layer, or the layer's own.
        """
        stages, after = self._way, at
        follows = at + 1 < len(stages) and stages[at + 1].weight is None
        if follows and stages[at + 1].sources in ((), (stages[at].name,)):
            after = at + 1
        return self.unit(stages[after], number)

    def plain(self, text: str) -> str:
        """Replace names in code by display names in a text of a run, such as an edit."""
        for one in self._subject.both:  # names that only one of them has
            text = Names(one).plain(text)
        tensors = {tensor.name: tensor for tensor in self._subject.tensors}
        parts = sorted(map(re.escape, tensors), key=len, reverse=True)

        def replacement(found: re.Match[str]) -> str:
            tensor, places = tensors[found[1]], [int(k) for k in re.findall(r"\d+", found[2])]
            if len(places) != len(tensor.shape) or not places:
                return self.tensors[tensor.name] + found[2]
            words, named = along(self._subject, tensor, self)
            return words.format(*(name(k) for name, k in zip(named, places, strict=True))) or found[0]

        return re.sub(rf"(?<![\w.])({'|'.join(parts)})((?:\[\d+\])*)(?![\w.])", replacement, text) if parts else text

    def rows(self, drawn: Iterable[str]) -> dict[str, str]:
        """Return the names of rows of activations by their stages (``"input"``: the sample)."""
        found = {name: self.stages.get(name, name) for name in drawn}
        if self._last is not None and found:
            found[self._last.name] = "output"
        if self._subject.sample.sheet:
            found["input"] = "input, 0 to 1"
        return found


# ---- Names of a single number.


@dataclass(frozen=True, slots=True)
class Identity:
    """The display name of a number (``from h1 to b``), its name in code (``2.weight[2][0]``), and a remark."""

    name: str
    code: str
    about: str = ""

    @property
    def code_words(self) -> str:
        """The name in code and the remark, for the line beside the name."""
        return "; ".join(filter(None, ("" if self.code == self.name else self.code, self.about)))


def who(subject: Subject, index: int) -> Identity:
    """Return the names of the scalar at flat `index`."""
    tensor, code = tensor_of(subject, index), weight_name(subject.tensors, index)
    if subject.both:
        own = next(one for one in subject.both[0].tensors if one.name == tensor.name)
        return who(subject.both[0], own.start + index - tensor.start)
    words, named = along(subject, tensor, names := Names(subject))
    places = [int(k) for k in np.unravel_index(index - tensor.start, tensor.shape)] if tensor.shape else []
    said = words.format(*(name(k) for name, k in zip(named, places, strict=True)))
    if tensor.buffer:
        return Identity(said, code, "not trained, steps change it" if places else "counts the steps")
    plain = names.tensors[tensor.name] == tensor.name and not said.startswith(("from ", "bias of "))
    return Identity(code, code, said.removesuffix(f" of {tensor.name}")) if plain else Identity(said or code, code)


def tensor_of(subject: Subject, index: int) -> Tensor:
    """Return the tensor that holds the scalar at flat `index`."""
    return next(t for t in subject.tensors if t.start <= index < t.start + t.size)


def along(subject: Subject, tensor: Tensor, names: Names) -> tuple[str, list[Callable[[int], str]]]:
    """Return a format string for the numbers of a tensor, and for each axis a function that names a place along it.

    The string is empty for a single number, whose name is that of its tensor.
    """
    axes, title = len(tensor.shape), names.tensors[tensor.name]
    at = next((k for k, stage in enumerate(subject.way) if tensor in (stage.weight, stage.bias)), None)
    if at is not None and axes == 1 and not tensor.buffer:
        return "bias of {0}", [partial(names.target, at)]
    if at is not None and axes == 2:
        alike = not at and any(names.target(at, k) in subject.sample.inputs for k in range(tensor.shape[0]))
        words = "from input {1} to output {0}" if alike else "from {1} to {0}"
        return words, [partial(names.target, at), partial(names.source, at)]
    kernel = ("kernel", "") if axes == 4 else ("kernel place", *("place",) * (axes - 3))
    parts = ("channel",) * axes if axes < 2 else ("row", "column") if axes == 2 else ("map", "input map", *kernel)
    named: list[Callable[[int], str]] = [partial(_counted, word) for word in parts]
    if axes < 2:
        return f"{title}, {{0}}" if axes and title != tensor.name else "", named
    return f"{', '.join(f'{{{axis}}}' for axis in range(axes))} of {title}", named


def _counted(word: str, place: int) -> str:
    """Return the name of a place along an axis; the first one is 1."""
    return f"{word} {place + 1}".lstrip()


# ---- Selected weights.


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
        """True if the selection is a single weight."""
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
            parts = [(start, index - start), (index + 1, start + count - index - 1)]
            picked += parts if start <= index < start + count else [(start, count)]
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
