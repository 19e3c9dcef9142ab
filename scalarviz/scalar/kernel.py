"""The Python forms of a table entry, made from its expressions at first use: functions of floats, and of arrays.

`define` runs generated source so that `inspect`, tracebacks and debuggers can show it.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import ops
from .emit import NUMPY, PYTHON, PYTHON_NAMES, UPSTREAM, adjoint, function_source, translate
from .erf import erf, erfc

Array = NDArray[Any]


def define(name: str, source: str, namespace: dict[str, Any]) -> None:
    """Run `source` in `namespace`, as the text of a file called ``<scalarviz name>``.

    Another text under the same name replaces the first, so nothing accumulates.
    """
    file = f"<scalarviz {name}>"
    # no modification time: linecache then does not look for a file on disk
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), namespace)


class Kernel:
    """A table entry as Python functions.

    Examples
    --------
    >>> print(kernel("square").source.partition("def")[0])
    # square(a) = a * a
    # its derivative with respect to a: 2 * a
    <BLANKLINE>
    <BLANKLINE>
    """

    __slots__ = ("arity", "entry", "flowing", "name", "partly", "pull", "source", "straight", "value")

    value: Callable[..., float]
    pull: Callable[[Any], None]  # takes a node and adds `node.grad * partial` to the `grad` of each parent

    def __init__(
        self, entry: ops.Op, pull: Callable[[Any], None] | None = None, value: Callable[..., float] | None = None
    ) -> None:
        self.entry, self.name, self.arity = entry, entry.name, len(entry.args)
        # the operands that get a derivative, whether some get none, and whether a backward walk may visit all parents
        # of a node without asking
        self.flowing = tuple(k for k, partial in enumerate(entry.partials) if partial is not None)
        self.partly = len(self.flowing) < self.arity
        self.straight = pull is None and not self.partly
        self.source = _source(entry, with_value=value is None, with_pull=pull is None)
        namespace = dict(PYTHON_NAMES)
        define(entry.name, self.source, namespace)
        self.value = value or namespace["value"]
        self.pull = pull or namespace["pull"]

    def __deepcopy__(self, memo: dict[int, object]) -> Kernel:
        return self  # one for each table entry: its identity marks the operation of a node


def pulls_nothing(node: Any) -> None:
    """Do nothing: the pull of a node that passes on no gradient among objects. Engines have their own rule."""


def pull_source(entry: ops.Op) -> str:
    """Return the source of `Kernel.pull`.

    For the square it is

    .. code-block:: python

        def pull(_node):
            (_p0,) = _node._parents
            a = _p0.data
            _up = _node.grad
            _p0.grad += _up * (2.0 * a)

    It is written out because this is the innermost loop of the chain rule: three times as fast as a general one. It
    reads only the numbers that its formulas use.
    """
    flowing = [k for k, partial in enumerate(entry.partials) if partial is not None]
    if not flowing:
        return "def pull(_node): pass\n"
    parents = [f"_p{k}" for k in range(len(entry.args))]
    expressions = tuple(adjoint(entry.partials[k] or "") for k in flowing)
    assignments, results = translate(expressions, (*entry.args, "y", UPSTREAM), PYTHON)
    used = {node.id for text in expressions for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    numbers = {**{arg: f"{parent}.data" for arg, parent in zip(entry.args, parents, strict=True)}, "y": "_node.data"}
    lines = [
        f"({', '.join(parents)},) = _node._parents",
        *(f"{name} = {number}" for name, number in numbers.items() if name in used),
        f"{UPSTREAM} = _node.grad",
        *assignments,
        *(f"{parents[k]}.grad += {result}" for k, result in zip(flowing, results, strict=True)),
    ]
    return "\n    ".join(["def pull(_node):", *lines]) + "\n"


def _source(entry: ops.Op, with_value: bool, with_pull: bool) -> str:
    lines = [f"# {entry.name}({', '.join(entry.args)}) = {entry.value}"]
    for arg, partial in zip(entry.args, entry.partials, strict=True):
        lines.append(f"# its derivative with respect to {arg}: {partial or 'none'}")
    parts = ["\n".join(lines) + "\n"]
    if with_value:
        parts.append(function_source("value", entry.args, (entry.value,), PYTHON))
    if with_pull:
        parts.append("\n" + pull_source(entry))
    return "\n".join(parts)


_KERNELS: dict[str, Kernel] = {}


def kernel(name: str) -> Kernel:
    """Return the kernel of the operation `name`; UnknownNameError if there is none."""
    found = _KERNELS.get(name)
    if found is None:
        found = _KERNELS[name] = Kernel(ops.get(name))
    return found


@cache
def numpy_form(name: str, dtype: np.dtype[Any]) -> tuple[Callable[..., Array], tuple[Callable[..., Array] | None, ...]]:
    """Return the functions of an operation on arrays: its value, and the gradient of each operand (None: it has none).

    The value takes the operands. A gradient takes the operands, the value and the upstream gradient.
    """
    op = ops.get(name)
    dialect = replace(NUMPY, literal=_literal)
    namespace: dict[str, Any] = {"_np": np, "_erf": erf, "_erfc": erfc, "_float16": float16, "_number": dtype.type}
    exec(function_source("value", op.args, (op.value,), dialect), namespace)
    for k, partial in enumerate(op.partials):
        if partial is not None:
            exec(function_source(f"pull_{k}", (*op.args, "y", UPSTREAM), (adjoint(partial),), dialect), namespace)
    return namespace["value"], tuple(namespace.get(f"pull_{k}") for k in range(len(op.partials)))


def float16(x: Array) -> Array:
    """Return the nearest float16 numbers, in the dtype of `x`; infinite from 65,520 on."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(x).astype(np.float16).astype(x.dtype)


def _literal(number: float) -> str:
    return f"_number('{number!r}')"  # a plain float would make np.where(c, 1.0, 0.0) float64
