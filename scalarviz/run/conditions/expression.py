"""`Expression`: a text that was read, as a list of instructions for a stack; evaluated by NumPy, never by ``eval``.

A list, because a tree of 5,000 sums would be deeper than Python walks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import mapping, position, real_array
from ...errors import OutOfRangeError, UnknownNameError, shown
from .faults import fault, some
from .functions import Array, Function, Kind


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """A number onto the stack.

    Attributes
    ----------
    number : ndarray of float64, shape ()
    start : int
        Where it stands in the text.
    """

    number: Array
    start: int


@dataclass(frozen=True, slots=True)
class Load:
    """The number, or an element or part of the array, that a name stands for.

    Attributes
    ----------
    key : str
        ``"loss"``, ``"0.weight"``, ``"grad(0.weight)"``.
    indices : tuple of int
    before : bool
        As it was before the step.
    start : int
        Where it stands in the text.
    written : str
        As it stands there, without spaces.
    """

    key: str
    indices: tuple[int, ...]
    before: bool
    start: int
    written: str


@dataclass(frozen=True, slots=True)
class Apply:
    """The last `count` of the stack make place for what the function gives."""

    function: Function
    count: int
    start: int


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison in a chain (``0 < x < 1``): its right operand stays on top of what it gives."""

    function: Function
    start: int


Instruction = Push | Load | Apply | Compare


class Kept(tuple[Array, ...]):
    """What the names of an expression stood for before the step, in the order in which it asks."""

    __slots__ = ()


NOTHING = Kept()
Read = Callable[[str], Array]
"""Gives what a name stands for."""


@dataclass(frozen=True, slots=False, eq=False, repr=False)
class Expression:
    """A text with names, to be evaluated for whatever these stand for.

    Attributes
    ----------
    text : str
    what : str
        How messages call it.
    instructions : tuple of Instruction
    kind : {"number", "truth"}

    Examples
    --------
    >>> from scalarviz.run.conditions import expression
    >>> parabola = expression("x**2 / 2 + 3 * sin(y)", ["x", "y"])
    >>> parabola.evaluate({"x": [0.0, 2.0], "y": 0.0}).tolist()
    [0.0, 2.0]
    """

    text: str
    what: str
    instructions: tuple[Instruction, ...]
    kind: Kind

    def __repr__(self) -> str:
        return f"Expression({shown(self.text)})"

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """Where it asks for what a name stands for, each once."""
        return tuple(dict.fromkeys(i for i in self.instructions if isinstance(i, Load)))

    @cached_property
    def names(self) -> frozenset[str]:
        """All names in it."""
        return frozenset(load.key for load in self.loads)

    @cached_property
    def looks_back(self) -> bool:
        """Whether it asks how something was before the step."""
        return any(load.before for load in self.loads)

    @cached_property
    def reduces(self) -> bool:
        """Whether it makes one number of an array somewhere."""
        return any(isinstance(i, Apply) and i.count == 1 and i.function.reduces for i in self.instructions)

    def evaluate(
        self, numbers: Mapping[str, ArrayLike], before: Mapping[str, ArrayLike] | Kept | None = None
    ) -> NDArray[np.float64] | NDArray[np.bool_]:
        """What it is for these numbers.

        Parameters
        ----------
        numbers : mapping of str to array_like
            By name; arrays are joined element by element, as NumPy broadcasts them. More names may be in it.
        before : mapping of str to array_like, optional
            As they were before the step, or what :meth:`keep` gave then; only where the expression asks for it.

        Returns
        -------
        ndarray of float64 or bool
            IEEE results in float64: ``1 / 0`` is inf and ``(-8) ** 0.5`` is NaN.

        Raises
        ------
        UnknownNameError
            A name has no number.
        TypeMismatchError
            What a name stands for is no array of real numbers.
        ExpressionError
            Shapes that cannot be joined, or an index that an array does not have.
        """
        read = self._reader(mapping(numbers, "evaluate: the numbers"))
        kept = before if isinstance(before, Kept) else self.keep(mapping(before or {}, "evaluate: before"))
        return self.run(read, kept)

    def run(self, read: Read, kept: Kept = NOTHING) -> Array:
        """:meth:`evaluate` for arrays that a function gives by name, and that are known to be arrays of numbers."""
        former = iter(kept)
        stack: list[Array] = []
        with np.errstate(all="ignore"):
            for instruction in self.instructions:
                match instruction:
                    case Push(number=number):
                        stack.append(number)
                    case Load(before=True):
                        stack.append(next(former))
                    case Load():
                        stack.append(self.value(instruction, read))
                    case Apply(function=function, count=count, start=start):
                        operands = stack[-count:]
                        del stack[-count:]
                        stack.append(self._applied(function, operands, start))
                    case Compare(function=function, start=start):
                        right = stack.pop()
                        stack[-1:] = [self._applied(function, [stack[-1], right], start), right]
        return stack[0] if self.kind == "truth" else stack[0].astype(np.float64, copy=False)

    def keep(self, numbers: Mapping[str, ArrayLike]) -> Kept:
        """Copies of what :meth:`evaluate` will want to know of before the step."""
        read = self._reader(numbers)
        asked = (i for i in self.instructions if isinstance(i, Load) and i.before)
        return Kept(self.value(load, read).copy() for load in asked)

    def _reader(self, numbers: Mapping[str, ArrayLike]) -> Read:
        """What gives the arrays of a mapping that may hold anything."""

        def read(key: str) -> Array:
            if key in numbers:
                return real_array(numbers[key], f"{self.what}: {key}")
            raise UnknownNameError(
                f"{self.what} {shown(self.text)}: there is no number for {key!r}; given: {some(numbers)}"
            )

        return read

    def value(self, load: Load, read: Read) -> Array:
        """What one of its names stands for: a number or an array."""
        found = read(load.key)
        for place in load.indices:
            found = self._element(found, place, load)
        return found

    def _element(self, array: Array, place: int, load: Load) -> Array:
        if not array.ndim:
            raise fault(self.text, load.start, f"{load.written} has more [places] than {load.key} has", self.what)
        try:
            return np.asarray(array[position(place, len(array), load.key)])
        except OutOfRangeError as error:
            raise fault(self.text, load.start, str(error), self.what) from None

    def _applied(self, function: Function, operands: list[Array], start: int) -> Array:
        dtype = np.float64 if function.takes == "number" else np.bool_
        if len(operands) > 1:
            shapes = [operand.shape for operand in operands]
            try:
                if len({*shapes, ()}) > 2:
                    np.broadcast_shapes(*shapes)
            except ValueError:
                said = f"{function.name!r} cannot join arrays of shapes {' and '.join(map(str, shapes))}"
                raise fault(self.text, start, said, self.what) from None
        compute: Callable[..., Any] = function.compute
        return np.asarray(compute(*(operand.astype(dtype, copy=False) for operand in operands)))
