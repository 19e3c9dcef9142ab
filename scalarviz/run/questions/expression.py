"""`Expression`: a parsed text, as instructions for a stack; its functions and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arguments import first_of
from ...checks import position
from ...errors import ExpressionError, OutOfRangeError, shown
from ...scalar import ops
from ...scalar.kernel import numpy_form

WIDTH = 72
"""Characters of a line with a caret under it; of a longer text, the part around the caret is shown."""
NAMES = 12
"""Most names that a message lists."""


def fault(text: str, place: int, said: str, what: str = "the expression") -> ExpressionError:
    """Return the error for `text` at `place` (counted from 0)."""
    start = max(0, min(place - WIDTH // 2, len(text) - WIDTH))
    stop = min(len(text), start + WIDTH)
    line = "".join(letter if letter.isprintable() else " " for letter in text[start:stop])  # tabs and line ends too
    before, after = "..." if start else "", "..." if stop < len(text) else ""
    first = f"{what} {shown(text, WIDTH)}: at character {place + 1}, {said}"
    caret = " " * (len(before) + place - start)
    return ExpressionError(f"{first}\n    {before}{line}{after}\n    {caret}^", text, place)


def brief(text: str, most: int = WIDTH) -> str:
    """Return a text in one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def some(names: Iterable[str]) -> str:
    """Return a list of names for a message, cut if it is long."""
    return first_of(names, NAMES) or "none"


# ---- Functions: operators, the operations table by name, and a few functions of whole arrays


Array = NDArray[Any]
Kind = Literal["number", "truth"]
"""Kind of a part: numbers (float64) or truths (bool), one or an array of them."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of arrays that returns an array."""

    name: str
    least: int  # least and most: number of operands
    most: int
    compute: Callable[..., Any]  # its operands are float64 if it `takes` numbers, otherwise bool
    takes: Kind = "number"
    gives: Kind = "number"
    reduces: bool = False  # whether it reduces an array to one number if it gets one operand
    op: str = ""  # its operation in a graph; empty for none


MANY = 1000
"""Most operands of a function without its own limit."""


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
    """Return the root of the sum of squares; it overflows only if the result does."""
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
        Function("before", 1, 1, lambda x: x),  # its operand is read as of the step before
    )
}
"""Functions that are not in the operations table."""


def function(name: str) -> Function | None:
    """Return the function of that name, or None; finds operations that were registered later, too."""
    return OWN.get(name) or (_of_table(name) if name in ops.TABLE else None)


def names(*, of_graphs: bool = False) -> list[str]:
    """Return all names, for messages and help; with `of_graphs`, only those with derivatives."""
    return list(dict.fromkeys(name for name in (*OWN, *ops.TABLE) if name not in OWN or OWN[name].op or not of_graphs))


def chain(links: Sequence[Function]) -> Function:
    """Return the function of ``a < b < c``, which compares each two neighbours."""
    if len(links) == 1:
        return links[0]

    def compute(*arrays: Array) -> Array:
        return reduce(np.logical_and, (link.compute(*two) for link, two in zip(links, pairwise(arrays), strict=True)))

    return Function(links[-1].name, len(links) + 1, len(links) + 1, compute, gives="truth")


def _crossed(a: Array, b: Array, a_before: Array, b_before: Array) -> Array:
    """Return where `a` was on one side of `b` and is now on it or on the other side."""
    return np.asarray(((a_before < b_before) & (a >= b)) | ((a_before > b_before) & (a <= b)))


def _changed(now: Array, before: Array) -> Array:
    """Return where two arrays differ; NaN equals NaN."""
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


# ---- `Expression`: a parsed text as a list of instructions for a stack; evaluated by NumPy
#
# A list, because a tree of 2,000 sums would be too deep for Python.


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """Push a number onto the stack."""

    number: Array  # shape ()
    start: int  # its place in the text
    name: str = ""  # its name in the text


@dataclass(frozen=True, slots=True)
class Load:
    """Push the value of a name, or an element or part of it."""

    key: str  # ``"loss"``, ``"0.weight"``, ``"grad(0.weight)"``
    indices: tuple[int, ...]
    before: bool  # its value before the step
    start: int

    @property
    def written(self) -> str:
        """The name with its indices, such as ``grad(0.weight)[2][1]``."""
        return self.key + "".join(f"[{index}]" for index in self.indices)


@dataclass(frozen=True, slots=True)
class Apply:
    """Replace the last `count` values of the stack by the function's result."""

    function: Function
    count: int
    start: int


Instruction = Push | Load | Apply
Kept = tuple[Array, ...]
"""The values before the step of an expression's names, in the order of its loads."""
Read = Callable[[str], Array]
"""Returns the value of a name."""


@dataclass(frozen=True, eq=False, repr=False)
class Expression:
    """A text with names, to be evaluated for values of these.

    Examples
    --------
    >>> from scalarviz.run.questions import Vocabulary, parse
    >>> parabola = parse("x**2 / 2 + 3 * sin(y)", Vocabulary(["x", "y"]))
    >>> parabola.evaluate({"x": [0.0, 2.0], "y": 0.0}).tolist()
    [0.0, 2.0]
    """

    text: str
    what: str  # name in messages
    instructions: tuple[Instruction, ...]
    kind: Kind

    def __repr__(self) -> str:
        return f"Expression({shown(self.text)})"

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """The expression's loads of names, in order."""
        return tuple(i for i in self.instructions if isinstance(i, Load))

    @cached_property
    def names(self) -> frozenset[str]:
        """All names in it."""
        return frozenset(load.key for load in self.loads)

    @cached_property
    def needs_before(self) -> bool:
        """True if the expression needs values from before the step."""
        return any(load.before for load in self.loads)

    @cached_property
    def reduces(self) -> bool:
        """True if the expression reduces an array to one number."""
        return any(isinstance(i, Apply) and i.count == 1 and i.function.reduces for i in self.instructions)

    def evaluate(self, numbers: Mapping[str, ArrayLike]) -> Array:
        """Return the result for these numbers, by name; NumPy broadcasts arrays.

        Results are those of IEEE float64: ``1 / 0`` is inf and ``(-8) ** 0.5`` is NaN.

        Raises ExpressionError: shapes that cannot be combined, or an index that an array does not have.
        """
        return self.run(lambda key: np.asarray(numbers[key], np.float64))

    def run(self, read: Read, kept: Kept = ()) -> Array:
        """Return the result for the arrays of `read`; `kept` is the result of :meth:`keep` before the step."""
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
        """Return copies of the arrays before the step that :meth:`run` will need."""
        return tuple(self.value(load, read).copy() for load in self.loads if load.before)

    def value(self, load: Load, read: Read) -> Array:
        """Return the value of one of its names: a number or an array."""
        found = read(load.key)
        for place in load.indices:
            if not found.ndim:
                said = f"{brief(load.written)} has too many indices; allowed: {read(load.key).ndim}"
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
