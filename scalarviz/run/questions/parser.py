"""The grammar of texts: Python's `ast` parses a text, and a checker makes an `Expression` of what is allowed.

From the weakest to the strongest operator, as in Python::

    a or b    a and b    not a
    a < b    <=    >    >=    ==    !=    0 < a < 1    a crosses b    a changes
    a + b    a - b
    a * b    a / b
    -a    +a
    a ** b
    12.5    name    name[2][1]    "any name"    function(a, b)    before(a)    (a)

Operands of ``and``, ``or`` and ``not`` are comparisons. Operands of arithmetic are numbers; a comparison counts as 1
or 0. ``before(a)`` is `a` before the step. ``a changes`` is ``a != before(a)``. ``a crosses b`` is true if `a`
was on one side of `b` and is now on it or on the other side.

Python parses a text in which each word takes eight characters: a number or name is ``_``, ``a changes`` is
``a is None`` and ``a crosses b`` is ``a in b``, since these bind like comparisons. So a node's column identifies the
word, and only the parentheses and operators of the user's text reach Python.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, SupportsFloat

import numpy as np

from ...arguments import did_you_mean
from ...checks import text as checked_text
from ...errors import ExpressionError, InputError, shown
from ...scalar import Value, function
from ...scalar import max as largest
from ...scalar import min as smallest
from ...scalar.value import as_value
from . import expression as functions
from .expression import OPERATORS, Apply, Expression, Function, Instruction, Kind, Load, Push, fault, some

LONGEST = 10_000
"""Most characters of a text."""
DEEPEST = 64
"""Deepest nesting of operands in parentheses and after signs and powers."""
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}
"""Names that are numbers, unless a vocabulary has the same name."""
_COMPARE = "compare it, as in loss > 1"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that a text may use.

    A name with quotes in it (``'"loss"'``) is the meaning of that name in quotes only.
    """

    names: Collection[str]  # names of a number or an array
    # names with another in parentheses, such as ``grad(0.weight)``: the allowed inner names
    of: Mapping[str, Collection[str]] = field(default_factory=dict)
    truths: Collection[str] = ()  # names in `names` and `of` that are truths
    absent: Mapping[str, str] = field(default_factory=dict)  # names that users expect, and why they are missing
    free: bool = False  # whether every other identifier is a number too

    def listed(self) -> str:
        """Return the names for a message."""
        return some([*self.names, *(f"{name}(...)" for name in self.of)])


# ---- Words: numbers, names with [places] after them (``0.weight[2][1]`` is one word), signs

Word = re.Match[str]  # lastgroup: its kind

# Nothing here is tried twice (possessive, atomic), so that no text takes longer than its length. Groups are atomic, not
# possessive: before 3.11.5 Python kept half of a possessive group that failed.
_NAME, _QUOTED = r"\w++(?>(?:\.\w++)*)", r""""[^"]*+"|'[^']*+'"""
_INDEX = r"\s*+-?+\s*+[0-9]{1,18}+(?![\w.])\s*+"
_PLACES = rf"(?>(?:\s*+\[{_INDEX}(?>(?:,{_INDEX})*)\])*)"


@cache
def _words(of: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of all words; the names in `of` take another name in parentheses."""
    pattern = rf"""(?P<space>\s++)
    | (?P<number>(?>[0-9]++(?>(?:\.[0-9]*+)?)|\.[0-9]++)(?>(?:[eE][+-]?+[0-9]++)?)(?![\w.]))
    | (?P<sign>(?:and|or|not|crosses|changes)(?![\w.])|\*\*|<=|>=|==|!=|[-+*/<>(),])
    | (?P<part>(?P<of>{"|".join(of) or "(?!)"})\s*+
        \(\s*+(?P<inner>{_NAME}|{_QUOTED})(?P<first>{_PLACES})\s*+\)(?P<then>{_PLACES}))
    | (?P<operand>(?:(?P<name>{_NAME})|(?P<quoted>{_QUOTED}))(?P<places>{_PLACES}))
    | (?P<broken>\[(?>(?:{_INDEX},)*)(?>(?:{_INDEX})?)\s*+-?+)  # places, up to what is wrong with them
    | (?P<bad>.)
    | (?P<end>\Z)"""
    return re.compile(pattern, re.VERBOSE | re.DOTALL)


_INSTEAD = {
    "=": "write ==", "^": "write ** for a power", "&": "write and", "|": "write or",
    "!": "write not", "%": "there is no remainder operator", "≤": "write <=", "≥": "write >=",
    "≠": "write !=", "×": "write *", "·": "write *", "−": "write -", "÷": "write /",
    '"': "quotes come in pairs, around a name", "'": "quotes come in pairs, around a name",
}  # fmt: skip
_IN_PYTHON = {"crosses": "in", "changes": "is None"}
_WIDE = 8
_OPERAND, _END = "a number, a name, a function or '('", "an operator such as + or <, or the end"
_IN_CALL, _IN_GROUP = "an operator, a comma or ')'", "an operator or ')'"


def is_plain(name: str) -> bool:
    """Return whether a text can contain the name without quotes."""
    found = _words(()).fullmatch(name)
    return found is not None and found["name"] == name


def parse(text: str, vocabulary: Vocabulary, what: str = "the expression", kind: Kind | None = None) -> Expression:
    """Parse a text and return the expression.

    `what` names it in messages. `kind` is the required kind; a comparison is a number too (1 or 0).

    Raises ExpressionError with the place, the text there, what is allowed, and the nearest name.
    InputError: more than 10,000 characters. TypeMismatchError: not a text.
    """
    checked_text(text, what)
    if len(text) > LONGEST:
        raise InputError(f"{what} got {len(text):,} characters; allowed: at most {LONGEST:,}")
    reader = _Reader(text, vocabulary, what)
    try:
        found = reader.visit(ast.parse(reader.python(), mode="eval").body)
    except (RecursionError, MemoryError):
        said = "too many operators in a row; put some of them in parentheses"
        raise fault(text, 0, said, what) from None
    if kind == "truth" and found == "number":
        raise fault(text, 0, f"expected a condition, got a number; {_COMPARE}", what)
    return Expression(text, what, tuple(reader.out), found if kind is None else kind)


class _Reader:
    """Reads one text; writes instructions while it walks the tree."""

    def __init__(self, text: str, vocabulary: Vocabulary, what: str) -> None:
        self.text, self.vocabulary, self.what = text, vocabulary, what
        pattern = _words(tuple(map(re.escape, vocabulary.of)))
        self.words = [word for word in pattern.finditer(text) if word.lastgroup != "space"]
        self.out: list[Instruction] = []
        self.back = False  # inside before( ... )

    def fault(self, place: int | Word, said: str) -> ExpressionError:
        return fault(self.text, place if isinstance(place, int) else place.start(), said, self.what)

    def refuse(self, word: Word, wanted: str) -> ExpressionError:
        got = "the end of the text" if word.lastgroup == "end" else shown(word.group())
        return self.fault(word, f"expected {wanted}, got {got}")

    def python(self) -> str:
        """Return the text for Python; refuse it unless operands and operators alternate and parentheses are closed."""
        opened, ended, deep = [_END], False, 0  # what may follow an operand besides; whether one has ended
        last, name = "", False  # the word before, and whether it is a name
        for at, word in enumerate(self.words):
            kind, text = word.lastgroup, word.group()
            sign = text if kind == "sign" else ""
            if kind == "bad":
                instead = f"; {_INSTEAD[text]}" if text in _INSTEAD else ""
                raise self.fault(word, f"{text!r} is not allowed in an expression{instead}")
            if len(opened) + deep > DEEPEST:
                raise self.fault(word, f"the nesting is too deep; allowed: at most {DEEPEST} levels")
            if sign == ")" and (opened[-1] == _IN_CALL if last == "," else ended and len(opened) > 1):
                opened.pop()
                ended = True
            elif ended and kind == "broken" and name:
                raise self.refuse(self.words[at + 1], "a whole number, a comma or ']'")
            elif last == "changes" and sign in OPERATORS and OPERATORS[sign].gives == "number":
                raise self.fault(word, "put 'changes' and its number in parentheses")
            elif ended and sign in OPERATORS:
                ended, deep = sign == "changes", deep + 1 if sign == "**" else 0
            elif ended and sign == "," and opened[-1] == _IN_CALL:
                ended, deep = False, 0
            elif sign == "(" and (name or not ended):
                opened.append(_IN_CALL if name else _IN_GROUP)
                ended = False
            elif ended and (kind != "end" or len(opened) > 1):
                raise self.refuse(word, opened[-1])
            elif sign == "not" and last in OPERATORS and OPERATORS[last].takes == "number":
                raise self.fault(word, "put 'not' and its condition in parentheses")
            elif sign in ("-", "+", "not"):
                deep += 1
            elif kind in ("number", "operand", "part"):
                ended = True
            elif not ended:
                raise self.refuse(word, _OPERAND)
            last, name = text, kind in ("operand", "part")
        signs = (word.group() if word.lastgroup == "sign" else "_" for word in self.words[:-1])
        return "".join(_IN_PYTHON.get(sign, sign).ljust(_WIDE) for sign in signs)

    # ---- the tree

    def sign(self, right: ast.expr) -> Word:
        """Return the operator before an operand."""
        at = right.col_offset // _WIDE - (not isinstance(right, ast.Constant))  # None is half of ``changes``
        while self.words[at].group() == "(":
            at -= 1
        return self.words[at]

    def visit(self, node: ast.expr) -> Kind:
        """Write the instructions of a part of the tree and return its kind."""
        word = self.words[node.col_offset // _WIDE]
        match node:
            case ast.BoolOp(values=[first, *rest]):
                return self.joined(first, rest)
            case ast.BinOp():
                rest = []
                while isinstance(node, ast.BinOp):  # a long sum is a deep tree
                    rest.append(node.right)
                    node = node.left
                return self.joined(node, rest[::-1])
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                self.visit(operand)
                return "number"
            case ast.UnaryOp(operand=operand):
                return self.apply(functions.PREFIXES[word.group()], word, [self.visit(operand)])
            case ast.Compare():
                return self.compared(node)
            case ast.Call(args=args):
                return self.called(word, args)
            case ast.Name() if word.lastgroup == "number":
                self.out.append(Push(np.asarray(float(word.group())), word.start()))
                return "number"
            case ast.Name() if word.lastgroup == "part":
                return self.part(word)
            case ast.Name():
                return self.named(word)
        raise self.refuse(word, _OPERAND)  # nothing else can be written with these words

    def joined(self, first: ast.expr, rest: Sequence[ast.expr]) -> Kind:
        """Write ``a + b - c``."""
        kind = self.visit(first)
        for right in rest:
            sign = self.sign(right)
            kind = self.apply(OPERATORS[sign.group()], sign, [kind, self.visit(right)])
        return kind

    def compared(self, node: ast.Compare) -> Kind:
        """Write ``a < b``, ``a < b < c``, ``a crosses b``, ``a changes``, from left to right."""
        begin, kind, links = len(self.out), self.visit(node.left), list[Function]()
        for right in node.comparators:
            sign = self.sign(right)
            name = sign.group()
            if name in functions.COMPARISONS:
                if links:
                    self.out.pop()  # the chain so far
                links.append(functions.COMPARISONS[name])
                self.visit(right)
                self.out.append(Apply(functions.chain(links), len(links) + 1, sign.start()))
            else:
                links = []
                if name == "crosses" and "truth" in (kind, self.visit(right)):
                    raise self.fault(sign, "'crosses' needs a number on each side, as in 0.weight[0][0] crosses 0")
                operands = self.out[begin:]
                if self.back or any(isinstance(i, Load) and i.before for i in operands):
                    raise self.fault(sign, f"{name!r} cannot contain 'before', 'changes' or 'crosses'")
                self.out += [replace(i, before=True) if isinstance(i, Load) else i for i in operands]
                self.out.append(Apply(OPERATORS[name], 2 * (1 + (name == "crosses")), sign.start()))
            kind = "truth"
        return kind

    def apply(self, function: Function, word: Word, kinds: Sequence[Kind], place: int | None = None) -> Kind:
        if function.takes == "truth" and "number" in kinds:
            said = f"{shown(function.name)} needs conditions, got a number; {_COMPARE}"
            raise self.fault(word.start() if place is None else place, said)
        self.out.append(Apply(function, len(kinds), word.start()))
        return function.gives

    # ---- operands

    def load(self, key: str, places: str, word: Word) -> Kind:
        indices = map(int, re.findall("-?[0-9]+", re.sub(r"\s", "", places)))
        self.out.append(Load(key, tuple(indices), self.back, word.start()))
        return "truth" if (word["of"] or key) in self.vocabulary.truths else "number"

    def named(self, word: Word) -> Kind:
        """Write a name with the places after it."""
        vocabulary, name = self.vocabulary, word["name"] or word["quoted"][1:-1]
        key = f'"{name}"' if word["quoted"] and f'"{name}"' in vocabulary.names else name
        if key not in vocabulary.names:
            if name in CONSTANTS and word.group() == name:
                self.out.append(Push(np.asarray(CONSTANTS[name]), word.start(), name))
                return "number"
            if not vocabulary.free or not name.isidentifier() or self.is_function(name):
                raise self.fault(word, self.unknown(name))
        return self.load(key, word["places"], word)

    def is_function(self, name: str) -> bool:
        return name in self.vocabulary.of or functions.function(name) is not None

    def unknown(self, name: str) -> str:
        vocabulary = self.vocabulary
        if name in vocabulary.absent:
            return f"the name {shown(name)} is unknown: {vocabulary.absent[name]}"
        number, rest = re.fullmatch(r"([0-9]*)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
        if 0 < len(number) < 20 and (rest in vocabulary.names or (vocabulary.free and rest.isidentifier())):
            return f"the name {shown(name)} is unknown; did you mean {number} * {rest}?"
        if self.is_function(name):
            return f"{shown(name)} is a function; write its operands in parentheses"
        if vocabulary.free:
            return f"the name {shown(name)} is unknown: a name has only letters, digits and _"
        near = did_you_mean(name, [*vocabulary.names, *vocabulary.of])
        return f"the name {shown(name)} is unknown{near or ';'} allowed: {vocabulary.listed()}"

    def part(self, word: Word) -> Kind:
        """Write ``grad(0.weight[2][1])``, or the same as ``grad(0.weight)[2][1]``."""
        of, inner = word["of"], word["inner"]
        name, allowed = inner if inner[0] not in "\"'" else inner[1:-1], self.vocabulary.of[of]
        if name not in allowed:
            said = f"{shown(of)} takes one name of {some(allowed)}, got {shown(name)}{did_you_mean(name, allowed)}"
            raise self.fault(word.start("inner"), said)
        return self.load(f"{of}({name})", word["first"] + word["then"], word)

    def called(self, word: Word, args: Sequence[ast.expr]) -> Kind:
        """Write a function with its operands."""
        name, vocabulary, begin = word.group(), self.vocabulary, len(self.out)
        place = self.words[args[0].col_offset // _WIDE].start()
        function = functions.function(name)
        if name in vocabulary.of:
            raise self.fault(place, f"{shown(name)} takes one name of {some(vocabulary.of[name])}")
        if function is None:
            if name in vocabulary.absent:
                raise self.fault(word, self.unknown(name))
            if name in vocabulary.names:
                raise self.fault(word, f"{shown(name)} is a number, not a function; remove the parentheses")
            known = [*vocabulary.of, *functions.names(of_graphs=vocabulary.free)]
            near = did_you_mean(name, known) or ";"
            raise self.fault(word, f"there is no function {shown(name)}{near} allowed: {', '.join(known)}")
        if not function.least <= len(args) <= function.most:
            wanted = f"1 to {function.most:,} operands"
            if function.least == function.most:
                wanted = f"{function.least} operand{'s' * (function.least > 1)}"
            raise self.fault(word, f"{shown(name)} takes {wanted}, got {len(args)}")
        if name != "before":
            return self.apply(function, word, [self.visit(arg) for arg in args], place)
        if self.back:
            raise self.fault(word, "'before' cannot contain 'before': only one earlier step is kept")
        self.back = True
        kind = self.visit(args[0])
        self.back = False
        if not any(isinstance(i, Load) for i in self.out[begin:]):
            raise self.fault(word, "'before' needs a name that a step can change, such as loss")
        return kind


Number = Value | SupportsFloat

_MANY: Mapping[str, Callable[[Sequence[Number]], Value]] = {"max": largest, "min": smallest}
_NO = "not allowed in a formula; where(a > b, x, y) chooses between two numbers"
_REFUSED = {
    **dict.fromkeys(("and", "or", "not", "==", "!=", "nan"), _NO),
    **dict.fromkeys(
        ("norm", "sum", "mean", "any", "all"), "it needs an array, but every name in a formula is one number"
    ),
    "sign": "it has no derivative; use where(a > 0, 1, -1)",
}


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A text that computes a Value from numbers.

    Examples
    --------
    >>> from scalarviz.run.questions import formula
    >>> line = formula("w * x + b", ["x"])
    >>> line.others
    ('w', 'b')
    >>> line({"w": 2.0, "b": 1.0, "x": 3.0}).data
    7.0
    """

    expression: Expression
    known: tuple[str, ...]  # known, others: its names, in order: given ones, and the rest
    others: tuple[str, ...]

    @property
    def text(self) -> str:
        """The text as written."""
        return self.expression.text

    @property
    def constants(self) -> dict[str, float]:
        """Constants that were written as names: ``pi``, ``e``, ``inf``."""
        return {i.name: float(i.number) for i in self.expression.instructions if isinstance(i, Push) and i.name}

    def __call__(self, numbers: Mapping[str, Number]) -> Value:
        """Return the result with its graph; `numbers` has a number for each name."""
        stack: list[Any] = []
        for instruction in self.expression.instructions:
            match instruction:
                case Push(number=number):
                    stack.append(float(number))
                case Load(key=key):
                    stack.append(numbers[key])
                case Apply(function=Function(op=op), count=count):
                    operands = stack[-count:]
                    stack[-count:] = [_MANY[op](operands) if op in _MANY else function(op)(*operands)]
        return as_value(stack[0])

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"


def formula(text: str, names: Iterable[str] = (), what: str = "the formula") -> Formula:
    """Parse a text in which every unknown word is a number as well.

    The grammar is that of `parser`, without looks back, joined conditions and arrays. `names` are known
    beforehand; a name of several words is written in quotes. `what` names the text in messages.

    Raises ExpressionError: the text is no formula. InputError, TypeMismatchError: it is too long, or not a text.
    """
    known = tuple(names)
    expression = parse(text, Vocabulary(known, free=True), what, "number")
    for instruction in expression.instructions:
        said = _refusal(instruction)
        if said:
            raise fault(text, instruction.start, said, what)
    found = dict.fromkeys(load.key for load in expression.loads)
    mine, others = (tuple(n for n in found if (n in known) is there) for there in (True, False))
    return Formula(expression, mine, others)


def _refusal(instruction: Instruction) -> str:
    """Return why a formula cannot have an instruction that a condition can have; empty if it can."""
    match instruction:
        case Load(before=True) | Apply(function=Function(name="crosses" | "changes")):
            return "'before', 'changes' and 'crosses' need an earlier step, which a formula does not have"
        case Load(indices=(_, *_), written=written):
            return f"{shown(written)}: every name in a formula is one number; remove the [indices]"
        case Apply(function=Function(name=name, op=""), count=count):
            return f"{name!r} in a chain of comparisons: {_NO}" if count > 2 else f"{name!r}: {_REFUSED[name]}"
    return ""
