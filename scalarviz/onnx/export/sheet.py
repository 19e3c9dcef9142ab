"""`Sheet`: the nodes and constants of a graph that is being written, with names that nobody else has."""

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
"""What the weights are called in the file, and their numbers."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """What a node makes."""

    name: str
    shape: Shape  # of one sample; axis 0 of the tensor stands before it
    lanes: bool = True  # axis 0 has a place for each of the N samples; else it has length 1, the same for all


Operand = Tensor | str | float
"""A tensor; what has no axis of samples (a weight, a shape), by its name; a number."""


class Sheet:
    """A graph that grows; the axis of the samples is the first of its tensors, or with `last` the last."""

    def __init__(self, known: Known, dtype: str, last: bool = False) -> None:
        self.known, self.dtype, self.last = known, np.dtype(dtype), last
        self.exact = last and self.dtype == np.float64  # no number of a training step is rounded to float32
        self.numbered = 0 if last else 1  # the axis behind which a sample's own begin, as `Tensor.shape` has them
        self.nodes: list[Node] = []
        self.constants: dict[str, Array] = {}  # the weights that are used; what no one trains is a `Constant` node
        self.scope = ""  # whose nodes are being written: the beginning of their names
        self.first = ""
        self.taken = {name for name, _ in known.values()} | {""}
        self.whole: set[str] = set()  # inputs that are int64
        self._numbers: dict[tuple[Any, ...], str] = {}
        self._made: dict[tuple[Any, ...], Any] = {}

    # ---- names

    @contextmanager
    def in_scope(self, scope: str) -> Iterator[None]:
        """Within it the names of nodes begin with that of a module."""
        before, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = before

    def named(self, wish: str) -> str:
        """A name that nothing has yet."""
        name, count = wish, 1
        while name in self.taken:
            count += 1
            name = f"{wish}_{count}"
        self.taken.add(name)
        return name

    def input(self, name: str, shape: Shape) -> Tensor:
        """What the file gets; axis 0 of the first tells how many samples there are."""
        tensor = Tensor(self.named(name), shape)
        self.first = self.first or tensor.name
        return tensor

    # ---- what is known

    def weight(self, block: Block) -> str:
        """A parameter or buffer, in its own shape, under its own name."""
        name, array = self.known[block]
        if name not in self.constants:
            with np.errstate(over="ignore"):
                made = array.astype(self.dtype)
            if np.isfinite(array).sum() > np.isfinite(made).sum():
                raise InputError(f"to_onnx: a number of {name!r} is too large for {self.dtype}; try dtype='float64'")
            self.constants[name] = made
        return name

    def numbers(self, array: Any) -> str:
        """Numbers in the file's dtype; equal ones stand there once."""
        return self._constant(np.asarray(array, self.dtype), "number")

    def integers(self, array: Any) -> str:
        """Shapes, axes and places."""
        return self._constant(np.asarray(array, np.int64), "place")

    def _constant(self, array: Array, wish: str) -> str:
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._numbers:
            name = self._numbers[key] = self.named(wish)
            self.nodes.append(Node("Constant", (), (name,), {"value": array}, name))
        return self._numbers[key]

    # ---- nodes

    def node(self, operator: str, *operands: Operand, shape: Shape, lanes: bool | None = None, **more: Any) -> Tensor:
        """A node and what it makes."""
        if lanes is None:
            lanes = any(isinstance(x, Tensor) and x.lanes for x in operands)
        return Tensor(self.fixed(operator, *operands, **more), shape, lanes)

    def fixed(self, operator: str, *operands: Operand, **more: Any) -> str:
        """A node of which no axis is that of the samples, as the transpose of a weight; the name of what it makes."""
        return self.several(operator, 1, *operands, **more)[0]

    def several(self, operator: str, count: int, *operands: Operand, **more: Any) -> list[str]:
        """A node that makes so many tensors; their names."""
        name = self.named(f"{self.scope}/{operator}" if self.scope else operator)
        outputs = [name, *(self.named(f"{name}_output") for _ in range(count - 1))]
        self.nodes.append(Node(operator, tuple(map(self._name, operands)), tuple(outputs), more, name))
        return outputs

    def _name(self, operand: Operand) -> str:
        if isinstance(operand, Tensor):
            return operand.name
        return operand if isinstance(operand, str) else self.numbers(operand)

    def reshaped(self, x: Tensor, shape: Shape) -> Tensor:
        """The same numbers of each sample, in C order, in another shape."""
        if x.shape == shape:
            return x
        key, sides = ("reshaped", x.name, shape), self.sided(shape, -1 if self.last else 0)
        if shape == (prod(x.shape),) and not self.last:
            return self.cached(key, lambda: self.node("Flatten", x, shape=shape, axis=1))
        return self.cached(key, lambda: self.node("Reshape", x, self.integers(sides), shape=shape))

    def turned(self, weight: str) -> str:
        """The transpose of a matrix of weights."""
        return self.cached(("turned", weight), lambda: self.fixed("Transpose", weight, perm=(1, 0)))

    def flat(self, block: Block) -> Tensor:
        """A weight as a row, the same for every sample."""
        name, sides = self.weight(block), self.integers(self.sided((-1,), 1))
        return Tensor(
            self.cached(("flat", name), lambda: self.fixed("Reshape", name, sides)), (block.size,), lanes=False
        )

    def sided(self, shape: Shape, samples: int) -> Shape:
        """A shape with the axis of the samples."""
        return (*shape, samples) if self.last else (samples, *shape)

    def count(self) -> str:
        """How many samples there are, shape (1,)."""
        return self.cached(("count", self.first), lambda: self.fixed("Shape", self.first, start=0, end=1))

    def samples(self) -> str:
        """The same as a number of the file's dtype."""
        return self.cached(("samples", self.count()), lambda: self.fixed("Cast", self.count(), to=self.dtype_code))

    @property
    def dtype_code(self) -> int:
        """ONNX's number of the file's dtype."""
        return FLOAT if self.dtype.itemsize == 4 else DOUBLE

    def spread(self, x: Tensor) -> Tensor:
        """What is the same for all samples, once for each of them."""
        if x.lanes:
            return x
        ones = self.integers((1,) * len(x.shape))
        sides = (ones, self.count()) if self.last else (self.count(), ones)
        many = self.cached(("sides", *sides), lambda: self.fixed("Concat", *sides, axis=0))
        key = ("spread", x.name, x.shape, many)
        return self.cached(key, lambda: self.node("Expand", x, many, shape=x.shape, lanes=True))

    def ids(self, x: Tensor) -> Tensor:
        """The numbers as int64; an input that is nothing else is that already."""
        if x.name in self.whole:
            return x
        return self.cached(("ids", x.name), lambda: self.node("Cast", x, shape=x.shape, to=INT64))

    def cached(self, key: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        """What `make` makes, the first time; nodes of no module."""
        if key not in self._made:
            with self.in_scope(""):
                self._made[key] = make()
        made: Made = self._made[key]
        return made


FLOAT, INT64, BOOL, DOUBLE = 1, 7, 9, 11
"""ONNX's numbers of types."""
