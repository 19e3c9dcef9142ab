"""The translator: an expression of the ops table -> source code of an engine.

The vocabulary is deliberately small: numbers, operand names, ``+ - * / **``, unary minus, one comparison at a time, and
the functions of :data:`FUNCTIONS`. A :class:`Dialect` holds what an engine writes differently:

* plain Python raises on ``1 / 0`` and makes ``(-8) ** 0.5`` complex, so it calls IEEE helpers instead;
* NumPy selects with ``np.where``;
* numba would promote ``float32 * 2`` to float64, so its literals are typed.

Helper names in the source begin with ``_``, which operands must not do.

The module prevents two pitfalls. A sub-expression that occurs twice is computed once (``exp(-abs(a))`` in the sigmoid),
so a formula can be written as in a book without a second exponential. And a branch that is the number 0 stays 0 in the
chain rule, where a product with an infinite upstream gradient would be NaN (`adjoint`).
"""

from __future__ import annotations

import ast
import math
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError, listing, shown

FUNCTIONS = {"exp": 1, "log": 1, "log1p": 1, "sqrt": 1, "sin": 1, "cos": 1, "tanh": 1, "erf": 1, "erfc": 1,
             "abs": 1, "float16": 1, "where": 3}  # fmt: skip
"""Functions of the vocabulary, and their numbers of arguments."""

_BINARY: dict[type[ast.operator], str] = {ast.Add: "({a} + {b})", ast.Sub: "({a} - {b})", ast.Mult: "({a} * {b})"}
_FLOAT16 = struct.Struct("e")
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """How one engine writes the vocabulary."""

    calls: Mapping[str, str] = field(default_factory=dict)  # a function without an entry keeps its name
    where: str = "({a} if {c} else {b})"
    divide: str = "({a} / {b})"
    power: str = "({a} ** {b})"
    literal: Callable[[float], str] = repr
    rounded: str = "{made}"  # how the result of an operation is rounded


def _literal(number: float) -> str:
    return repr(number) if math.isfinite(number) else f"({'-' if number < 0 else ''}_infinity)"


def typed_literal(number: float) -> str:
    """Return a literal of the kernel's own dtype: numba would promote ``float32 * 2.0`` to float64."""
    return f"_real({number!r})" if math.isfinite(number) else _literal(number)


PYTHON = Dialect(
    calls={name: f"_{name}" for name in FUNCTIONS}, divide="_div({a}, {b})", power="_pow({a}, {b})", literal=_literal
)
NUMPY = Dialect(
    calls={name: f"_np.{name}" for name in FUNCTIONS} | {"erf": "_erf", "erfc": "_erfc", "float16": "_float16"},
    where="_np.where({c}, {a}, {b})",
    literal=_literal,
)


def translate(
    expressions: tuple[str, ...], names: Iterable[str], dialect: Dialect, where: str = "an expression",
    temporary: str = "_",
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Return assignments and results that together compute `expressions` of `names`.

    If `names` is a mapping, its entries are written in their place. The names of assignments begin with `temporary`.
    An expression outside the vocabulary raises InputError, which names `where`, the part and what is allowed. The
    sigmoid gives ``["_0 = _exp((-_abs(a)))"]`` and ``["(1.0 if (a >= 0.0) else _0) / (1.0 + _0)"]``.
    """
    trees = []
    for expression in expressions:
        try:
            trees.append(ast.parse(expression, mode="eval").body)
        except SyntaxError as error:
            raise InputError(f"{where}: {shown(expression)} is not an expression ({error.msg})") from None
    writer = _Writer(trees, names, dialect, f"{where}: the expression {', '.join(expressions)!r}", temporary)
    return writer.lines, writer.results


UPSTREAM = "_up"
"""The upstream gradient in an expression of `adjoint`. No operand can have this name."""


def adjoint(partial: str) -> str:
    """Return the gradient for an operand: the upstream gradient times its partial derivative.

    The factor (:data:`UPSTREAM`) goes inside the branches of ``where``. So a branch that is the number 0 gives 0 for
    any upstream gradient, infinities and NaN included.

    Examples
    --------
    >>> adjoint("where(a > 0, 1, where(a <= 0, 0, a))")
    'where(a > 0, _up, where(a <= 0, 0, _up * a))'
    """
    return ast.unparse(_times_upstream(ast.parse(partial, mode="eval").body))


def _times_upstream(partial: ast.expr) -> ast.expr:
    upstream = ast.Name(UPSTREAM, ast.Load())
    match partial:
        case ast.Call(func=ast.Name(id="where"), args=[condition, a, b]):
            return ast.Call(partial.func, [condition, _times_upstream(a), _times_upstream(b)], [])
        case ast.Call(func=ast.Name(id="float16"), args=[rounded]):  # round the product, not the factor
            return ast.Call(partial.func, [_times_upstream(rounded)], [])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negated = _times_upstream(operand)
            return negated if isinstance(negated, ast.Constant) else ast.UnaryOp(ast.USub(), negated)
        case ast.Constant(value=number) if number == 0:
            return ast.Constant(0)
        case ast.Constant(value=number) if number == 1:
            return upstream
        case ast.BinOp(left=ast.Constant(value=number), op=ast.Div(), right=divisor) if number == 1:
            return ast.BinOp(upstream, ast.Div(), divisor)  # 1 / divisor alone may overflow
    return ast.BinOp(upstream, ast.Mult(), partial)


class _Writer:
    """One translation: writes nested source and hoists every compound sub-expression that occurs twice."""

    def __init__(
        self, trees: list[ast.expr], names: Iterable[str], dialect: Dialect, where: str, temporary: str
    ) -> None:  # fmt: skip
        self.names = names if isinstance(names, Mapping) else {name: name for name in names}
        self.dialect, self.where, self.temporary, self.twice = dialect, where, temporary, _twice(trees)
        self.binary = {**_BINARY, ast.Div: dialect.divide, ast.Pow: dialect.power}
        self.lines: list[str] = []
        self.temporaries: dict[str, str] = {}
        self.results = [_bare(self.write(tree)) for tree in trees]

    def write(self, node: ast.expr) -> str:
        key = self.twice.get(node)
        if key is None:
            return self.compound(node)
        if key not in self.temporaries:
            source = self.compound(node)  # first: its own parts may be hoisted before it
            name = f"{self.temporary}{len(self.temporaries)}"
            self.temporaries[key] = name
            self.lines.append(f"{name} = {_bare(source)}")
        return self.temporaries[key]

    def compound(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=bool()):
                raise self.refuse(node)
            case ast.Constant(value=int() | float() as number):
                return self.dialect.literal(float(number))
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return self.dialect.literal(-float(number))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.write(operand)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in self.binary:
                return self.rounded(self.binary[type(op)].format(a=self.write(left), b=self.write(right)))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return f"({self.write(left)} {_COMPARE[type(op)]} {self.write(right)})"
            case ast.Call(func=ast.Name(id="where"), args=[c, a, b], keywords=[]):
                return self.dialect.where.format(c=self.write(c), a=self.write(a), b=self.write(b))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if FUNCTIONS.get(name) == 1:
                made = f"{self.dialect.calls.get(name, name)}({self.write(argument)})"
                return made if name == "abs" else self.rounded(made)
        raise self.refuse(node)

    def rounded(self, made: str) -> str:
        return self.dialect.rounded.format(made=_bare(made)) if self.dialect.rounded != "{made}" else made

    def refuse(self, node: ast.expr) -> InputError:
        return InputError(
            f"{self.where} must not use {shown(ast.unparse(node))}; allowed are numbers, {listing(self.names)}, + - * "
            f"/ **, one comparison at a time, and {listing(FUNCTIONS)}"
        )


def _twice(trees: list[ast.expr]) -> dict[ast.AST, str]:
    """Return the calls and sums that occur more than once, each with a key that equal ones share.

    Dumping a node is the slowest part here, so only nodes whose kind occurs more than once are dumped.
    """
    found = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call | ast.BinOp)]
    kinds = [_kind(node) for node in found]
    often = Counter(kinds)
    keys = {node: ast.dump(node) for node, kind in zip(found, kinds, strict=True) if often[kind] > 1}
    uses = Counter(keys.values())
    return {node: key for node, key in keys.items() if uses[key] > 1}


def _kind(node: ast.expr) -> object:
    """Return a key that equal nodes share; other nodes may share it too."""
    if isinstance(node, ast.BinOp):
        return type(node.op), type(node.left), type(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id, len(node.args)
    return type(node)


def _bare(source: str) -> str:
    """Return `source` without parentheses that enclose all of it."""
    depth = 0
    for i, letter in enumerate(source):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and i < len(source) - 1:
            return source
    return source[1:-1] if source.startswith("(") else source


def function_source(name: str, args: tuple[str, ...], expressions: tuple[str, ...], dialect: Dialect) -> str:
    """Return the source of ``def name(args): return e0, e1, ...``; a single expression is returned alone."""
    assignments, results = translate(expressions, args, dialect)
    body = [*assignments, f"return {', '.join(results)}"]
    return "\n".join([f"def {name}({', '.join(args)}):", *(f"    {line}" for line in body)]) + "\n"


def _ieee(function: Callable[[float], float], at_infinity: float) -> Callable[[float], float]:
    """Return `function` with NaN for a domain error and `at_infinity` for an overflow, as in IEEE 754."""

    def wrapped(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return at_infinity
        except ValueError:
            return math.nan

    return wrapped


def _log(function: Callable[[float], float], pole: float) -> Callable[[float], float]:
    return lambda x: function(x) if x > pole else (-math.inf if x == pole else math.nan)


def float16(x: float) -> float:
    """Round to the nearest float16, ties to even; infinity from 65,520 on."""
    try:
        (found,) = _FLOAT16.unpack(_FLOAT16.pack(x))
    except OverflowError:
        return math.copysign(math.inf, x)
    return float(found)


def _div(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _pow(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:  # too large; negative only for a negative base to an odd power
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:  # 0 ** negative, or a negative base to a fraction
        if a == 0:
            return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
        return math.nan


PYTHON_NAMES: dict[str, Any] = {
    "_exp": _ieee(math.exp, math.inf), "_log": _log(math.log, 0.0), "_log1p": _log(math.log1p, -1.0),
    "_sqrt": _ieee(math.sqrt, math.inf), "_sin": _ieee(math.sin, math.nan), "_cos": _ieee(math.cos, math.nan),
    "_tanh": math.tanh, "_erf": math.erf, "_erfc": math.erfc, "_abs": abs, "_float16": float16, "_div": _div,
    "_pow": _pow, "_infinity": math.inf,
}  # fmt: skip
"""The names that generated Python source needs in its namespace."""
