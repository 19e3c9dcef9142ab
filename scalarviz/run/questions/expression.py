"""`Expression`: a text that was read, as instructions for a stack; its functions and faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import position
from ...engine.arrays.rows import numpy_form
from ...errors import ExpressionError, OutOfRangeError, listing, shown
from ...scalar import ops

WIDTH = 72
"""Letters of a line with a caret under it; of a longer text the part around the caret is shown."""
NAMES = 12
"""The most names that a message lists."""


def fault(text: str, place: int, said: str, what: str = "the expression") -> ExpressionError:
    """The error for `text` at `place` (counted from 0)."""
    start = max(0, min(place - WIDTH // 2, len(text) - WIDTH))
    stop = min(len(text), start + WIDTH)
    line = "".join(letter if letter.isprintable() else " " for letter in text[start:stop])  # tabs and line ends too
    before, after = "..." if start else "", "..." if stop < len(text) else ""
    first = f"{what} {shown(text, WIDTH)}: at character {place + 1}, {said}"
    caret = " " * (len(before) + place - start)
    return ExpressionError(f"{first}\n    {before}{line}{after}\n    {caret}^", text, place)


def brief(text: str, most: int = WIDTH) -> str:
    """A text in one line of at most so many letters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def nearest(name: str, names: Iterable[str]) -> str:
    """``; did you mean 'loss'?``, or nothing where no name is near."""
    every = list(names)
    found = get_close_matches(name[:100], every, 1) or get_close_matches(name[:100].lower(), every, 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def some(names: Iterable[str]) -> str:
    """A list of names for a message, cut where it would be long."""
    every = list(names)
    more = f" and {len(every) - NAMES:,} more" if len(every) > NAMES else ""
    return listing(every[:NAMES]) + more if every else "none"


# ---- Functions of an expression: operators, the operations table by name, and a few of whole arrays


Array = NDArray[Any]
Kind = Literal["number", "truth"]
"""What a part of an expression is: numbers (float64) or truths (bool), one or an array of them."""


@dataclass(frozen=True, slots=True)
class Function:
    """Something that takes arrays and gives one."""

    name: str
    least: int  # least and most: how many it takes
    most: int
    compute: Callable[..., Any]  # its operands are float64 where it `takes` numbers, else bool
    takes: Kind = "number"
    gives: Kind = "number"
    reduces: bool = False  # whether one number comes out of an array, when it is given one operand
    op: str = ""  # the operation that it is in a graph; empty where there is none


MANY = 1000
"""What a function without a limit of its own takes at most."""


def _of_table(op: str, name: str = "") -> Function:
    count = len(ops.TABLE[op].args)
    return Function(name or op, count, count, numpy_form(op, np.dtype(np.float64))[0], op=op)


def _extreme(name: str, ufunc: np.ufunc) -> Function:
    def compute(*arrays: Array) -> Array:
        if len(arrays) > 1:
            return reduce(ufunc, arrays)
        return np.asarray(ufunc.reduce(arrays[0], axis=None) if arrays[0].size else np.nan)

    return Function(name, 1, MANY, compute, reduces=True, op=name)


def _norm(x: Array) -> Any:
    """The root of the sum of squares, which overflows only where it is too large itself."""
    top = np.abs(x).max() if x.size else np.float64(0)
    return top if top == 0 or not np.isfinite(top) else top * np.sqrt(np.sum(np.square(x / top)))


OWN = {
    function.name: function
    for function in (
        _extreme("max", np.maximum),
        _extreme("min", np.minimum),
        Function("norm", 1, 1, _norm, reduces=True),
        Function("sum", 1, 1, lambda x: x.sum(), reduces=True),
        Function("mean", 1, 1, lambda x: np.float64(x.sum()) / np.float64(x.size), reduces=True),
        Function("any", 1, 1, lambda x: x.any(), "truth", "truth", reduces=True),
        Function("all", 1, 1, lambda x: x.all(), "truth", "truth", reduces=True),
        Function("sign", 1, 1, np.sign),
        Function("nan", 1, 1, lambda x: ~np.isfinite(x), gives="truth"),
        Function("before", 1, 1, lambda x: x),  # read as names that are of the step before
    )
}
"""Those that are not in the operations table."""


def function(name: str) -> Function | None:
    """The function of that name, or None; an operation that was registered later is found too."""
    return OWN.get(name) or (_of_table(name) if name in ops.TABLE else None)


def names(*, of_graphs: bool = False) -> list[str]:
    """All of them, for messages and help; or those that have derivatives."""
    return [
        *(name for name, own in OWN.items() if own.op or not of_graphs),
        *(name for name in ops.TABLE if name not in OWN),
    ]


def chain(links: Sequence[Function]) -> Function:
    """``a < b < c``: each two neighbours are compared."""
    if len(links) == 1:
        return links[0]

    def compute(*arrays: Array) -> Array:
        return reduce(np.logical_and, (link.compute(*two) for link, two in zip(links, pairwise(arrays), strict=True)))

    return Function(links[-1].name, len(links) + 1, len(links) + 1, compute, gives="truth")


def _crossed(a: Array, b: Array, a_before: Array, b_before: Array) -> Array:
    """Where `a` was on one side of `b` and is now on it or on the other side."""
    return np.asarray(((a_before < b_before) & (a >= b)) | ((a_before > b_before) & (a <= b)))


def _changed(now: Array, before: Array) -> Array:
    """Where two arrays differ; NaN is not another number than NaN."""
    return np.asarray((now != before) & ~((now != now) & (before != before)))


PREFIXES = {"-": _of_table("neg", "-"), "not": Function("not", 1, 1, np.logical_not, "truth", "truth")}
COMPARISONS = {
    sign: Function(sign, 2, 2, compute, gives="truth", op=op)
    for sign, compute, op in (
        ("<", np.less, "lt"), ("<=", np.less_equal, "le"), (">", np.greater, "gt"), (">=", np.greater_equal, "ge"),
        ("==", np.equal, ""), ("!=", np.not_equal, ""),
    )
}  # fmt: skip
OPERATORS = COMPARISONS | {
    **{sign: _of_table(op, sign) for sign, op in zip("+-*/", ("add", "sub", "mul", "div"), strict=True)},
    "**": _of_table("pow", "**"),
    "and": Function("and", 2, 2, np.logical_and, "truth", "truth"),
    "or": Function("or", 2, 2, np.logical_or, "truth", "truth"),
    "crosses": Function("crosses", 4, 4, _crossed, gives="truth"),
    "changes": Function("changes", 2, 2, _changed, gives="truth"),
}


# ---- `Expression`: a text that was read, as a list of instructions for a stack; evaluated by NumPy
#
# A list, because a tree of 2,000 sums would be deeper than Python walks.


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """A number onto the stack."""

    number: Array  # shape ()
    start: int  # where it stands in the text
    name: str = ""  # that it was written as


@dataclass(frozen=True, slots=True)
class Load:
    """The number, or an element or part of the array, that a name stands for."""

    key: str  # ``"loss"``, ``"0.weight"``, ``"grad(0.weight)"``
    indices: tuple[int, ...]
    before: bool  # as it was before the step
    start: int

    @property
    def written(self) -> str:
        """As ``grad(0.weight)[2][1]``."""
        return self.key + "".join(f"[{index}]" for index in self.indices)


@dataclass(frozen=True, slots=True)
class Apply:
    """The last `count` of the stack make place for what the function gives."""

    function: Function
    count: int
    start: int


Instruction = Push | Load | Apply
Kept = tuple[Array, ...]
"""What the names of an expression stood for before the step, in the order in which it asks."""
Read = Callable[[str], Array]
"""Gives what a name stands for."""


@dataclass(frozen=True, eq=False, repr=False)
class Expression:
    """A text with names, to be evaluated for whatever these stand for.

    Examples
    --------
    >>> from scalarviz.run.questions import Vocabulary, parse
    >>> parabola = parse("x**2 / 2 + 3 * sin(y)", Vocabulary(["x", "y"]))
    >>> parabola.evaluate({"x": [0.0, 2.0], "y": 0.0}).tolist()
    [0.0, 2.0]
    """

    text: str
    what: str  # how messages call it
    instructions: tuple[Instruction, ...]
    kind: Kind

    def __repr__(self) -> str:
        return f"Expression({shown(self.text)})"

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """Where it asks for what a name stands for, in the order in which it asks."""
        return tuple(i for i in self.instructions if isinstance(i, Load))

    @cached_property
    def names(self) -> frozenset[str]:
        """All names in it."""
        return frozenset(load.key for load in self.loads)

    @cached_property
    def needs_before(self) -> bool:
        """Whether it asks how something was before the step."""
        return any(load.before for load in self.loads)

    @cached_property
    def reduces(self) -> bool:
        """Whether it makes one number of an array somewhere."""
        return any(isinstance(i, Apply) and i.count == 1 and i.function.reduces for i in self.instructions)

    def evaluate(self, numbers: Mapping[str, ArrayLike]) -> Array:
        """Its result for these numbers, by name; NumPy broadcasts arrays.

        Results are those of IEEE float64: ``1 / 0`` is inf and ``(-8) ** 0.5`` is NaN.

        Raises ExpressionError: shapes that cannot be joined, or an index that an array does not have.
        """
        return self.run(lambda key: np.asarray(numbers[key], np.float64))

    def run(self, read: Read, kept: Kept = ()) -> Array:
        """Its result for the arrays that `read` gives; `kept`: what :meth:`keep` gave before the step."""
        former = iter(kept)
        stack: list[Array] = []
        with np.errstate(all="ignore"):
            for instruction in self.instructions:
                match instruction:
                    case Push(number=number):
                        stack.append(number)
                    case Load():
                        stack.append(next(former) if instruction.before else self.value(instruction, read))
                    case Apply(count=count):
                        stack[-count:] = [self._applied(instruction, stack[-count:])]
        return stack[0] if self.kind == "truth" else stack[0].astype(np.float64, copy=False)

    def keep(self, read: Read) -> Kept:
        """Copies of the arrays before the step that :meth:`run` will need."""
        return tuple(self.value(load, read).copy() for load in self.loads if load.before)

    def value(self, load: Load, read: Read) -> Array:
        """What one of its names stands for: a number or an array."""
        found = read(load.key)
        for place in load.indices:
            if not found.ndim:
                said = f"{brief(load.written)} has too many [indices] for {load.key}"
                raise fault(self.text, load.start, said, self.what)
            try:
                found = np.asarray(found[position(place, len(found), load.key)])
            except OutOfRangeError as error:
                raise fault(self.text, load.start, str(error), self.what) from None
        return found

    def _applied(self, apply: Apply, operands: list[Array]) -> Array:
        function, shapes = apply.function, [operand.shape for operand in operands]
        try:
            if len({*shapes, ()}) > 2:
                np.broadcast_shapes(*shapes)
        except ValueError:
            said = f"{function.name!r} cannot combine arrays of shapes {' and '.join(map(str, shapes))}"
            raise fault(self.text, apply.start, said, self.what) from None
        dtype = np.float64 if function.takes == "number" else np.bool_
        return np.asarray(function.compute(*(operand.astype(dtype, copy=False) for operand in operands)))
