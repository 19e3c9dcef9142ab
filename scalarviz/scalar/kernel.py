"""The Python form of a table entry: two functions of floats, made from its expressions when first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import ops
from .emit import PYTHON, PYTHON_NAMES, function_source, translate


class Kernel:
    """A table entry that plain Python can run.

    Attributes
    ----------
    name : str
    arity : int
    value : callable
        Operands (floats) to the result.
    pull : callable
        Takes a node of this operation and adds ``node.grad * partial`` to the ``grad`` of each parent.
    """

    __slots__ = ("arity", "entry", "name", "pull", "value")

    value: Callable[..., float]
    pull: Callable[[Any], None]

    def __init__(self, entry: ops.Op, pull: Callable[[Any], None] | None = None) -> None:
        self.entry, self.name, self.arity = entry, entry.name, len(entry.args)
        self.value = _compiled("f", function_source("f", entry.args, (entry.value,), PYTHON))
        self.pull = pull or _compiled("pull", pull_source(entry))

    def __deepcopy__(self, memo: dict[int, object]) -> Kernel:
        return self  # one a table entry: nodes are told apart by it


def pull_source(entry: ops.Op) -> str:
    """Source of `Kernel.pull`.

    For the square it is

    .. code-block:: python

        def pull(_node):
            (_p0,) = _node._parents
            a = _p0.data
            y = _node.data
            _up = _node.grad
            _p0.grad += _up * (2.0 * a)

    Written out, because this is the innermost loop of the chain rule: three times as fast as a general one.
    """
    flowing = [k for k, partial in enumerate(entry.partials) if partial is not None]
    if not flowing:
        return "def pull(_node): pass\n"
    parents = [f"_p{k}" for k in range(len(entry.args))]
    expressions = tuple(entry.partials[k] or "" for k in flowing)
    assignments, results = translate(expressions, (*entry.args, "y"), PYTHON)
    lines = [
        f"({', '.join(parents)},) = _node._parents",
        *(f"{arg} = {parent}.data" for arg, parent in zip(entry.args, parents, strict=True)),
        "y = _node.data",
        *assignments,
        "_up = _node.grad",
        *(f"{parents[k]}.grad += _up * {result}" for k, result in zip(flowing, results, strict=True)),
    ]
    return "\n    ".join(["def pull(_node):", *lines]) + "\n"


def _compiled(name: str, source: str) -> Callable[..., Any]:
    namespace = dict(PYTHON_NAMES)
    exec(source, namespace)
    function: Callable[..., Any] = namespace[name]
    return function


_KERNELS: dict[str, Kernel] = {}


def kernel(name: str) -> Kernel:
    """The kernel of the operation `name`.

    Raises
    ------
    UnknownNameError
        No such operation.
    """
    found = _KERNELS.get(name)
    if found is None:
        found = _KERNELS[name] = Kernel(ops.get(name))
    return found
