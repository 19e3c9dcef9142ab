"""`Sheet`: nodes and constants of a graph that is being written, with unique names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...scalar.store import Block
from ..graph import Array, Node

Shape = tuple[int, ...]
Made = TypeVar("Made")
Known = Mapping[Block, tuple[str, NDArray[Any]]]
"""Name in the file and numbers of each weight."""


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a node."""

    name: str
    shape: Shape  # of one sample, without axis 0 of the tensor
    lanes: bool = True  # axis 0 has the N samples; otherwise length 1, the same for all


Operand = Output | str | float
"""A tensor; the name of one without an axis of samples (a weight, a shape); or a number."""


class Sheet:
    """A graph that is being written; samples are the first axis of its tensors, or with `last` the last one."""

    def __init__(self, known: Known, dtype: str, last: bool = False) -> None:
        self.known, self.dtype, self.last = known, np.dtype(dtype), last
        self.exact = last and self.dtype == np.float64  # no number of a training step is rounded to float32
        self.numbered = 0 if last else 1  # the first axis of a sample's own, as in `Output.shape`
        self.nodes: list[Node] = []
        self.constants: dict[str, Array] = {}  # the used weights; other constants are `Constant` nodes
        self.scope = ""  # module whose nodes are being written: the start of their names
        self.first = ""
        self.taken = {name for name, _ in known.values()} | {""}
        self.whole: set[str] = set()  # inputs with dtype int64
        self._numbers: dict[tuple[Any, ...], str] = {}
        self._made: dict[tuple[Any, ...], Any] = {}

    # ---- names

    @contextmanager
    def in_scope(self, scope: str) -> Iterator[None]:
        """Prefix the names of nodes in the block with the path of a module."""
        before, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = before

    def named(self, wish: str) -> str:
        """Return `wish` or a variant that is not used yet."""
        name, count = wish, 1
        while name in self.taken:
            count += 1
            name = f"{wish}_{count}"
        self.taken.add(name)
        return name

    def input(self, name: str, shape: Shape) -> Output:
        """Add an input; axis 0 of the first one gives the number of samples."""
        tensor = Output(self.named(name), shape)
        self.first = self.first or tensor.name
        return tensor

    # ---- constants

    def weight(self, block: Block) -> str:
        """Return the name of a parameter or buffer, in its own shape."""
        name, array = self.known[block]
        if name not in self.constants:
            with np.errstate(over="ignore"):
                made = array.astype(self.dtype)
            if np.isfinite(array).sum() > np.isfinite(made).sum():
                raise InputError(f"to_onnx: a number of {name!r} is too large for {self.dtype}; try dtype='float64'")
            self.constants[name] = made
        return name

    def numbers(self, array: Any) -> str:
        """Return the name of a constant in the file's dtype; equal ones are stored once."""
        return self._constant(np.asarray(array, self.dtype), "number")

    def integers(self, array: Any) -> str:
        """Return the name of an int64 constant: shapes, axes, indices."""
        return self._constant(np.asarray(array, np.int64), "place")

    def _constant(self, array: Array, wish: str) -> str:
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._numbers:
            name = self._numbers[key] = self.named(wish)
            self.nodes.append(Node("Constant", (), (name,), {"value": array}, name))
        return self._numbers[key]

    # ---- nodes

    def node(self, operator: str, *operands: Operand, shape: Shape, lanes: bool | None = None, **more: Any) -> Output:
        """Add a node and return its output."""
        if lanes is None:
            lanes = any(isinstance(x, Output) and x.lanes for x in operands)
        return Output(self.fixed(operator, *operands, **more), shape, lanes)

    def fixed(self, operator: str, *operands: Operand, **more: Any) -> str:
        """Add a node without an axis of samples, such as the transpose of a weight; return the name of its output."""
        return self.several(operator, 1, *operands, **more)[0]

    def several(self, operator: str, count: int, *operands: Operand, **more: Any) -> list[str]:
        """Add a node with `count` outputs; return their names."""
        name = self.named(f"{self.scope}/{operator}" if self.scope else operator)
        outputs = [name, *(self.named(f"{name}_output") for _ in range(count - 1))]
        self.nodes.append(Node(operator, tuple(map(self._name, operands)), tuple(outputs), more, name))
        return outputs

    def _name(self, operand: Operand) -> str:
        if isinstance(operand, Output):
            return operand.name
        return operand if isinstance(operand, str) else self.numbers(operand)

    def reshaped(self, x: Output, shape: Shape) -> Output:
        """Return the same numbers of each sample, in C order, in another shape."""
        if x.shape == shape:
            return x
        key, sides = ("reshaped", x.name, shape), self.sided(shape, -1 if self.last else 0)
        if shape == (prod(x.shape),) and not self.last:
            return self.cached(key, lambda: self.node("Flatten", x, shape=shape, axis=1))
        return self.cached(key, lambda: self.node("Reshape", x, self.integers(sides), shape=shape))

    def turned(self, weight: str) -> str:
        """Return the transpose of a weight matrix."""
        return self.cached(("turned", weight), lambda: self.fixed("Transpose", weight, perm=(1, 0)))

    def flat(self, block: Block) -> Output:
        """Return a weight as a row, the same for every sample."""
        name, sides = self.weight(block), self.integers(self.sided((-1,), 1))
        row = self.cached(("flat", name), lambda: self.fixed("Reshape", name, sides))
        return Output(row, (block.size,), lanes=False)

    def sided(self, shape: Shape, samples: int) -> Shape:
        """Return a shape with the axis of the samples."""
        return (*shape, samples) if self.last else (samples, *shape)

    def count(self) -> str:
        """Return the number of samples, shape (1,)."""
        return self.cached(("count", self.first), lambda: self.fixed("Shape", self.first, start=0, end=1))

    def samples(self) -> str:
        """Return the number of samples in the file's dtype."""
        return self.cached(("samples", self.count()), lambda: self.fixed("Cast", self.count(), to=self.dtype_code))

    @property
    def dtype_code(self) -> int:
        """ONNX's number of the file's dtype."""
        return FLOAT if self.dtype.itemsize == 4 else DOUBLE

    def spread(self, x: Output) -> Output:
        """Repeat a tensor that is the same for all samples once per sample."""
        if x.lanes:
            return x
        ones = self.integers((1,) * len(x.shape))
        sides = (ones, self.count()) if self.last else (self.count(), ones)
        many = self.cached(("sides", *sides), lambda: self.fixed("Concat", *sides, axis=0))
        key = ("spread", x.name, x.shape, many)
        return self.cached(key, lambda: self.node("Expand", x, many, shape=x.shape, lanes=True))

    def ids(self, x: Output) -> Output:
        """Return the numbers as int64; an int64 input is returned unchanged."""
        if x.name in self.whole:
            return x
        return self.cached(("ids", x.name), lambda: self.node("Cast", x, shape=x.shape, to=INT64))

    def cached(self, key: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        """Return the result of `make`, called at the first use of `key`; its nodes belong to no module."""
        if key not in self._made:
            with self.in_scope(""):
                self._made[key] = make()
        made: Made = self._made[key]
        return made


FLOAT, INT64, BOOL, DOUBLE = 1, 7, 9, 11
"""ONNX's numbers of types."""
