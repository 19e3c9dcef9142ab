"""Functions of Values: one for each entry of the ops table, the n-ary ones, softmax, and NumPy's functions.

`MAX` is the largest of several Values as one node; the first of equal largest operands gets the gradient. A chain of
binary maxima would be wrong for NaN: one NaN makes the result NaN, and then all operands get a NaN gradient.

`Gathered` is a weight of a table that a recorded number selects. Outside a recording it is that weight itself.

NumPy itself calls the operators of elements in an array of Values (dtype object). Its functions of one Value, and
``np.float64(2) * value``, arrive here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import partial, reduce
from typing import Any, SupportsFloat

import numpy as np

from ..checks import text
from ..errors import InputError, TypeMismatchError, listing, typed
from . import ops
from .kernel import Kernel, kernel, pulls_nothing
from .number import Many
from .store import Block
from .sums import dot
from .value import Symbol, Value, apply, apply_each, as_value, binary, unary


def _largest(*numbers: float) -> float:
    found = numbers[0]
    for number in numbers:
        if not found >= number:
            found = number if found < number else found + number  # a NaN
    return found


def _pull(node: Value) -> None:
    parents, upstream = node._parents, node.grad
    if node.data != node.data:
        for parent in parents:
            parent.grad += upstream * node.data
        return
    chosen = parents[0]
    for parent in parents:
        if parent.data > chosen.data:
            chosen = parent
    chosen.grad += upstream


# The operation of the node. Its entry describes the selected operand.
MAX = Kernel(ops.Op("max", ("a",), "a", ("1",), r"\max_i a_i"), pull=_pull, value=_largest)


# The operation of the node: the selected weight gets the whole gradient, the selecting number none.
GATHER = Kernel(ops.Op("gather", ("id",), "id", (None,), r"w_{i}"), pull=pulls_nothing)


class Gathered(Symbol):
    """The number ``block[start + k * step]`` with k from `id`; NaN unless k is one of 0 .. rows - 1."""

    __slots__ = ("block", "rows", "start", "step")

    def __init__(self, block: Block, start: int, rows: int, step: int, id: Value) -> None:
        super().__init__(GATHER, (id,))
        self.block, self.start, self.rows, self.step = block, start, rows, step

    @property
    def id(self) -> Value:
        """The number that selects."""
        return self._parents[0]


Operand = Value | SupportsFloat


def function(name: str) -> Callable[..., Value]:
    """Return the function of Values that applies the operation `name` of the table.

    Raises
    ------
    UnknownNameError
        There is no such operation.
    TypeMismatchError
        `name` is no text.
    """
    op = kernel(text(name, "function: the name of an operation"))
    arity = op.arity
    make: Callable[..., Value] = unary if arity == 1 else binary if arity == 2 else apply

    def call(*operands: Any) -> Value:
        if len(operands) != arity:
            raise InputError(f"{name} takes {arity} ({listing(op.entry.args)}), got {len(operands)} operands")
        for x in operands:
            if isinstance(x, Many):
                return x.each(name, *operands)  # type: ignore[no-any-return]
        for x in operands:
            if type(x) is list:
                raise TypeMismatchError(
                    f"{name} takes numbers and arrays, got a list; for a row: {name}(np.array(row)), or "
                    f"[{name}(v) for v in row]"
                )
        return make(op, *operands)

    call.__name__ = call.__qualname__ = name
    kink = f"\n\nWhere there is no derivative: {op.entry.kink}." if op.entry.kink else ""
    call.__doc__ = f"``{name}({', '.join(op.entry.args)}) = {op.entry.value}``{kink}\n"
    return call


def register(
    name: str, args: tuple[str, ...] | str, value: str, partials: tuple[str | None, ...], **notes: str
) -> Callable[..., Value]:
    """Add an operation to the table and return it as a function of Values.

    It works with objects, in every engine and in `gradcheck` at once. See :func:`scalarviz.scalar.ops.register` for the
    arguments and errors.

    Examples
    --------
    >>> swish = register("doc_swish", "a", "a / (1 + exp(-a))", ("(1 + exp(-a) * (1 + a)) / (1 + exp(-a)) ** 2",))
    >>> round(swish(Value(1.0)).data, 4)
    0.7311
    """
    ops.register(name, args, value, partials, **notes)
    return function(name)


add, sub, mul, div, neg, pow = map(function, ("add", "sub", "mul", "div", "neg", "pow"))
exp, log, sqrt, sin, cos, tanh = map(function, ("exp", "log", "sqrt", "sin", "cos", "tanh"))
sigmoid, softplus, relu, abs, square = map(function, ("sigmoid", "softplus", "relu", "abs", "square"))
minimum, maximum, clip, where = map(function, ("minimum", "maximum", "clip", "where"))

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
    """Return ``x`` where positive, else ``slope * x``."""
    if isinstance(x, Many):
        return x.each("leaky_relu", x, slope)  # type: ignore[no-any-return]
    return apply(kernel("leaky_relu"), x, slope)


def sum(xs: Iterable[Operand] | Any, *dims: Any, **named: Any) -> Value:
    """Return the sum of `xs` as one node (0 if empty).

    Raises
    ------
    TypeMismatchError
        `xs` is no sequence of Values and numbers.
    """
    if isinstance(xs, Many):
        return xs.sum(*dims, **named)  # type: ignore[attr-defined,no-any-return]
    terms = _operands("sum", xs)
    return dot([Value(1.0)] * len(terms), terms)


def mean(xs: Iterable[Operand] | Any, *dims: Any, **named: Any) -> Value:
    """Return the mean of `xs`: their sum divided by their number.

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
        return xs.mean(*dims, **named)  # type: ignore[attr-defined,no-any-return]
    values = values_of("mean", xs)
    return sum(values) / len(values)


def max(xs: Iterable[Operand] | Any, *others: Operand, **named: Any) -> Value:
    """Return the largest of `xs`, or of several operands. The first of equal largest ones gets the gradient.

    If one is NaN, so is the result, and the gradient goes to all of them.

    Raises
    ------
    InputError
        `xs` is empty.
    TypeMismatchError
        `xs` is no sequence of Values and numbers, or one of several operands is a sequence.
    """
    if isinstance(xs, Many) and all(type(dim) is int for dim in others):
        return xs.max(*others, **named)  # type: ignore[attr-defined,no-any-return]
    _without_dim("max", named)
    if others:
        xs = _several("max", (xs, *others))
    values = values_of("max", xs)
    return apply(MAX, *values) if len(values) > 2 else reduce(partial(apply, kernel("first_max")), values)


def min(xs: Iterable[Operand] | Any, *others: Operand, **named: Any) -> Value:
    """Return the smallest of `xs`, or of several operands. The first of equal smallest ones gets the gradient.

    If one is NaN, so is the result, and the gradient goes to all of them.

    Raises
    ------
    InputError
        `xs` is empty.
    TypeMismatchError
        `xs` is no sequence of Values and numbers, or one of several operands is a sequence.
    """
    if isinstance(xs, Many) and all(type(dim) is int for dim in others):
        return xs.min(*others, **named)  # type: ignore[attr-defined,no-any-return]
    _without_dim("min", named)
    if others:
        xs = _several("min", (xs, *others))
    return -max([-x for x in values_of("min", xs)])


def logsumexp(xs: Iterable[Operand], *dims: Any, **named: Any) -> Value:
    """Return ``log(sum(exp(x)))``, without overflow.

    If the largest are infinite, they get the gradient; if all are -inf, all get it. PyTorch gives those NaN.

    Raises
    ------
    InputError
        `xs` is empty.
    TypeMismatchError
        `xs` is no sequence of Values and numbers.
    """
    if isinstance(xs, Many) and (dims or named):
        return xs.logsumexp(*dims, **named)  # type: ignore[attr-defined,no-any-return]
    _without_dim("logsumexp", dims or named)
    return reduce(partial(apply, kernel("logaddexp")), values_of("logsumexp", xs))


def _without_dim(name: str, given: Any) -> None:
    """Refuse `dim` for numbers in a list, which would be ignored."""
    if given:
        raise TypeMismatchError(f"{name} of a list takes no dim; write {name}(sv.stack(rows), dim=-1) for an array")


def _several(name: str, operands: Sequence[Any]) -> list[Operand]:
    """Return the operands of ``max(a, b)``, which must be numbers as in Python."""
    for x in operands:
        if not _alone(x) and isinstance(x, Iterable | Sized):
            raise TypeMismatchError(
                f"{name}(a, b) takes numbers and Values, {name}(xs) takes one sequence; got {type(x).__name__} among "
                f"several arguments. sv.{name}imum(p, q) compares two arrays element by element"
            )
    return list(operands)


def _alone(x: Any) -> bool:
    """Return whether it is one number, even if it has a length."""
    return isinstance(x, Value) or (isinstance(x, np.ndarray) and x.ndim == 0)


def values_of(name: str, xs: Iterable[Operand]) -> list[Value]:
    """Return `xs` as Values, at least one."""
    terms = _operands(name, xs)
    if len(terms) == 0:
        raise InputError(f"{name} needs at least one Value, got none")
    return [as_value(x) for x in terms]


def _operands(name: str, xs: Iterable[Operand]) -> Sequence[Operand]:
    """Return `xs` unchanged if it has a length (a lazy row of a layer stays lazy), else its elements."""
    alone = isinstance(xs, Value) or (isinstance(xs, np.ndarray) and xs.ndim == 0)
    if alone or not isinstance(xs, Iterable | Sized):
        raise TypeMismatchError(f"{name} takes one sequence, such as {name}([a, b]); got {typed(xs)}")
    return xs if isinstance(xs, Sized) else tuple(xs)  # type: ignore[return-value]


# The methods that the class Value only declares.
for _name in ops.TABLE.keys() & Value.__annotations__:
    setattr(Value, _name, leaky_relu if _name == "leaky_relu" else function(_name))


_EXP, _SUB, _HELD_MAX = kernel("exp"), kernel("sub"), kernel("held_max")


def shares(row: list[Value]) -> list[Value]:
    """Return ``exp(x) / sum(exp(row))`` for each number, without overflow."""
    exponentials = apply_each(_EXP, shifted(values_of("softmax", row)))
    factor = 1.0 / sum(exponentials)
    return [e * factor for e in exponentials]


def log_shares(row: list[Value]) -> list[Value]:
    """Return the logarithms of :func:`shares`."""
    differences, total = parted(values_of("log_softmax", row))
    return [difference - total for difference in differences]


def parted(row: list[Value]) -> tuple[list[Value], Value]:
    """Return the numbers minus the largest one, and the logarithm of the sum of their exponentials."""
    differences = shifted(row)
    return differences, log(sum(apply_each(_EXP, differences)))


def shifted(row: list[Value]) -> list[Value]:
    """Return the numbers minus the largest one, which is found in pairs: log2(n) levels instead of n.

    The shift cancels from the result, so no gradient goes through it (operation ``held_max``).
    """
    level = row
    while len(level) > 1:
        paired = [apply(_HELD_MAX, a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = paired if len(level) % 2 == 0 else [*paired, level[-1]]
    return [apply(_SUB, x, level[0]) for x in row]


SAME = ("exp", "log", "sqrt", "sin", "cos", "tanh", "square", "maximum", "minimum")
OPERATIONS = {
    **{name: name for name in SAME},
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow", "float_power": "pow",
    "negative": "neg", "absolute": "abs", "fabs": "abs", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge",
}  # fmt: skip
"""Names of NumPy functions, and of the operations that they are."""


def call(ufunc: Any, method: str, operands: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """Apply NumPy's `ufunc` to Values; TypeMismatchError if there is no such operation, or for an array method."""
    if any(isinstance(operand, Many) for operand in operands):
        return NotImplemented  # it calls back for each element
    name = ufunc.__name__
    if name in ("equal", "not_equal") and method == "__call__" and not options:
        a, b = operands if isinstance(operands[0], Value) else operands[::-1]
        return a.__eq__(b) is (name == "equal")  # == would call NumPy again
    if name not in OPERATIONS or method != "__call__" or options:
        asked = name if method == "__call__" else f"{name}.{method}"
        raise TypeMismatchError(
            f"np.{asked} of a Value{' with options' if options else ''} is not supported; use np.{listing(OPERATIONS)}"
            ", sv.sin, sv.dot and the like, or add an operation with sv.register"
        )
    if any(getattr(operand, "ndim", 0) for operand in operands):
        raise TypeMismatchError(
            f"np.{name} of a Value and an array: a Value is one number. Write sv.stack([value]) * array, or [x * value "
            "for x in array]"
        )
    return apply(kernel(OPERATIONS[name]), *operands)


Value.numpy_call = staticmethod(call)
