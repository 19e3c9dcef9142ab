"""The stages of a recorded model, for the picture: what each module made, and from what."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...nn import Flatten
from ...scalar.store import Block
from ...tape import Node, Tape
from ..checks import Shape
from .frame import Stage, Tensor

Stages = frozenset[int]


class MadeOf:
    """Goes back from rows to the stages that each way meets first. A row is passed once, however many ask.

    What is found is kept where ways part, at rows that several read: a wide sum is passed in one go. The
    first `inputs` rows are those of stage 0, the sample; `owner` has the stage that each row belongs to.
    """

    def __init__(self, nodes: Sequence[Node], inputs: int) -> None:
        self._nodes = nodes
        self.owner = dict.fromkeys(range(inputs), 0)
        self._found: dict[int, Stages] = dict.fromkeys(range(inputs), frozenset((0,)))
        self._same: dict[Stages, Stages] = {}  # the rows of a stream are made of the same, and hold one set
        self._of_layer: dict[int, Stages] = {}  # the rows of a layer share one tuple of operands
        self._several = _read_by_several(nodes)
        self._passed = bytearray(len(nodes))
        self._furthest = 0

    def claim(self, rows: Sequence[int], stage: int) -> None:
        """The rows that belong to nobody belong to `stage` from now on."""
        new = [row for row in rows if row not in self.owner]
        self.owner.update(dict.fromkeys(new, stage))
        self._forget_above(new)
        self._found.update(dict.fromkeys(new, frozenset((stage,))))

    def _forget_above(self, rows: Sequence[int]) -> None:
        """What has been found through these holds no more."""
        passed = [row for row in rows if self._passed[row]]
        if passed:
            for row in range(min(passed), self._furthest + 1):
                if row not in self.owner:
                    self._found.pop(row, None)
            self._of_layer.clear()

    def stages(self, rows: Sequence[int]) -> list[int]:
        """The stages of all `rows`, ascending."""
        return sorted(frozenset[int]().union(*{self._of(row) for row in rows}))

    def _of(self, top: int) -> Stages:
        found, waiting = self._found, [top]
        self._furthest = max(self._furthest, top)
        while waiting:
            row = waiting[-1]
            if row not in found:
                args = self._nodes[row].args
                made = self._of_layer.get(id(args))
                if made is None:
                    before, made = self._gathered(row)
                    if before:
                        waiting += before
                        continue
                    if self._nodes[row].terms is not None and self._nodes[row].operands() is args:
                        self._of_layer[id(args)] = made
                self._passed[row] = 1
                found[row] = made
            waiting.pop()
        return found[top]

    def _gathered(self, top: int) -> tuple[list[int], Stages]:
        """What a row is made of; or rows for which that has to be found before."""
        found, nodes, passed, several = self._found, self._nodes, self._passed, self._several
        before: list[int] = []
        made: set[int] = set()
        last: Stages = frozenset()
        stack = list(nodes[top].operands())
        while stack:
            row = stack.pop()
            below = found.get(row)
            if below is not None:
                if below is not last:
                    made |= below
                    last = below
            elif several[row]:
                before.append(row)
            else:
                passed[row] = 1
                stack += nodes[row].operands()
        stages = frozenset(() if before else made)
        return before, self._same.setdefault(stages, stages)


def _read_by_several(nodes: Sequence[Node]) -> bytearray:
    """Which rows are operands of several nodes; a layer counts once."""
    once, several = bytearray(len(nodes)), bytearray(len(nodes))
    seen: set[int] = set()
    for node in nodes:
        operands = node.operands()
        if len(operands) > 2 and operands is node.args:
            if id(operands) in seen:
                continue
            seen.add(id(operands))
        for row in operands:
            if once[row]:
                several[row] = 1
            once[row] = 1
    return several


# ---- Finding the stages of a recorded model, for the picture: what each module made, and from what


OUTPUTS = -1
"""In the place of a tap's number: what the model itself returns."""
INPUT, OUTPUT = "input", "output"

Rows = tuple[int, ...]


def stages_of(model: Any, tape: Tape, tensors: Sequence[Tensor], shape: Shape) -> list[tuple[Stage, int]]:
    """The stages in the order of the tape, each with the number of its tap, or `OUTPUTS`.

    A stage is what one call of a module returned, if it is new: what only reshapes, selects or passes on is
    none. A module that calls others is one where it does more than they do (a residual's sum); so is what a
    function returns by itself. `shape` is that of one sample.
    """
    finder = _Finder(model, tape, tensors, shape)
    for number, (module, rows) in enumerate(tape.taps):
        finder.add(module, rows, number)
    finder.add(None, tape.outputs, OUTPUTS)
    return finder.stages


class _Finder:
    """Goes through the taps of a tape; knows which stage made each row, and in which shape it stands now."""

    def __init__(self, model: Any, tape: Tape, tensors: Sequence[Tensor], shape: Shape) -> None:
        self.tape, self.model = tape, model
        self.names = {id(module): name for name, module in _named_modules(model)}
        self.tensor_of = dict(zip(tape.blocks, tensors, strict=True))
        self.stages: list[tuple[Stage, int]] = []
        self.made_of = MadeOf(tape.nodes, tape.n_inputs)
        self.owner = self.made_of.owner
        self.called = [INPUT]
        self.rows: dict[str, Rows] = {INPUT: tuple(range(tape.n_inputs))}
        self.shape: dict[str, Shape] = {INPUT: shape}

    def add(self, module: Any, rows: Rows, number: int) -> None:
        """One call, or the end: a stage of its own if it made anything new."""
        if all(row in self.owner for row in rows):
            self._passed_on(module, rows)
            return
        sources = tuple(self.called[stage] for stage in self.made_of.stages(rows))
        if not sources and number != OUTPUTS:
            return  # made of weights and constants alone: no sample comes by
        kind = self._kind(module, rows, sources)
        before = self.shape[sources[0]] if len(sources) == 1 else ()
        made = _shape(module, before, len(rows))
        weight, bias = (self._tensor(module, n) if kind == "linear" else None for n in ("weight", "bias"))
        if (
            kind == "linear" and len(sources) > 1
        ):  # rows that are passed on stand among new ones: one stage has them all
            read = self.tape.nodes[rows[0]].args
            sources = next(((name,) for name in reversed(sources) if self.rows[name] == read), sources)
        name = self._name(module)
        whole = kind != "linear" or self._whole(self.tape.nodes[rows[0]].args, sources)
        self.stages.append((Stage(name, kind, len(rows), weight, bias, made, before, sources, whole), number))
        self.rows[name], self.shape[name] = rows, made
        self.made_of.claim(rows, len(self.called))
        self.called.append(name)

    def _passed_on(self, module: Any, rows: Rows) -> None:
        """Nothing new: what reshapes a stage's rows says in which shape the next module gets them."""
        name = self.called[self.owner[rows[0]]] if rows else ""
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
        """Whether a layer reads its sources' rows one after the other, as the picture draws its columns."""
        if len(sources) > len(read):
            return False
        return read == tuple(row for name in sources for row in self.rows[name])

    def _tensor(self, module: Any, name: str) -> Tensor | None:
        block = getattr(module, name, None)
        return self.tensor_of.get(block) if isinstance(block, Block) else None

    def _name(self, module: Any) -> str:
        path = self.names.get(id(module), "") or OUTPUT
        if module is not None and id(module) not in self.names:  # made by the forward pass itself
            path = type(module).__name__.lower()
        if module is self.model and not _children(module):
            path = self.names.get(id(module), "")  # a network of one layer has no path: ""
        count, name = 1, path
        while name in self.rows:
            count += 1
            name = f"{path} ({count})" if path else f"({count})"
        return name


def _shape(module: Any, before: Shape, count: int) -> Shape:
    """The shape of `count` numbers that a module makes of a sample of the shape `before`; a row if it cannot say.

    It cannot where the model's own code pads or crops the picture between two modules.
    """
    if hasattr(module, "made_shape") and len(before) == module.dimensions + 1:
        made: Shape = module.made_shape(before)
        return made if prod(made) == count and min(made) > 0 else (count,)
    return before if before and prod(before) == count else (count,)


def _named_modules(model: Any) -> Any:
    named = getattr(model, "named_modules", None)
    return named() if callable(named) else ()


def _children(module: Any) -> list[Any]:
    children = getattr(module, "children", None)
    return list(children()) if callable(children) else []
