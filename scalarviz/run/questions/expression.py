"""`Expression`: a text that was read, as instructions for a stack; its words, functions and faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, reduce
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import mapping, position, real_array
from ...checks import text as checked_text
from ...engine.arrays.rows import numpy_form
from ...errors import ExpressionError, InputError, OutOfRangeError, UnknownNameError, listing, shown
from ...scalar import ops

WIDTH = 72
"""Letters of a line with a caret under it; of a longer text the part around the caret is shown."""
NAMES = 12
"""The most names that a message lists."""


def fault(text: str, place: int, said: str, what: str = "the expression") -> ExpressionError:
    """The error for `text` at `place` (counted from 0).

    Its message has three lines: what is wrong (one that stands alone), the text, and a caret.
    """
    first = f"{what} {shown(text, WIDTH)}: at character {place + 1}, {said}"
    return ExpressionError(f"{first}\n{under(text, place)}", text, place)


def under(text: str, place: int) -> str:
    """Two lines: the text, and a caret under the letter at `place`."""
    start = max(0, min(place - WIDTH // 2, len(text) - WIDTH))
    stop = min(len(text), start + WIDTH)
    line = "".join(letter if letter.isprintable() else " " for letter in text[start:stop])  # tabs and line ends too
    before, after = "..." if start else "", "..." if stop < len(text) else ""
    return f"    {before}{line}{after}\n    {' ' * (len(before) + place - start)}^"


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


# ---- From letters to words: numbers, names (``0.weight`` is one), signs


LONGEST = 10_000
"""Characters that a text may have."""

WORDS = ("and", "or", "not", "crosses", "changes")
"""Names that are operators; a name in quotes is never one."""

WordKind = Literal["number", "name", "quoted", "sign", "end"]


END: tuple[WordKind, str] = ("end", "the end")
"""Kind and text of the last word."""


class Word(NamedTuple):
    """One word of a text."""

    kind: WordKind  # operators that are words, such as ``and``, are signs
    text: str  # as written; of a quoted name without the quotes
    start: int  # start and stop: where it stands
    stop: int


# Nothing here is tried twice (possessive, atomic), so that no text takes longer than its length.
_WORD = re.compile(
    r"""(?P<space>\s++)
    | (?P<number>(?>[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+(?![\w.]))
    | (?P<name>\w++(?:\.\w++)*+)
    | (?P<quoted>"[^"]*+"|'[^']*+')
    | (?P<sign>\*\*|<=|>=|==|!=|[-+*/<>()\[\],])""",
    re.VERBOSE,
)
_INSTEAD = {
    "=": "== compares", "^": "** is the power", "&": "and joins two conditions", "|": "or joins two conditions",
    "!": "not turns a condition round", "%": "there is no remainder", "≤": "write <=", "≥": "write >=",
    "≠": "write !=", "×": "write *", "·": "write *", "−": "write -", "÷": "write /",
    '"': "the quote has no end", "'": "the quote has no end",
}  # fmt: skip


def words(text: str, what: str = "the expression") -> list[Word]:
    """The words of a text, the last one its end.

    Raises ExpressionError: a letter that no expression has; the message says what to write instead.
    InputError: a text of more than `LONGEST` characters. TypeMismatchError: no text.
    """
    checked_text(text, what)
    if len(text) > LONGEST:
        raise InputError(f"{what} has {len(text):,} characters; at most {LONGEST:,} are read")
    found: list[Word] = []
    place = 0
    while place < len(text):
        match = _WORD.match(text, place)
        if match is None:
            letter = text[place]
            instead = f": {_INSTEAD[letter]}" if letter in _INSTEAD else ""
            raise fault(text, place, f"{letter!r} is no part of an expression{instead}", what)
        kind, said = match.lastgroup, match.group()
        if kind == "quoted":
            found.append(Word("quoted", said[1:-1], place, match.end()))
        elif kind != "space":
            found.append(Word("sign" if said in WORDS else kind, said, place, match.end()))  # type: ignore[arg-type]
        place = match.end()
    found.append(Word(*END, len(text), len(text)))
    return found


# ---- Functions of an expression: those of the operations table by name, and a few of whole arrays


Array = NDArray[Any]
Kind = Literal["number", "truth"]
"""What a part of an expression is: numbers (float64) or truths (bool), one or an array of them."""


@dataclass(frozen=True, slots=True)
class Function:
    """Something that takes arrays and gives one."""

    name: str
    least: int  # least and most: how many it takes
    most: int
    # from that many arrays to one. Operands are float64 where it `takes` numbers, else bool
    compute: Callable[..., Array]
    takes: Kind = "number"
    gives: Kind = "number"
    reduces: bool = False  # whether one number comes out of an array, when it is given one operand


MANY = 1000
"""What a function without a limit of its own takes at most."""


def _largest(*arrays: Array) -> Array:
    if len(arrays) > 1:
        return reduce(np.maximum, arrays)
    return np.asarray(arrays[0].max() if arrays[0].size else np.nan)


def _smallest(*arrays: Array) -> Array:
    if len(arrays) > 1:
        return reduce(np.minimum, arrays)
    return np.asarray(arrays[0].min() if arrays[0].size else np.nan)


def _norm(x: Array) -> Array:
    """The root of the sum of squares, which overflows only where it is too large itself."""
    top = np.abs(x).max() if x.size else np.float64(0)
    if top == 0 or not np.isfinite(top):
        return np.asarray(top)
    return np.asarray(top * np.sqrt(np.sum(np.square(x / top))))


def _mean(x: Array) -> Array:
    return np.asarray(np.float64(x.sum()) / np.float64(x.size))


OWN = {
    function.name: function
    for function in (
        Function("max", 1, MANY, _largest, reduces=True),
        Function("min", 1, MANY, _smallest, reduces=True),
        Function("norm", 1, 1, _norm, reduces=True),
        Function("sum", 1, 1, lambda x: np.asarray(x.sum()), reduces=True),
        Function("mean", 1, 1, _mean, reduces=True),
        Function("any", 1, 1, lambda x: np.asarray(x.any()), "truth", "truth", reduces=True),
        Function("all", 1, 1, lambda x: np.asarray(x.all()), "truth", "truth", reduces=True),
        Function("sign", 1, 1, np.sign),
        Function("nan", 1, 1, lambda x: ~np.isfinite(x), gives="truth"),
    )
}
"""Those that are no operations of a graph: of arrays, and of signs."""


def function(name: str) -> Function | None:
    """The function of that name, or None; an operation that was registered later is found too."""
    if name in OWN:
        return OWN[name]
    if name not in ops.TABLE:
        return None
    count = len(ops.TABLE[name].args)
    return Function(name, count, count, numpy_form(name, np.dtype(np.float64))[0])


OF_GRAPHS = ("max", "min")
"""Those of :data:`OWN` that are functions of Values as well."""


def names(*, of_graphs: bool = False) -> list[str]:
    """All of them, for messages and help; or those that have derivatives."""
    return [*(OF_GRAPHS if of_graphs else OWN), *(name for name in ops.TABLE if name not in OWN)]


_COMPARE: Sequence[tuple[str, Any]] = (
    ("<", np.less), ("<=", np.less_equal), (">", np.greater), (">=", np.greater_equal), ("==", np.equal),
    ("!=", np.not_equal),
)  # fmt: skip
_ARITHMETIC = (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "div"), ("**", "pow"))


def _operators() -> dict[str, Function]:
    found = {sign: Function(sign, 2, 2, compute, gives="truth") for sign, compute in _COMPARE}
    for sign, name in _ARITHMETIC:
        found[sign] = Function(sign, 2, 2, numpy_form(name, np.dtype(np.float64))[0])
    found["and"] = Function("and", 2, 2, np.logical_and, "truth", "truth")
    found["or"] = Function("or", 2, 2, np.logical_or, "truth", "truth")
    found["not"] = Function("not", 1, 1, np.logical_not, "truth", "truth")
    found["negative"] = Function("-", 1, 1, numpy_form("neg", np.dtype(np.float64))[0])
    return found


def crossed(a: Array, b: Array, a_before: Array, b_before: Array) -> Array:
    """Where `a` was on one side of `b` and is now on it or on the other side."""
    up = (a_before < b_before) & (a >= b)
    down = (a_before > b_before) & (a <= b)
    return np.asarray(up | down)


def changed(now: Array, before: Array) -> Array:
    """Where two arrays differ; NaN is not another number than NaN."""
    return np.asarray((now != before) & ~((now != now) & (before != before)))


OPERATORS = _operators() | {
    "crosses": Function("crosses", 4, 4, crossed, gives="truth"),
    "changes": Function("changes", 2, 2, changed, gives="truth"),
}


# ---- `Expression`: a text that was read, as a list of instructions for a stack; evaluated by NumPy
#
# A list, because a tree of 5,000 sums would be deeper than Python walks.


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """A number onto the stack."""

    number: Array  # shape ()
    start: int  # where it stands in the text


@dataclass(frozen=True, slots=True)
class Load:
    """The number, or an element or part of the array, that a name stands for."""

    key: str  # ``"loss"``, ``"0.weight"``, ``"grad(0.weight)"``
    indices: tuple[int, ...]
    before: bool  # as it was before the step
    start: int  # where it stands in the text
    written: str  # as it stands there, without spaces


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
    >>> from scalarviz.run.questions import Vocabulary, parse
    >>> parabola = parse("x**2 / 2 + 3 * sin(y)", Vocabulary(["x", "y"]))
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
