"""What a user says of sides that a file leaves open: names that the file has, and whole numbers of at least 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..checks import integer, mapping
from ..errors import InputError, TypeMismatchError, listing, shown
from ..onnx.graph import Graph, Port
from .probe import Shape

Sides = Mapping[str, int | Shape]
"""By the name of an open side how large it is; by the name of an input the shape of one sample."""
Open = tuple[int | str | None, ...]


def open_name(port: Port, side: int | str | None, place: int) -> str:
    """How a side is called: as in the file, or ``x[1]`` by its input and its place."""
    return side if isinstance(side, str) else f"{port.name}[{place}]"


def checked(graph: Graph, given: Any) -> Sides:
    """`sides=` as numbers.

    Raises
    ------
    TypeMismatchError
        It is no mapping, or says something else than a whole number or a shape.
    InputError
        The file has no such side or input; a number is below 1.
    """
    inputs = {port.name: port for port in graph.inputs}
    open_ones = {open_name(port, side, k): None for port in graph.inputs for k, side in enumerate(port.shape or ())
                 if not isinstance(side, int)}  # fmt: skip
    found: dict[str, int | Shape] = {}
    for name, value in mapping({} if given is None else given, "load_onnx: sides").items():
        what = f"load_onnx: sides[{shown(name)}]"
        if name in open_ones:
            found[name] = integer(what, _number(value, what), 1)
        elif name in inputs:
            found[name] = _shape(value, what)
        else:
            there = f"open sides: {listing(map(shown, open_ones)) or 'none'}; inputs: {listing(map(shown, inputs))}"
            raise InputError(f"{what}: {graph.name} has no such side; {there}")
    return found


def _number(value: Any, what: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeMismatchError(f"{what} must be a whole number, got {type(value).__name__} {shown(value)}")
    return value


def _shape(value: Any, what: str) -> Shape:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise TypeMismatchError(
            f"{what} must be the shape of one sample, such as (3, 32, 32), got {type(value).__name__} {shown(value)}"
        )
    return tuple(integer(what, _number(side, what), 1) for side in value)


def told(graph: Graph, port: Port, batch: Any, sides: Sides) -> Open:
    """The shape of an input with what `sides` says, the axis of samples in it.

    Raises
    ------
    InputError
        The file does not say the shape, and neither does anybody else; or a sample has another number of sides.
    """
    given = sides.get(port.name)
    if isinstance(given, tuple):
        return _around(port, given, batch)
    if port.shape is None:
        raise InputError(
            f"{graph.name} does not say the shape of its input {port.name!r}; give that of one sample: "
            f"sv.load_onnx(path, sides={{{port.name!r}: (1, 28, 28)}})"
        )
    numbers = {name: side for name, side in sides.items() if isinstance(side, int)}
    return tuple(side if isinstance(side, int) else numbers.get(open_name(port, side, k), side)
                 for k, side in enumerate(port.shape))  # fmt: skip


def _around(port: Port, sample: Shape, batch: Any) -> Open:
    """A sample's shape with the axis of samples, which the file has or `batch` names; without one as it is."""
    known = port.shape
    alone = batch is False or (isinstance(batch, str) and known is not None and batch not in known)
    if known is not None and len(sample) != len(known) - (not alone):
        raise InputError(
            f"load_onnx: sides[{shown(port.name)}]: the input has the shape {shown(known)} in the file; one sample of "
            f"it has {len(known) - (not alone)} sides, got {shown(sample)}"
        )
    if alone:
        return sample
    place, name = 0, batch if isinstance(batch, str) else None
    if isinstance(batch, str) and known is not None:
        place = known.index(batch)
    elif isinstance(batch, int):
        place = batch % (len(sample) + 1)
    else:
        name = known[0] if known and isinstance(known[0], str) else "batch"
    return (*sample[:place], name, *sample[place:])
