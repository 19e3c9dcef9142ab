"""Functions of Values: one a table entry, made from the table, and the n-ary ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import SupportsFloat

from ..errors import InputError
from . import ops
from .dot import dot
from .kernel import kernel
from .value import Value, apply, as_value

Operand = Value | SupportsFloat


def function(name: str) -> Callable[..., Value]:
    """The function of Values that applies the operation `name` of the table.

    Raises
    ------
    UnknownNameError
        No such operation.
    """
    op = kernel(name)
    arity = op.arity

    def call(*operands: Operand) -> Value:
        if len(operands) != arity:
            raise InputError(f"{name}({', '.join(op.entry.args)}) takes {arity} operands, got {len(operands)}")
        return apply(op, *operands)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}({', '.join(op.entry.args)}) = {op.entry.value}"
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


exp, log, sqrt, sin, cos, tanh = (function(n) for n in ("exp", "log", "sqrt", "sin", "cos", "tanh"))
sigmoid, softplus, relu = function("sigmoid"), function("softplus"), function("relu")
square, minimum, maximum = function("square"), function("minimum"), function("maximum")
clip, where = function("clip"), function("where")
absolute = function("abs")


def leaky_relu(x: Operand, slope: Operand = 0.01) -> Value:
    """``x`` where positive, else ``slope * x``."""
    return apply(kernel("leaky_relu"), x, slope)


def sum(xs: Sequence[Operand]) -> Value:
    """The sum of `xs` as one node (0 for none)."""
    return dot([1.0] * len(xs), xs)


def max(xs: Sequence[Operand]) -> Value:
    """The largest of `xs`; the gradient goes to the first one that is largest.

    Raises
    ------
    InputError
        `xs` is empty.
    """
    return _fold("max", "first_max", xs)


def logsumexp(xs: Sequence[Operand]) -> Value:
    """``log(sum(exp(x)))``, without overflow.

    Raises
    ------
    InputError
        `xs` is empty.
    """
    return _fold("logsumexp", "logaddexp", xs)


def _fold(name: str, binary: str, xs: Sequence[Operand]) -> Value:
    if len(xs) == 0:
        raise InputError(f"{name} of nothing: give at least one Value")
    return reduce(partial(apply, kernel(binary)), [as_value(x) for x in xs])


# The named methods of Value that its own class only declares.
for _name in (
    "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "softplus", "relu", "leaky_relu", "abs", "square", "pow",
    "minimum", "maximum", "clip",
):  # fmt: skip
    setattr(Value, _name, leaky_relu if _name == "leaky_relu" else function(_name))
