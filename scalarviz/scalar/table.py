"""What an operation of the table is, and how one is added (the formulas themselves: :mod:`scalarviz.scalar.ops`)."""

from __future__ import annotations

import keyword
from dataclasses import dataclass

from ..errors import InputError, TypeMismatchError, UnknownNameError, listing, shown
from . import emit


@dataclass(frozen=True, slots=True)
class Op:
    """One scalar operation.

    Attributes
    ----------
    name : str
        Its name as a function and, for the built-in ones, as a method of ``Value``.
    args : tuple of str
        Names of its operands, one to three.
    value : str
        The result as an expression of the operands.
    partials : tuple of (str or None)
        The derivative of the result by each operand, an expression of the operands and ``y``.
        None: no gradient flows to that operand.
    latex : str
        How a book prints it.
    kink : str
        What the derivative is where there is none, and where PyTorch has another one.
    """

    name: str
    args: tuple[str, ...]
    value: str
    partials: tuple[str | None, ...]
    latex: str = ""
    kink: str = ""

    def expressions(self) -> tuple[str, ...]:
        """All the formulas of the entry, the value first (what a cache key must cover)."""
        return (self.value, *(p or "" for p in self.partials))


TABLE: dict[str, Op] = {}
"""Every registered operation by name, in order of registration."""


def register(
    name: str,
    args: tuple[str, ...] | str,
    value: str,
    partials: tuple[str | None, ...],
    *,
    latex: str = "",
    kink: str = "",
) -> Op:
    """Add an operation to the table; every engine and ``gradcheck`` can use it at once.

    Parameters
    ----------
    name : str
        A new name, a valid Python identifier.
    args : tuple of str or str
        Operand names (``"a b"`` is the same as ``("a", "b")``), one to three.
    value, partials : str, tuple of (str or None)
        Expressions, see :class:`Op`.

    Returns
    -------
    Op

    Raises
    ------
    InputError
        The name is taken or no identifier, the numbers of operands and derivatives differ, or an expression
        uses something outside the vocabulary.
    TypeMismatchError
        A name, an operand or an expression is no text.
    """
    _check_kinds(name, args, value, partials)
    names = tuple(args.split()) if isinstance(args, str) else tuple(args)
    _check_entry(name, names, partials)
    op = Op(name, names, value, tuple(partials), latex or name, kink)
    emit.check(value, names, where=f"the value of operation {shown(name)}")
    for arg, partial in zip(names, op.partials, strict=True):
        if partial is not None:
            emit.check(partial, (*names, "y"), where=f"the derivative of {shown(name)} by {shown(arg)}")
    TABLE[name] = op
    return op


def _check_kinds(name: object, args: object, value: object, partials: object) -> None:
    texts = [name, value, *(args if isinstance(args, list | tuple) else [args])]
    if not all(isinstance(text, str) for text in texts):
        raise TypeMismatchError(
            f"register {shown(name)}: the name, the operands and the value are texts, got {shown(texts)}"
        )
    if not isinstance(partials, list | tuple) or not all(p is None or isinstance(p, str) for p in partials):
        raise TypeMismatchError(
            f"register {shown(name)}: derivatives are a tuple of texts or None, got {shown(partials)}"
        )


RESERVED = (
    "input", "const", "param", "buffer", "dot", "max", "squares", "mask", "layer", "gather", "total", "batch_mean",
)  # fmt: skip
"""Nodes of a graph or of a tape that are no entries."""


def _check_entry(name: str, args: tuple[str, ...], partials: tuple[str | None, ...]) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"register: the name must be a Python identifier, got {shown(name)}")
    if name in RESERVED:
        raise InputError(f"register: {name!r} is a node of graphs already that is no operation; choose another name")
    if name in TABLE:
        raise InputError(f"register: an operation {shown(name)} exists already; choose another name")
    if "y" in args:
        raise InputError(
            f"register {shown(name)}: 'y' names the result in a derivative, so no operand can be called so; got "
            f"{shown(args)}, take another letter"
        )
    names = all(a.isidentifier() and not keyword.iskeyword(a) and not a.startswith("_") for a in args)
    if not 1 <= len(args) <= 3 or len(set(args)) != len(args) or not names:
        raise InputError(
            f"register {shown(name)}: one to three different operand names, Python identifiers that do not begin "
            f"with '_'; got {shown(args)}"
        )
    if len(partials) != len(args):
        raise InputError(
            f"register {shown(name)}: {len(args)} operands need {len(args)} derivatives, got {len(partials)}"
        )


def get(name: str) -> Op:
    """The entry of that name.

    Raises
    ------
    UnknownNameError
        There is none; the message lists those that exist.
    """
    try:
        return TABLE[name]
    except KeyError:
        raise UnknownNameError(f"no operation {shown(name)}; there are {listing(TABLE)}") from None
