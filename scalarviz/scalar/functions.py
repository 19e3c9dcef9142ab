"""Functions of Values: one a table entry, made from the table, and the n-ary ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from functools import partial, reduce
from typing import Any, SupportsFloat

import numpy as np

from ..checks import text
from ..errors import InputError, TypeMismatchError
from . import ops
from .dot import dot
from .kernel import kernel
from .largest import MAX
from .many import Many
from .single import Single
from .value import Value, apply, as_value, binary, unary

Operand = Value | SupportsFloat


def function(name: str) -> Callable[..., Value]:
    """The function of Values that applies the operation `name` of the table.

    Raises
    ------
    UnknownNameError
        No such operation.
    TypeMismatchError
        `name` is no text.
    """
    op = kernel(text(name, "function: the name of an operation"))
    arity = op.arity
    make: Callable[..., Value] = unary if arity == 1 else binary if arity == 2 else apply

    def call(*operands: Operand) -> Value:
        if len(operands) != arity:
            raise InputError(f"{name}({', '.join(op.entry.args)}) takes {arity} operands, got {len(operands)}")
        for x in operands:
            if isinstance(x, Many):
                return x.each(name, *operands)  # type: ignore[no-any-return]
        return make(op, *operands)

    call.__name__ = call.__qualname__ = name
    kink = f"\n\nWhere there is no derivative: {op.entry.kink}." if op.entry.kink else ""
    call.__doc__ = f"``{name}({', '.join(op.entry.args)}) = {op.entry.value}``{kink}\n"
    return call


def register(
    name: str, args: tuple[str, ...] | str, value: str, partials: tuple[str | None, ...], **notes: str
) -> Callable[..., Value]:
    """Add an operation to the table and return it as a function of Values.

    It works in objects, in every engine and in `gradcheck` at once; see :func:`scalarviz.scalar.ops.register`
    for the arguments and errors.

    Examples
    --------
    >>> swish = register("doc_swish", "a", "a / (1 + exp(-a))", ("(1 + exp(-a) * (1 + a)) / (1 + exp(-a)) ** 2",))
    >>> round(swish(Value(1.0)).data, 4)
    0.7311
    """
    ops.register(name, args, value, partials, **notes)
    return function(name)


add, sub, mul, div = function("add"), function("sub"), function("mul"), function("div")
neg, pow = function("neg"), function("pow")
exp, log, sqrt, sin, cos, tanh = (function(n) for n in ("exp", "log", "sqrt", "sin", "cos", "tanh"))
sigmoid, softplus, relu = function("sigmoid"), function("softplus"), function("relu")
square, minimum, maximum = function("square"), function("minimum"), function("maximum")
clip, where = function("clip"), function("where")
abs = function("abs")

where.__doc__ = f"""{where.__doc__}
Notes
-----
Both branches are computed, and the one that is not chosen gets the gradient 0, which its own derivatives multiply: an
infinite one makes NaN of it, as in PyTorch. So keep a dangerous operand out of a branch with a second `where` inside.

Examples
--------
The derivative of the root is infinite at 0, although the root is not chosen there:

>>> x = Value(0.0)
>>> where(x > 0, sqrt(x), 0.0).backward()
>>> x.grad
nan

With `where` twice the root never sees the 0:

>>> x = Value(0.0)
>>> where(x > 0, sqrt(where(x > 0, x, 1.0)), 0.0).backward()
>>> x.grad
0.0
"""


def leaky_relu(x: Operand, slope: Operand = 0.01) -> Value:
    """``x`` where positive, else ``slope * x``."""
    if isinstance(x, Many):
        return x.each("leaky_relu", x, slope)  # type: ignore[no-any-return]
    return apply(kernel("leaky_relu"), x, slope)


def sum(xs: Iterable[Operand]) -> Value:
    """The sum of `xs` as one node (0 for none).

    Raises
    ------
    TypeMismatchError
        `xs` is no sequence of Values and numbers.
    """
    if isinstance(xs, Many):
        return xs.reduced("sum")  # type: ignore[no-any-return]
    terms = _operands("sum", xs)
    return dot([Value(1.0)] * len(terms), terms)


def mean(xs: Iterable[Operand]) -> Value:
    """The mean of `xs`: their sum, divided by how many they are.

    Raises
    ------
    InputError
        `xs` is empty.
    TypeMismatchError
        `xs` is no sequence of Values and numbers.

    Examples
    --------
    >>> mean([Value(1.0), Value(2.0), 6.0]).data
    3.0
    """
    if isinstance(xs, Many):
        return xs.reduced("mean")  # type: ignore[no-any-return]
    values = _values("mean", xs)
    return sum(values) / len(values)


def max(xs: Iterable[Operand] | Any, *others: Operand) -> Value:
    """The largest of `xs`, or of several operands; the gradient goes to the first one that is largest.

    If one is NaN, so is the result, and the gradient goes to all of them.

    Raises
    ------
    InputError
        `xs` is empty.
    TypeMismatchError
        `xs` is no sequence of Values and numbers, or one of several operands is a sequence.
    """
    if others:
        xs = _several("max", (xs, *others))
    if isinstance(xs, Many):
        return xs.reduced("max")  # type: ignore[no-any-return]
    values = _values("max", xs)
    return apply(MAX, *values) if len(values) > 2 else reduce(partial(apply, kernel("first_max")), values)


def min(xs: Iterable[Operand] | Any, *others: Operand) -> Value:
    """The smallest of `xs`, or of several operands; the gradient goes to the first one that is smallest.

    If one is NaN, so is the result, and the gradient goes to all of them.

    Raises
    ------
    InputError
        `xs` is empty.
    TypeMismatchError
        `xs` is no sequence of Values and numbers, or one of several operands is a sequence.
    """
    if others:
        xs = _several("min", (xs, *others))
    if isinstance(xs, Many):
        return xs.reduced("min")  # type: ignore[no-any-return]
    return -max([-x for x in _values("min", xs)])


def logsumexp(xs: Iterable[Operand]) -> Value:
    """``log(sum(exp(x)))``, without overflow.

    Where the largest are infinite the gradient goes to them, where all are -inf to all (PyTorch: NaN to these).

    Raises
    ------
    InputError
        `xs` is empty.
    TypeMismatchError
        `xs` is no sequence of Values and numbers.
    """
    return reduce(partial(apply, kernel("logaddexp")), _values("logsumexp", xs))


def _several(name: str, operands: Sequence[Any]) -> list[Operand]:
    """The operands of ``max(a, b)``: numbers, as Python's takes them."""
    for x in operands:
        if not _alone(x) and isinstance(x, Iterable | Sized):
            raise TypeMismatchError(
                f"{name}(a, b) takes numbers and Values, {name}(xs) one sequence; got {type(x).__name__} as one of "
                f"several; sv.{name}imum(p, q) goes through two arrays number by number"
            )
    return list(operands)


def _alone(x: Any) -> bool:
    """Whether it is one number, although it may have a length."""
    return isinstance(x, Value | Single) or (isinstance(x, np.ndarray) and x.ndim == 0)


def _values(name: str, xs: Iterable[Operand]) -> list[Value]:
    """`xs` as Values, at least one."""
    terms = _operands(name, xs)
    if len(terms) == 0:
        raise InputError(f"{name} of nothing: give at least one Value")
    return [as_value(x) for x in terms]


def _operands(name: str, xs: Iterable[Operand]) -> Sequence[Operand]:
    """`xs` as it is if it has a length (a layer's lazy row stays lazy), else its elements."""
    alone = isinstance(xs, Value) or (isinstance(xs, np.ndarray) and xs.ndim == 0)
    if alone or not isinstance(xs, Iterable | Sized):
        raise TypeMismatchError(f"{name} takes one sequence, as {name}([a, b]); got {type(xs).__name__}")
    return xs if isinstance(xs, Sized) else tuple(xs)  # type: ignore[return-value]


# The named methods of Value that its own class only declares.
for _name in (
    "add", "sub", "mul", "div", "neg", "pow", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "softplus", "relu",
    "leaky_relu", "abs", "square", "minimum", "maximum", "clip", "where",
):  # fmt: skip
    setattr(Value, _name, leaky_relu if _name == "leaky_relu" else function(_name))
