"""Lanes: find the sample axis of a graph's tensors, and check that samples are not mixed.

A file computes many samples at once, a Module one. So the graph is computed once with random numbers for one sample,
which gives the shape and type of every tensor. A test with several samples then checks that together they give the
same results as alone. `Sides` are sizes that the file leaves open and that the user gives by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..checks import integer, mapping
from ..errors import InputError, ScalarvizError, TypeMismatchError, listing, shown, typed
from ..onnx.graph import Array, Graph, Node, Port
from .operators.arrays import Tensors
from .operators.table import SIDES, TABLE, compute

MOST_ENTERED = 10_000_000
"""The most numbers of one sample of an input: each becomes a Value."""

MOST_TRIED = 1 << 25
"""The most numbers of an input, for the number of samples that the file is made for."""

MOST_MADE = 1 << 28
"""The most numbers that all nodes together make of one sample."""

MOST_HELD = 1 << 27
"""The most of these numbers that are kept at one time."""


class Allowance:
    """Counts the numbers that nodes make; the limits are multiplied by the number of samples."""

    def __init__(self, times: int = 1) -> None:
        self._times = times
        self._made = self._held = 0
        self._sizes: dict[str, int] = {}

    def add_made(self, node: Node, tensors: Mapping[str, Array]) -> None:
        """Count the results of a node; a view of another array counts as nothing."""
        for name in node.outputs:
            array = tensors.get(name)
            if array is None or name in self._sizes:
                continue
            own = not any(np.may_share_memory(array, tensors[other]) for other in node.inputs if other)
            self._sizes[name] = array.size if own else 0
            self._made += array.size
            self._held += self._sizes[name]
        if self._made > self._times * MOST_MADE or self._held > self._times * MOST_HELD:
            raise InputError(
                f"the nodes up to {node.operator} {shown(node.name)} compute {self._made:,} numbers (allowed: "
                f"{self._times * MOST_MADE:,}) and hold {self._held:,} at a time (allowed: "
                f"{self._times * MOST_HELD:,}); export the network with smaller inputs"
            )

    def dropped(self, names: Sequence[str]) -> None:
        """Subtract tensors that are no longer needed."""
        for name in names:
            self._held -= self._sizes.pop(name, 0)


def folded(graph: Graph, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Tensors:
    """Return the constants and everything that the graph computes from them alone.

    With known `shapes`, results computed from shapes are known too.
    """
    tensors = dict(graph.constants)
    stored = sum(array.size for array in tensors.values())
    allowance = Allowance(1 + 2 * stored // MOST_HELD)
    for node in graph.nodes:
        if node.operator not in TABLE:
            continue
        if all(name in tensors for name in node.inputs if name):
            try:
                compute(node, tensors, graph.opset, {})
                allowance.add_made(node, tensors)
            except InputError as error:
                raise InputError(f"{graph.name!r}: {error}") from None
        elif shapes and node.operator in SIDES and node.inputs[0] in shapes:
            one = {node.inputs[0]: np.broadcast_to(np.zeros(()), shapes[node.inputs[0]])}
            compute(node, one, graph.opset, {})
            tensors |= {name: one[name] for name in node.outputs}
    return tensors


def last_uses(nodes: Sequence[Node], kept: set[str]) -> list[list[str]]:
    """Return, for each node, the tensors that no later node reads, except those that are `kept`."""
    seen, found = set(kept), []
    for node in reversed(nodes):
        names = {*node.inputs, *node.outputs} - seen
        seen |= names
        found.append([name for name in names if name])
    return found[::-1]


Shape = tuple[int, ...]


@dataclass(frozen=True)
class Probe:
    """Shapes and types of all tensors, and the outputs that were kept."""

    shapes: Mapping[str, Shape]
    dtypes: Mapping[str, np.dtype[Any]]
    outputs: Mapping[str, Array]


def probed(
    graph: Graph, constants: Tensors, inputs: Mapping[str, Array], kept: Sequence[str], samples: int = 1
) -> Probe:
    """Compute the graph with numbers; tensors that are no longer needed are dropped."""
    tensors = {**constants, **inputs}
    shapes = {name: array.shape for name, array in tensors.items()}
    dtypes = {name: array.dtype for name, array in tensors.items()}
    allowance = Allowance(samples)
    for node, over in zip(graph.nodes, last_uses(graph.nodes, {*kept}), strict=True):
        if not all(name in constants for name in node.outputs if name):
            compute(node, tensors, graph.opset, dtypes)
            allowance.add_made(node, tensors)
            for name in node.outputs:
                if name in tensors:
                    shapes[name], dtypes[name] = tensors[name].shape, tensors[name].dtype
        allowance.dropped(over)
        for name in over:
            if name not in constants:
                tensors.pop(name, None)
    return Probe(shapes, dtypes, {name: tensors[name] for name in kept})


def drawn(port: Port, shape: Shape, seed: int) -> Array:
    """Return random numbers for an input: normal floats, or 0 and 1 for other types, valid as row numbers."""
    dtype = port.dtype or np.dtype(np.float32)
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        return np.asarray(rng.normal(size=shape), dtype)
    return np.asarray(rng.integers(0, 2, shape), dtype)


Sides = Mapping[str, int | Shape]
"""The size of each open side by name, or the shape of one sample by the name of an input."""
Open = tuple[int | str | None, ...]


def open_name(port: Port, side: int | str | None, place: int) -> str:
    """Return the name of a side: the file's name, or ``x[1]`` from its input and its place."""
    return side if isinstance(side, str) else f"{port.name}[{place}]"


def checked(graph: Graph, given: Any) -> Sides:
    """Return the checked `sides=` argument as numbers."""
    inputs = {port.name: port for port in graph.inputs}
    open_ones = {open_name(port, side, k): None for port in graph.inputs for k, side in enumerate(port.shape or ())
                 if not isinstance(side, int)}  # fmt: skip
    found: dict[str, int | Shape] = {}
    for name, value in mapping({} if given is None else given, "load_onnx: sides").items():
        what = f"load_onnx: sides[{shown(name)}]"
        if name in open_ones:
            found[name] = integer(what, value, 1)
        elif name in inputs:
            found[name] = _shape(value, what)
        else:
            there = f"{listing(map(shown, open_ones)) or 'none'}, or inputs: {listing(map(shown, inputs))}"
            raise InputError(f"{what}: {graph.name!r} has no dimension {shown(name)}; allowed: {there}")
    return found


def _shape(value: Any, what: str) -> Shape:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise TypeMismatchError(f"{what} must be the shape of one sample, such as (3, 32, 32), got {typed(value)}")
    return tuple(integer(what, side, 1) for side in value)


def input_shape(graph: Graph, port: Port, batch: Any, sides: Sides) -> Open:
    """Return the shape of an input, with the sizes from `sides` and the sample axis."""
    given = sides.get(port.name)
    if isinstance(given, tuple):
        return _around(port, given, batch)
    if port.shape is None:
        raise InputError(
            f"{graph.name!r}: the input {port.name!r} has no shape; give the shape of one sample: "
            f"sv.load_onnx(path, sides={{{port.name!r}: (1, 28, 28)}})"
        )
    numbers = {name: side for name, side in sides.items() if isinstance(side, int)}
    return tuple(side if isinstance(side, int) else numbers.get(open_name(port, side, k), side)
                 for k, side in enumerate(port.shape))  # fmt: skip


def _around(port: Port, sample: Shape, batch: Any) -> Open:
    """Return a sample's shape with the sample axis of the file or of `batch`; without one, unchanged."""
    known = port.shape
    alone = batch is False or (isinstance(batch, str) and known is not None and batch not in known)
    if known is not None and len(sample) != len(known) - (not alone):
        raise InputError(
            f"load_onnx: sides[{shown(port.name)}]: the input has the shape {shown(known)} in the file; one sample of "
            f"it has {len(known) - (not alone)} dimensions, got {shown(sample)}"
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


TOLERANCE = 1e-3
"""Relative to the largest number of a tensor. Rounding in float32 is far smaller, another sample's numbers are not."""


USUAL = (16, 64, 224)
"""Sizes that are tried for open sides before they are suggested."""


class RemediedError(InputError):
    """An error with remedies: words, the graph and the sides (None: as given) of each. The first that works is told."""

    def __init__(self, said: str, remedies: Iterable[tuple[str, Graph, Sides | None]]) -> None:
        super().__init__(said)
        self.remedies = remedies


@dataclass(frozen=True)
class Entry:
    """The form in which samples enter the graph."""

    port: Port
    axis: int | None  # None: the input is one sample without an axis
    shape: Shape  # of one sample
    fixed: int | None  # the number of samples that the file is made for; None: any

    def batch_shape(self, samples: int) -> Shape:
        """Return the shape of a batch of samples."""
        return self.shape if self.axis is None else (*self.shape[: self.axis], samples, *self.shape[self.axis :])


def entries(graph: Graph, batch: Any, sides: Sides) -> list[Entry]:
    """Return the sample axis of each input."""
    shapes = [input_shape(graph, port, batch, sides) for port in graph.inputs]
    axes = [_axis(port, shape, batch) for port, shape in zip(graph.inputs, shapes, strict=True)]
    if isinstance(batch, str) and all(axis is None for axis in axes):
        raise InputError(
            f"{graph.name!r}: batch={shown(batch)}, but no input has a dimension of that name; the inputs "
            f"are {listing(f'{port.name} {shown(port.shape)}' for port in graph.inputs)}"
        )
    found, missing = [], []
    for port, shape, axis in zip(graph.inputs, shapes, axes, strict=True):
        own = {k: side for k, side in enumerate(shape) if k != axis}
        missing += [open_name(port, side, k) for k, side in own.items() if not isinstance(side, int)]
        side = None if axis is None else shape[axis]
        known = tuple(s for s in own.values() if isinstance(s, int))
        found.append(Entry(port, axis, known, side if isinstance(side, int) else None))
        _check_entry(graph, found[-1])
    if missing:
        names = list(dict.fromkeys(missing))
        whole = ({**sides, **dict.fromkeys(names, size)} for size in USUAL)
        raise RemediedError(
            f"{graph.name!r}: the size of {listing(map(shown, names))} is not fixed; give batch= if it counts the "
            "samples, or the sizes in sides=", ((f"; sides={one} works", graph, one) for one in whole),
        )  # fmt: skip
    return found


def _check_entry(graph: Graph, entry: Entry) -> None:
    """Refuse an input that is too large to test."""
    said = f"{graph.name!r}: a sample of input {shown(entry.port.name)} has the shape {shown(entry.shape)}"
    if min(entry.shape, default=1) < 1:
        raise InputError(f"{said}; each dimension must be 1 or more")
    if prod(entry.shape) > MOST_ENTERED:
        raise InputError(f"{said}; at most {MOST_ENTERED:,} numbers are allowed; export it with smaller inputs")
    samples = entry.fixed or 1
    if samples * prod(entry.shape) > MOST_TRIED:
        raise InputError(
            f"{said}, and the file is made for {samples:,} samples at once; at most {MOST_TRIED:,} numbers are "
            "allowed; export it with a batch of any size (dynamic_axes)"
        )


def _axis(port: Port, shape: Sequence[int | str | None], batch: Any) -> int | None:
    if batch is False or not shape:
        return None
    if isinstance(batch, str):
        return shape.index(batch) if batch in shape else None
    if batch is not None:
        if not -len(shape) <= batch < len(shape):
            raise InputError(f"batch={batch}: no axis {batch} in the input {port.name!r}, shape {shown(tuple(shape))}")
        return int(batch) % len(shape)
    if not isinstance(shape[0], int):
        return 0
    names = [k for k, side in enumerate(shape) if not isinstance(side, int)]
    if len(names) == 1 and shape[0] != 1:
        return names[0]
    return 0 if len(shape) > 1 else None


def probe_sample(graph: Graph, constants: Tensors, given: Sequence[Entry]) -> Probe:
    """Compute the graph of one sample."""
    inputs = {entry.port.name: drawn(entry.port, entry.batch_shape(1), seed) for seed, entry in enumerate(given)}
    try:
        return probed(graph, constants, inputs, [port.name for port in graph.outputs])
    except ScalarvizError as error:
        fixed = [entry.fixed for entry in given if entry.fixed not in (None, 1)]
        if not fixed:
            raise InputError(f"{graph.name!r}: {error}") from None
        raise InputError(
            f"{graph.name!r}: the network takes {fixed[0]} samples at once, not one ({error}); export it "
            "with a batch of any size (dynamic_axes), or give batch=False if the input has no axis of samples"
        ) from None


def output_axes(graph: Graph, constants: Tensors, given: Sequence[Entry], one: Probe) -> list[int | None]:
    """Return the sample axis of each output; None if the output is the same for all samples."""
    names = [port.name for port in graph.outputs]
    first = next((entry for entry in given if entry.axis is not None), None)
    if first is None:
        return [None for _ in names]
    if first.fixed == 1:  # it computes one sample at a time, so samples cannot mix
        axis = first.axis
        return [axis if axis is not None and one.shapes[name][axis : axis + 1] == (1,) else None for name in names]
    tried = _probe_samples(graph, constants, given, names)
    axes = [tried.lane(name, whole=True) for name in names]
    if MIXED in axes:
        raise InputError(_mixing(graph, constants, given))
    return [axis if isinstance(axis, int) else None for axis in axes]


MIXED = "mixed"


@dataclass(frozen=True)
class _Tried:
    """The tensors of `count` samples together, and those of some samples alone, by index."""

    many: Mapping[str, Array]
    ones: Mapping[int, Mapping[str, Array]]
    count: int

    def lane(self, name: str, whole: bool) -> int | str | None:
        """Return the axis of a tensor that holds the samples; None if all samples are the same; or `MIXED`.

        `whole`: the axis holds samples and nothing else.
        """
        many, alone = self.many[name], {k: one[name] for k, one in self.ones.items()}
        shape, size = alone[0].shape, _size(many)
        if many.shape == shape and all(_same(many, one, size) for one in alone.values()):
            return None
        for axis in range(many.ndim if many.ndim == len(shape) else 0):
            side = shape[axis]
            if (whole and side != 1) or many.shape != (*shape[:axis], self.count * side, *shape[axis + 1 :]):
                continue
            before, behind = shape[:axis], shape[axis + 1 :]
            apart = many.reshape(*before, self.count, side, *behind), many.reshape(*before, side, self.count, *behind)
            for found, place in zip(apart, (axis, axis + 1), strict=True):
                if all(_same(np.take(found, k, place), one, size) for k, one in alone.items()):
                    return axis
        return MIXED


def _probe_samples(graph: Graph, constants: Tensors, given: Sequence[Entry], names: Sequence[str]) -> _Tried:
    """Return the tensors of several samples together, and of the first ones and the last one alone."""
    count = max((entry.fixed or 2 for entry in given if entry.axis is not None), default=2)
    drawings = [drawn(entry.port, (count, *entry.shape), seed) for seed, entry in enumerate(given)]

    def entered(samples: Callable[[Array, int], Array]) -> dict[str, Array]:
        pairs = zip(given, drawings, strict=True)
        return {entry.port.name: x[0] if entry.axis is None else samples(x, entry.axis) for entry, x in pairs}

    try:
        many = probed(graph, constants, entered(lambda x, axis: np.moveaxis(x, 0, axis)), names, count).outputs
    except ScalarvizError as error:
        raise InputError(
            f"{graph.name!r}: the network computes one sample, not {count} at once ({error}); export with a "
            "batch of any size, or give batch=False if the input has no axis of samples"
        ) from None
    ones = {}
    for k in sorted({*range(min(count, 3)), count - 1}):
        one = entered(lambda x, axis, k=k: np.expand_dims(x[k], axis))  # type: ignore[misc]
        ones[k] = probed(graph, constants, one, names).outputs
    return _Tried(many, ones, count)


def _size(x: Array) -> float:
    """Return the largest absolute finite number."""
    if x.dtype.kind != "f":
        return 0.0
    return float(np.abs(x[np.isfinite(x)]).max(initial=0.0))


def _same(a: Array, b: Array, size: float) -> bool:
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    with np.errstate(all="ignore"):
        near: bool = np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * max(size, 1e-30), equal_nan=True)
    return near


def _mixing(graph: Graph, constants: Tensors, given: Sequence[Entry]) -> str:
    """Return words for the first node whose results mix samples."""
    names = [name for node in graph.nodes for name in node.outputs if name]
    tried = _probe_samples(graph, constants, given, names)
    said = "an output"
    for node in graph.nodes:
        if any(tried.lane(name, whole=False) == MIXED for name in node.outputs if name):
            said = f"{node.operator} {node.name!r}"
            break
    axes = listing(f"axis {entry.axis} of {entry.port.name}" for entry in given if entry.axis is not None)
    return (
        f"{graph.name!r}: {said} mixes samples (counted by {axes}), but a Module computes each sample alone. "
        "If another axis counts the samples, name it with batch=; if no axis does, give batch=False"
    )
