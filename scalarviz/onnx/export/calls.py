"""A module as a tape, with the calls of the layers that write their own nodes: what each was given and gave back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scalar import Value, tracing
from ...scalar.nested import every, flatten, nest, shape_of
from ...tape import Tape, record
from .sheet import Shape

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Group:
    """Numbers of a sample that stand together.

    Attributes
    ----------
    rows : ndarray of int64, shape (prod(shape),)
        Of the tape, in C order.
    shape : tuple of int
    """

    rows: Rows
    shape: Shape


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a layer.

    Attributes
    ----------
    module : object
    inputs : tuple of Group
    more : tuple
        What it was given that is no Value.
    output : Group
    """

    module: Any
    inputs: tuple[Group, ...]
    more: tuple[Any, ...]
    output: Group


@dataclass(frozen=True, slots=True)
class Recorded:
    """A module, recorded in evaluation.

    Attributes
    ----------
    tape : Tape
    inputs, outputs : tuple of Group
    calls : tuple of Call
        In the order in which they ended.
    """

    tape: Tape
    inputs: tuple[Group, ...]
    outputs: tuple[Group, ...]
    calls: tuple[Call, ...]


def recorded(module: Any, shapes: Sequence[Shape]) -> Recorded:
    """Call a module with one sample of symbols, of these shapes.

    Raises
    ------
    TracingError
        It asks one for its number.
    InputError
        It cannot take such a sample, or returns no Values.
    """
    kept: list[tuple[Any, list[Any], list[Any], Any]] = []
    parts: list[tuple[list[Value], Shape]] = []

    def run(row: list[Value]) -> list[Value]:
        recorder = tracing.active()
        assert recorder is not None
        recorder.evaluation, recorder.calls = True, []
        result = module(*(_sample(row[a:b], shape) for (a, b), shape in zip(_spans(shapes), shapes, strict=True)))
        parts.extend(_parts(result))
        for layer, given, made in recorder.calls:
            if writes_itself(layer):
                values = [x for x in given if flatten(x)]
                kept.append((layer, values, [x for x in given if not flatten(x)], made))
                parts.extend((flatten(x), shape_of(x)) for x in (*values, made))
        return [value for values, _ in parts for value in values]

    tape = record(run, sum(map(prod, shapes)))
    ends = pairwise(accumulate((len(values) for values, _ in parts), initial=0))
    rows = np.array(tape.outputs, np.int64)
    groups = [Group(rows[a:b], shape) for (a, b), (_, shape) in zip(ends, parts, strict=True)]
    calls, behind = [], len(groups) - sum(len(values) + 1 for _, values, _, _ in kept)
    outputs = tuple(groups[:behind])
    for layer, values, more, _ in kept:
        end = behind + len(values)
        calls.append(Call(layer, tuple(groups[behind:end]), tuple(more), groups[end]))
        behind = end + 1
    inputs = tuple(Group(np.arange(a, b), shape) for (a, b), shape in zip(_spans(shapes), shapes, strict=True))
    return Recorded(tape, inputs, outputs, tuple(calls))


def writes_itself(module: Any) -> bool:
    """Whether a module has a ``write_onnx`` that goes with its forward: no subclass has changed what is computed."""
    kinds = type(module).__mro__
    forward, written = (next((k for k in kinds if name in vars(k)), None) for name in ("forward", "write_onnx"))
    if forward is None or written is None or "forward" in vars(module):
        return False
    return kinds.index(written) <= kinds.index(forward) and bool(getattr(module, "in_onnx", True))


def _spans(shapes: Sequence[Shape]) -> list[tuple[int, int]]:
    return list(pairwise(accumulate(map(prod, shapes), initial=0)))


def _sample(row: list[Value], shape: Shape) -> Any:
    return nest(row, shape) if shape else row[0]


def _parts(result: Any) -> list[tuple[list[Value], Shape]]:
    """What a module returned: a tuple of lists is several outputs."""
    if isinstance(result, tuple) and not all(isinstance(x, Value) or np.isscalar(x) for x in result):
        return [part for x in result if x is not None for part in _parts(list(x) if isinstance(x, tuple) else x)]
    values = every(result, "the module")
    return [(values, _shape(result, len(values)))]


def _shape(result: Any, count: int) -> Shape:
    """The shape of what was returned; of ragged lists that of a row."""
    if isinstance(result, Value):
        return ()
    try:
        shape = shape_of(_as_lists(result))
    except ValueError:
        return (count,)
    return shape if prod(shape) == count else (count,)


def _as_lists(x: Any) -> Any:
    if hasattr(x, "as_values"):
        x = x.as_values()
    if isinstance(x, np.ndarray):
        return x.tolist()
    return [_as_lists(item) for item in x] if isinstance(x, list | tuple) else x
