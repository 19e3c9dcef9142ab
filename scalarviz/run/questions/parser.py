"""The grammar, and the parser: from words to the instructions of an `Expression`.

From what binds least to what binds most, as in Python::

    a or b    a and b    not a
    a < b    <=    >    >=    ==    !=    0 < a < 1    a crosses b    a changes
    a + b    a - b
    a * b    a / b
    -a    +a
    a ** b
    12.5    name    name[2][1]    "any name"    function(a, b)    before(a)    (a)

Operands of ``and``, ``or`` and ``not`` are comparisons, those of arithmetic are numbers (a comparison among them is 1
or 0). ``before(a)`` is `a` as it was before the step, ``a changes`` is ``a != before(a)``, and ``a crosses b`` holds
where `a` was on one side of `b` and is now on it or on the other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import ExpressionError, shown
from . import expression as functions
from .expression import (
    OPERATORS,
    Apply,
    Compare,
    Expression,
    Instruction,
    Kind,
    Load,
    Push,
    Word,
    fault,
    nearest,
    some,
    words,
)

DEEPEST = 64
"""How deep operands may be nested: in parentheses, behind signs, powers and operators."""
MOST_PLACES = 64
"""How many axes an array may have."""

_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _POWER = range(1, 9)
_BINDS = {
    "or": _OR, "and": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "crosses", "changes"), _COMPARISON),
}  # fmt: skip
_CHAIN = ("<", "<=", ">", ">=", "==", "!=")
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}
"""Names that are numbers, where a vocabulary has no others of that name."""
_EXAMPLE = "compare it, as in loss > 1"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that a text may use.

    A name with quotes round it (``'"loss"'``) is what that name means in quotes only.
    """

    names: Collection[str]  # what stands for a number or an array
    # names that are written with another in parentheses, as ``grad(0.weight)``: what may stand there
    of: Mapping[str, Collection[str]] = field(default_factory=dict)
    truths: Collection[str] = ()  # which of `names` and `of` stand for truths
    absent: Mapping[str, str] = field(default_factory=dict)  # names that people expect, and why they are not here
    free: bool = False  # whether every other word that could name a variable stands for a number too

    def listed(self) -> str:
        """For messages."""
        return some([*self.names, *(f"{name}(...)" for name in self.of)])


def parse(text: str, vocabulary: Vocabulary, what: str = "the expression", kind: Kind | None = None) -> Expression:
    """Read a text.

    `what`: how messages call it. `kind`: what it has to be; a comparison is a number too (1 or 0).

    Raises ExpressionError: where it stops to make sense, what stands there, what may, and the nearest name.
    InputError: more than 10,000 characters. TypeMismatchError: no text.
    """
    return _Parser(text, words(text, what), vocabulary, what).run(kind)


class _Parser:
    """One text on its way through the grammar; instructions are written as it goes."""

    def __init__(self, text: str, words: list[Word], vocabulary: Vocabulary, what: str) -> None:
        self.text, self.words, self.vocabulary, self.what = text, words, vocabulary, what
        self.place = self.depth = 0
        self.back = False  # inside before( ... )
        self.out: list[Instruction] = []

    @property
    def word(self) -> Word:
        return self.words[self.place]

    def run(self, kind: Kind | None) -> Expression:
        found = self.expression(_OR)
        if self.word.kind != "end":
            raise self.refuse("an operator, such as + < and, or the end")
        if kind == "truth" and found == "number":
            raise self.fault(0, f"a condition is wanted, and this is a number; {_EXAMPLE}")
        return Expression(self.text, self.what, tuple(self.out), found if kind is None else kind)

    # ---- words

    def fault(self, place: int, said: str) -> ExpressionError:
        return fault(self.text, place, said, self.what)

    def refuse(self, wanted: str) -> ExpressionError:
        word = self.word
        there = "the text ends" if word.kind == "end" else f"there is {shown(word.text)}"
        return self.fault(word.start, f"{there} where {wanted} is wanted")

    def is_sign(self, *signs: str) -> bool:
        return self.word.kind == "sign" and self.word.text in signs

    def next(self) -> Word:
        word = self.word
        self.place += 1
        return word

    def expect(self, sign: str, wanted: str = "") -> Word:
        if not self.is_sign(sign):
            raise self.refuse(wanted or sign)
        return self.next()

    # ---- operators

    def expression(self, least: int) -> Kind:
        """One operand and what is joined to it by operators that bind at least so much; its instructions are out."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fault(self.word.start, f"it is nested more than {DEEPEST} deep")
        begin, kind = len(self.out), self.operand(least)
        while self.word.kind == "sign" and _BINDS.get(self.word.text, 0) >= least:
            kind = self.joined(kind, begin, self.next())
        self.depth -= 1
        return kind

    def joined(self, left: Kind, begin: int, sign: Word) -> Kind:
        """What `sign` makes of the operand before it, whose instructions start at `begin`, and of the one after."""
        name = sign.text
        if name in _CHAIN:
            return self.chain(sign)
        if name == "changes":
            return self.looking_back(sign, [begin])
        if name == "crosses":
            middle = len(self.out)
            kinds = left, self.expression(_SUM)
            if "truth" in kinds:
                raise self.fault(sign.start, "'crosses' stands between two numbers, as in 0.weight[0][0] crosses 0")
            return self.looking_back(sign, [begin, middle])
        binds = _BINDS[name]
        right = self.expression(binds if name == "**" else binds + 1)
        return self.applied(name, sign, left, right)

    def applied(self, name: str, sign: Word, *kinds: Kind) -> Kind:
        function = OPERATORS[name]
        if function.takes == "truth" and "number" in kinds:
            where = "after it" if kinds[-1] == "number" else "before it"
            raise self.fault(sign.start, f"{shown(name)} joins conditions, and {where} is a number; {_EXAMPLE}")
        self.out.append(Apply(function, len(kinds), sign.start))
        return function.gives

    def chain(self, sign: Word) -> Kind:
        """``a < b``, and ``a < b < c``, where each two neighbours are compared."""
        self.expression(_SUM)
        links = 0
        while self.is_sign(*_CHAIN):
            self.out.append(Compare(OPERATORS[sign.text], sign.start))
            links += 1
            sign = self.next()
            self.expression(_SUM)
        self.out.append(Apply(OPERATORS[sign.text], 2, sign.start))
        for _ in range(links):
            self.out.append(Apply(OPERATORS["and"], 2, sign.start))
        return "truth"

    def looking_back(self, sign: Word, begins: list[int]) -> Kind:
        """The operands once more, as they were before the step."""
        operands = self.out[begins[0] :]
        if self.back or any(isinstance(i, Load) and i.before for i in operands):
            raise self.fault(
                sign.start, f"{sign.text!r} of something that looks back itself: one step is kept, not two"
            )
        self.out += [replace(i, before=True) if isinstance(i, Load) else i for i in operands]
        self.out.append(Apply(OPERATORS[sign.text], 2 * len(begins), sign.start))
        return "truth"

    # ---- operands

    def operand(self, least: int) -> Kind:
        word = self.next()
        if word.kind == "number":
            self.push(float(word.text), word)
            return "number"
        if word.kind == "name":
            return self.named(word)
        if word.kind == "quoted":
            alone = f'"{word.text}"'
            return self.name(word, alone if alone in self.vocabulary.names else word.text)
        if word.text == "not" and word.kind == "sign":
            if least > _NOT:
                raise self.fault(word.start, "'not' here needs parentheses round it and its condition")
            return self.applied("not", word, self.expression(_NOT))
        if word.text in ("-", "+") and word.kind == "sign":
            self.expression(_SIGN)
            if word.text == "-":
                self.out.append(Apply(OPERATORS["negative"], 1, word.start))
            return "number"
        if word.text == "(" and word.kind == "sign":
            kind = self.expression(_OR)
            self.expect(")", "an operator or )")
            return kind
        self.place -= 1
        raise self.refuse("a number, a name, a function or (")

    def push(self, number: float, word: Word) -> None:
        self.out.append(Push(np.asarray(number, np.float64), word.start))

    def named(self, word: Word) -> Kind:
        """A name, or a function with its operands."""
        name, vocabulary = word.text, self.vocabulary
        if not self.is_sign("("):
            if name in CONSTANTS and name not in vocabulary.names:
                self.push(CONSTANTS[name], word)
                return "number"
            return self.name(word, name)
        if name in vocabulary.of:
            return self.name_of(word)
        if name == "before":
            return self.before(word)
        function = functions.function(name)
        if function is None:
            if name in vocabulary.absent:
                raise self.fault(word.start, self.unknown(name))
            if name in vocabulary.names:
                raise self.fault(word.start, f"{shown(name)} is a number and takes nothing in parentheses")
            own = functions.names(of_graphs=True) if vocabulary.free else ["before", *functions.names()]
            known = [*vocabulary.of, *own]
            near = nearest(name, known) or "."
            raise self.fault(word.start, f"there is no function {shown(name)}{near} There are {', '.join(known)}")
        return self.call(word, function)

    def unknown(self, name: str) -> str:
        vocabulary = self.vocabulary
        if name in vocabulary.absent:
            return f"there is no {shown(name)}: {vocabulary.absent[name]}"
        number, rest = re.fullmatch(r"([0-9]*)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
        if 0 < len(number) < 20 and (rest in vocabulary.names or (vocabulary.free and rest.isidentifier())):
            return f"there is no {shown(name)}; did you mean {number} * {rest}?"
        if name in vocabulary.of or name == "before" or functions.function(name) is not None:
            return f"{shown(name)} is a function: it has something in parentheses behind it"
        if vocabulary.free:
            return f"there is no {shown(name)}: a name is a word of letters, digits and _, and has nothing inside it"
        near = nearest(name, [*vocabulary.names, *vocabulary.of])
        return f"there is no {shown(name)}{near or ';'} allowed: {vocabulary.listed()}"

    def call(self, word: Word, function: functions.Function) -> Kind:
        self.expect("(")
        kinds: list[Kind] = []
        places: list[int] = []
        while not self.is_sign(")") or not kinds:
            places.append(self.word.start)
            kinds.append(self.expression(_OR))
            if not self.is_sign(")"):
                self.expect(",", "an operator, a comma or )")
        self.next()
        if not function.least <= len(kinds) <= function.most:
            wanted = str(function.least) if function.least == function.most else f"at least {function.least}"
            raise self.fault(word.start, f"{shown(word.text)} takes {wanted} in parentheses, got {len(kinds)}")
        if function.takes == "truth" and "number" in kinds:
            raise self.fault(places[kinds.index("number")], f"{shown(word.text)} takes a condition; {_EXAMPLE}")
        self.out.append(Apply(function, len(kinds), word.start))
        return function.gives

    def before(self, word: Word) -> Kind:
        if self.back:
            raise self.fault(word.start, "'before' inside 'before': only one step is kept")
        self.expect("(")
        self.back, begin = True, len(self.out)
        kind = self.expression(_OR)
        self.expect(")", "an operator or )")
        self.back = False
        if not any(isinstance(i, Load) and i.before for i in self.out[begin:]):
            raise self.fault(word.start, "'before' of something that no step changes")
        return kind

    def name(self, word: Word, name: str) -> Kind:
        """What a name stands for, with the places behind it."""
        vocabulary = self.vocabulary
        if name not in vocabulary.names:
            free = (
                vocabulary.free and name.isidentifier() and name not in vocabulary.of and name not in vocabulary.absent
            )
            if not free or name == "before" or functions.function(name) is not None:
                raise self.fault(word.start, self.unknown(name))
        return self.load(word, name, name, name in vocabulary.truths)

    def name_of(self, word: Word) -> Kind:
        """``grad(0.weight[2][1])``, and the same as ``grad(0.weight)[2][1]``."""
        self.expect("(")
        inner, allowed = self.next(), self.vocabulary.of[word.text]
        if inner.kind not in ("name", "quoted", "number"):
            self.place -= 1
            raise self.refuse(f"one of {some(allowed)}")
        if inner.text not in allowed:
            near = nearest(inner.text, allowed)
            said = f"{shown(word.text)} takes one of {some(allowed)}, and not {shown(inner.text)}{near}"
            raise self.fault(inner.start, said)
        indices = self.indices()
        self.expect(")", "[ or )")
        key = f"{word.text}({inner.text})"
        written = f"{word.text}({inner.text}{''.join(f'[{index}]' for index in indices)})"
        return self.load(word, key, written, word.text in self.vocabulary.truths, indices)

    def load(self, word: Word, key: str, written: str, truth: bool, indices: tuple[int, ...] = ()) -> Kind:
        more = self.indices()
        written += "".join(f"[{index}]" for index in more)
        self.out.append(Load(key, (*indices, *more), self.back, word.start, written))
        return "truth" if truth else "number"

    def indices(self) -> tuple[int, ...]:
        """``[2][1]``, or ``[2, 1]``; negative ones count from the end."""
        found: list[int] = []
        while self.is_sign("["):
            if len(found) > MOST_PLACES:
                raise self.fault(self.word.start, f"more than {MOST_PLACES} [places] in one name")
            self.next()
            found.append(self.index())
            while self.is_sign(","):
                self.next()
                found.append(self.index())
            self.expect("]", "a comma or ]")
        return tuple(found)

    def index(self) -> int:
        sign = -1 if self.is_sign("-") else 1
        if sign < 0:
            self.next()
        word = self.word
        if word.kind != "number" or not word.text.isdigit() or len(word.text) > 18:
            raise self.refuse("a whole number")
        return sign * int(self.next().text)
