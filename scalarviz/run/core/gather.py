"""Gather the weights of a model in one store, name them and give them back; and find its stages."""

from __future__ import annotations

import re
import weakref
from bisect import bisect, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import first_of
from ...checks import position
from ...errors import InputError, TypeMismatchError, UnknownNameError, listing, shown, typed
from ...nn import Flatten, Module
from ...nn._buffer import Buffer
from ...nn.init import Law, drawn, laws, without_rule
from ...scalar.store import Block, Store
from ...scalar.weight import Weight
from ...tape import Tape
from ...tape.passes import readers_of
from ..validation import Shape
from .tensors import Role, Stage, Tensor


def blocks_of(model: Any) -> list[Block]:
    """Return the parameter blocks of a module, in order; empty for a plain function."""
    return as_blocks(asked(model, "parameters"))


def asked(model: Any, method: str) -> list[Any]:
    """Return the list that a module's method returns; empty for a plain function, which has no such method."""
    found = getattr(model, method, None)
    return list(found()) if callable(found) else []


def buffers_in(model: Any) -> dict[str, Any]:
    """Return a module's buffers that its graph reads from the store, by path, each once; empty for a plain function."""
    found = model._buffers("", True) if isinstance(model, Module) else ()
    return {name: part for name, part in found if isinstance(part, Buffer)}


def drawn_weights(
    model: Any, tape: Tape, seed: int, by_hand: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return flat weights (P,) from their initialisers, buffers at their start, and which of them are known.

    `by_hand`: include weights that were made by hand; PyTorch's default rule draws them.
    """
    start_of, module = starts(tape), isinstance(model, Module)
    begun: dict[Any, Any] = drawn(model, seed) if module else {}
    begun |= {block: block.first for block in tape.blocks if isinstance(block, Buffer)}
    lone = set() if by_hand or not module else set(without_rule(model))
    values, known = np.zeros(tape.n_parameters), np.zeros(tape.n_parameters, bool)
    for part, found in begun.items():
        (block,) = as_blocks([part])
        if block in start_of and part not in lone:
            start = start_of[block] + int(getattr(part, "_index", 0))
            values[start : start + found.size], known[start : start + found.size] = np.ravel(found), True
    return values, known


def laws_of_weights(model: Any, tape: Tape) -> list[tuple[int, Law]]:
    """Return the laws of the first weights of a module, and the start of each in theta."""
    start_of, found = starts(tape), list[tuple[int, Law]]()
    for part, law in (laws(model) if isinstance(model, Module) else {}).items():
        (block,) = as_blocks([part])
        if block in start_of:
            found.append((start_of[block] + int(getattr(part, "_index", 0)), law))
    return found


def constants_of(model: Any) -> dict[str, NDArray[Any]]:
    """Return copies of a module's other buffers (user arrays) by name; empty for a plain function."""
    found = model._buffers("", False) if isinstance(model, Module) else ()
    return {name: part.copy() for name, part in found if isinstance(part, np.ndarray)}


def without_constants(model: Any, saved: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the entries of `saved` that are not constants of `model`; InputError if a constant differs."""
    own = constants_of(model)
    differing = [name for name, array in own.items() if name in saved and not np.array_equal(saved[name], array)]
    if differing:
        raise InputError(
            f"the saved numbers of {listing(differing)} differ from the model's, and a Run holds them as constants; "
            "call net.load_state_dict(...) with the saved numbers before you make the Run"
        )
    return {name: array for name, array in saved.items() if name not in own}


def as_blocks(parameters: Iterable[Any]) -> list[Block]:
    """Return the blocks of Parameters and Weights, each once; InputError for anything else."""
    found: dict[Block, None] = {}
    for parameter in parameters:
        block = parameter._block if isinstance(parameter, Weight) else parameter
        if not isinstance(block, Block):
            raise InputError(f"parameters must be Parameters or Weights, got {type(parameter)!r}")
        found[block] = None
    return list(found)


def starts(tape: Tape) -> dict[Block, int]:
    """Return the start of each block of the tape in theta."""
    return dict(zip(tape.blocks, accumulate((block.size for block in tape.blocks), initial=0), strict=False))


def gather(blocks: Iterable[Block], dtype: str, owner: Any) -> Store:
    """Move `blocks` into one new store that belongs to `owner`."""
    blocks = list(blocks)
    store = Store(sum(b.size for b in blocks), np.dtype(dtype))
    store.owner = weakref.ref(owner)
    start = 0
    for block in blocks:
        block._move(store, start)
        start += block.size
    return store


def owners_of(blocks: Iterable[Block]) -> list[Any]:
    """Return the living runs that train some of `blocks`, each once."""
    owners = (block.store.owner() for block in blocks if block.store.owner is not None)
    return list(dict.fromkeys(owner for owner in owners if owner is not None))


def release(blocks: Iterable[Block], store: Store) -> None:
    """Give every block in `store` a float64 store of its own."""
    for block in blocks:
        if block.store is store:
            block._move(Store(block.size), 0)


def tensors_of(blocks: Iterable[Block], names: Mapping[Block, str]) -> tuple[Tensor, ...]:
    """Return a Tensor for each block in the flat arrays; blocks without an entry in `names` use their own name."""
    tensors: list[Tensor] = []
    taken: Counter[str] = Counter()
    start = 0
    for k, block in enumerate(blocks):
        name = names.get(block) or _name(block, k)
        shape = getattr(block, "shape", () if block.size == 1 else (block.size,))
        lone: Role = "bias" if name.rpartition(".")[2] == "bias" else "value"
        role: Role = getattr(block, "role", lone)  # a Parameter knows its role, a lone Weight only its name
        taken[name] += 1
        if taken[name] > 1:  # two layers in a function have no different paths
            name += f" ({taken[name]})"
        tensors.append(Tensor(name, shape, start, role))
        start += block.size
    return tuple(tensors)


def _name(block: Block, number: int) -> str:
    name = getattr(block, "name", "") or (block.weight(0).name if block.size else "")
    return name or f"parameter {number}"


def weight_name(tensors: Sequence[Tensor], index: int) -> str:
    """Return the name of the scalar at flat `index`, such as ``0.weight[4][2]``; InputError if there is none."""
    for tensor in tensors:
        if tensor.start <= index < tensor.start + tensor.size:
            place = np.unravel_index(index - tensor.start, tensor.shape) if tensor.shape else ()
            return tensor.name + "".join(f"[{int(i)}]" for i in place)
    raise InputError(f"there is no weight {index}; allowed: 0 to {sum(t.size for t in tensors) - 1}")


# ---- Find a weight by a Weight, a printed name, or a flat index


_DOTTED = re.compile(r"\.(\d{1,9})(?=[.\[]|\Z)")
_PLACES = re.compile(r"(?:\[\d{1,9}\])*\Z")


def index_of(tensors: Sequence[Tensor], tape: Tape, given: Any) -> int:
    """Return the flat index of a weight, given as a Weight, a name or an index; negative indices count from the end."""
    if isinstance(given, Weight):
        start = starts(tape).get(given._block)
        if start is not None:
            return start + given._index
        raise InputError(f"{shown(given)} is not a weight of this run; allowed: {_names(tensors)}")
    if isinstance(given, str):
        return _named(tensors, given)
    if isinstance(given, Block):
        start = starts(tape).get(given)
        name = next((t.name for t in tensors if start is not None and t.start <= start < t.start + t.size), "")
        raise TypeMismatchError(f"{name or 'the Parameter'} is not one weight; try {_example(tensors, name)}")
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return position(given, sum(t.size for t in tensors), "weights")
    raise TypeMismatchError(
        f"a weight must be a Weight, a name such as {weight_name(tensors, 0)!r}, or a flat index, got {typed(given)}"
    )


def _named(tensors: Sequence[Tensor], name: str) -> int:
    text = name.strip()
    for said in (text, _DOTTED.sub(r"[\1]", text)):  # a Weight of a list calls itself w.3.5
        found = _place_in(tensors, said, name)
        if found is not None:
            return found
    close = get_close_matches(text.partition("[")[0], [t.name for t in tensors], 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise UnknownNameError(f"there is no weight {shown(name)}; allowed: {_names(tensors)}{hint}")


def _place_in(tensors: Sequence[Tensor], text: str, name: str) -> int | None:
    """Return the flat index of the weight that `text` names (`name` in messages), or None if no tensor fits."""
    for tensor in sorted(tensors, key=lambda t: -len(t.name)):
        rest = text.removeprefix(tensor.name)
        if (rest == text and tensor.name) or not _PLACES.match(rest):
            continue
        place = tuple(int(i) for i in re.findall(r"\d+", rest))
        if not place and tensor.size == 1:
            return tensor.start
        if len(place) != len(tensor.shape):
            raise InputError(
                f"{shown(name)}: {tensor.name} has the shape {tensor.shape}, so its weights have {len(tensor.shape)} "
                f"indices after the name, such as {_example(tensors, tensor.name)}"
            )
        if any(i >= side for i, side in zip(place, tensor.shape, strict=True)):
            raise InputError(f"{shown(name)}: {tensor.name} has the shape {tensor.shape}; indices start at 0")
        return tensor.start + int(np.ravel_multi_index(place, tensor.shape)) if place else tensor.start
    return None


def _example(tensors: Sequence[Tensor], name: str) -> str:
    tensor = next((t for t in tensors if t.name == name), tensors[0])
    return weight_name(tensors, tensor.start + tensor.size - 1)


def _names(tensors: Sequence[Tensor]) -> str:
    return first_of((t.name + "".join(f"[0..{side - 1}]" for side in t.shape) for t in tensors), 8)


# ---- The stages of a traced model, for the picture


class MadeOf:
    """Finds the stages that a row depends on: the first one on each way back.

    A set is kept for a row that was asked for or that more than one row reads. Any other row hands its set to its
    reader, which adds to it: a sum of a hundred thousand modules needs one set, not as many.
    """

    def __init__(self, tape: Tape) -> None:
        self._nodes, self._readers = tape.nodes, readers_of(tape)
        self.owner = dict.fromkeys(range(tape.n_inputs), 0)
        self._known: dict[int, frozenset[int]] = {}  # of rows without a stage that were asked for or have more readers
        self._order: list[int] = []  # these rows, ascending
        self._same: dict[frozenset[int], frozenset[int]] = {}  # many rows depend on the same stages and share one set

    def claim(self, rows: Sequence[int], stage: int) -> None:
        """Assign rows without a stage to `stage`."""
        new = [row for row in rows if row not in self.owner]
        self.owner.update(dict.fromkeys(new, stage))
        outdated = bisect(self._order, min(new, default=len(self._nodes)) - 1)  # these were found through the new rows
        for row in self._order[outdated:]:
            del self._known[row]
        del self._order[outdated:]

    def stages(self, rows: Sequence[int]) -> list[int]:
        """Return the stages of all `rows`, ascending."""
        asked, passing = set(rows), dict[int, set[int]]()  # a set that is read once belongs to its reader
        layers: dict[int, frozenset[int]] = {}  # the rows of a layer share one tuple of operands
        for row in sorted(self._unknown(asked)):
            reads = self._nodes[row].operands()
            wide = len(reads) > 2 and reads is self._nodes[row].args
            known = layers.get(id(reads)) if wide else None
            if known is None:
                made = self._joined(reads, passing)
                if self._readers[row] == 1 and row not in asked and not wide:
                    passing[row] = made
                    continue
                known = frozenset(made)
                known = self._same.setdefault(known, known)
                if wide:
                    layers[id(reads)] = known
            self._known[row] = known
            insort(self._order, row)
        return sorted(self._joined(asked, passing))

    def _unknown(self, rows: Iterable[int]) -> set[int]:
        """Return the rows on the ways back from `rows` to stages and to what is known."""
        found, waiting, layers = set[int](), list(rows), set[int]()
        while waiting:
            row = waiting.pop()
            if row in found or row in self.owner or row in self._known:
                continue
            found.add(row)
            reads = self._nodes[row].operands()
            if reads is self._nodes[row].args:
                if id(reads) in layers:
                    continue
                layers.add(id(reads))
            waiting += reads
        return found

    def _joined(self, rows: Iterable[int], passing: dict[int, set[int]]) -> set[int]:
        """Return the stages of all `rows`; sets that `passing` holds for them are taken out and used up."""
        made = set[int]()
        for row in rows:
            stage = self.owner.get(row)
            if stage is not None:
                made.add(stage)
            elif row in self._known:
                made |= self._known[row]
            else:
                small, made = sorted((made, passing.pop(row)), key=len)
                made |= small
        return made


# ---- Finding stages


OUTPUTS = -1
"""Instead of a tap's number: the model's own output."""
INPUT, OUTPUT = "input", "output"

Rows = tuple[int, ...]


def stages_of(model: Any, tape: Tape, tensors: Sequence[Tensor], shape: Shape) -> list[tuple[Stage, int]]:
    """Return the stages in the order of the tape, each with the number of its tap, or `OUTPUTS`.

    A stage is the new output of one call of a module or function. A call that only reshapes, selects or passes on is
    no stage, nor is a module that does no more than the modules it calls.
    """
    finder = _Finder(model, tape, tensors, shape)
    for number, (module, rows) in enumerate(tape.taps):
        finder.add(module, rows, number)
    finder.add(None, tape.outputs, OUTPUTS)
    return finder.stages


class _Finder:
    """Goes through the taps of a tape; knows the stage of each row and its current shape."""

    def __init__(self, model: Any, tape: Tape, tensors: Sequence[Tensor], shape: Shape) -> None:
        self.tape, self.model = tape, model
        self.names = {id(module): name for name, module in asked(model, "named_modules")}
        self.tensor_of = dict(zip(tape.blocks, tensors, strict=True))
        self.stages: list[tuple[Stage, int]] = []
        self.made_of = MadeOf(tape)
        self.owner = self.made_of.owner
        self.stage_names = [INPUT]
        self.rows: dict[str, Rows] = {INPUT: tuple(range(tape.n_inputs))}
        self.shape: dict[str, Shape] = {INPUT: shape}

    def add(self, module: Any, rows: Rows, number: int) -> None:
        """Add a stage for one call, or for the end, if it made new rows."""
        if all(row in self.owner for row in rows):
            self._passed_on(module, rows)
            return
        sources = tuple(self.stage_names[stage] for stage in self.made_of.stages(rows))
        if not sources and number != OUTPUTS:
            return  # from weights and constants alone
        kind = self._kind(module, rows, sources)
        before = self.shape[sources[0]] if len(sources) == 1 else ()
        made = _made_shape(module, before, len(rows))
        weight, bias = (self._tensor(module, n) if kind == "linear" else None for n in ("weight", "bias"))
        if kind == "linear" and len(sources) > 1:  # passed-on rows among new ones: one stage has all
            read = self.tape.nodes[rows[0]].args
            sources = next(((name,) for name in reversed(sources) if self.rows[name] == read), sources)
        name = self._name(module)
        whole = kind != "linear" or self._whole(self.tape.nodes[rows[0]].args, sources)
        self.stages.append((Stage(name, kind, len(rows), weight, bias, made, before, sources, whole), number))
        self.rows[name], self.shape[name] = rows, made
        self.made_of.claim(rows, len(self.stage_names))
        self.stage_names.append(name)

    def _passed_on(self, module: Any, rows: Rows) -> None:
        """Note a new shape of a stage's rows for the next module."""
        name = self.stage_names[self.owner[rows[0]]] if rows else ""
        if self.rows.get(name) == rows:
            now = self.shape[name]
            flat = module.flat_shape(now) if isinstance(module, Flatten) else getattr(module, "unflattened_size", now)
            self.shape[name] = flat

    def _kind(self, module: Any, rows: Rows, sources: Sequence[str]) -> str:
        own: str | None = getattr(module, "stage", None)
        if own is not None:
            return own
        nodes = [self.tape.nodes[row] for row in rows]
        before = self.rows[sources[0]] if len(sources) == 1 else ()
        if isinstance(getattr(module, "weight", None), Block) and all(
            node.code == "dot" and node.args == nodes[0].args for node in nodes
        ):
            return "linear"
        codes = {node.code for node in nodes}
        one_by_one = len(rows) == len(before) and all(n.args[:1] == (r,) for n, r in zip(nodes, before, strict=True))
        if len(codes) == 1 and one_by_one:
            return codes.pop()
        if codes == {"add"} and all(row in self.owner for node in nodes for row in node.args):
            return "add"
        return "function" if module is None else type(module).__name__.lower()

    def _whole(self, read: Rows, sources: Sequence[str]) -> bool:
        """Return whether a layer reads all rows of its sources in order, as the picture draws its columns."""
        if len(sources) > len(read):
            return False
        return read == tuple(row for name in sources for row in self.rows[name])

    def _tensor(self, module: Any, name: str) -> Tensor | None:
        block = getattr(module, name, None)
        return self.tensor_of.get(block) if isinstance(block, Block) else None

    def _name(self, module: Any) -> str:
        path = self.names.get(id(module), "") or OUTPUT
        if module is not None and id(module) not in self.names:  # created in the forward pass
            path = type(module).__name__.lower()
        if module is self.model and not asked(module, "children"):
            path = self.names.get(id(module), "")  # a network of one layer has no path: ""
        count, name = 1, path
        while name in self.rows:
            count += 1
            name = f"{path} ({count})" if path else f"({count})"
        return name


def _made_shape(module: Any, before: Shape, count: int) -> Shape:
    """Return the shape of a module's `count` outputs for a sample of shape `before`; a row if unknown."""
    if hasattr(module, "made_shape") and len(before) == module.dimensions + 1:
        made: Shape = module.made_shape(before)
        return made if prod(made) == count and min(made) > 0 else (count,)
    return before if before and prod(before) == count else (count,)
