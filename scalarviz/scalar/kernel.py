"""The Python form of a table entry: two functions of floats, made from its expressions when first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import ops
from .emit import PYTHON, PYTHON_NAMES, function_source


class Kernel:
    """A table entry that plain Python can run.

    Attributes
    ----------
    name : str
    arity : int
    value : callable
        Operands (floats) to the result.
    partials : callable
        Operands and result to the tuple of derivatives, None where no gradient flows.
    """

    __slots__ = ("arity", "entry", "name", "partials", "value")

    value: Callable[..., float]
    partials: Callable[..., tuple[float | None, ...]]

    def __init__(self, entry: ops.Op) -> None:
        self.entry, self.name, self.arity = entry, entry.name, len(entry.args)
        flowing = tuple(p for p in entry.partials if p is not None)
        self.value = _function(entry.args, (entry.value,))
        tuple_of_flowing = _function((*entry.args, "y"), flowing) if flowing else None
        self.partials = _spread(entry.partials, tuple_of_flowing)


def _function(args: tuple[str, ...], expressions: tuple[str, ...]) -> Callable[..., Any]:
    namespace = dict(PYTHON_NAMES)
    exec(function_source("f", args, expressions, PYTHON), namespace)
    function: Callable[..., Any] = namespace["f"]
    return function


def _spread(
    partials: tuple[str | None, ...], flowing: Callable[..., Any] | None
) -> Callable[..., tuple[float | None, ...]]:
    """A function that always returns one entry an operand, in a tuple."""
    if flowing is None:
        return lambda *_: (None,) * len(partials)
    present = [p is not None for p in partials]
    if all(present) and len(partials) > 1:
        return flowing

    def partials_of(*numbers: float) -> tuple[float | None, ...]:
        found = flowing(*numbers)
        results = iter(found if isinstance(found, tuple) else (found,))
        return tuple(next(results) if here else None for here in present)

    return partials_of


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
