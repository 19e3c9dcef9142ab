"""The call of a module with a batch: kernels compute an array of outputs, which remembers the call for `backward`.

The module is recorded for one sample, as a Run records it, and the recording is kept as long as nothing changes that it
depends on. What cannot be recorded is computed sample by sample with objects.
"""

from __future__ import annotations

import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from operator import is_
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import real_array
from ..errors import InputError, StateError, TracingError
from ..scalar import Value, dot, mask, tracing
from ..scalar.array import Values, values
from ..scalar.nested import every, shape_of
from ..scalar.outputs import Made, Outputs, taped
from ..scalar.sample import Sample
from ..scalar.value import inner_nodes
from ..tape import Tape, trace
from ..tape.lower import Cached, lower_rows
from ..tape.passes import parameters_read
from ..tape.trace import random_states
from ._activations import Activation
from ._inputs import rebuilt, titled
from ._to_onnx import first_sides, origin_of, trained_shape

if TYPE_CHECKING:
    from ..engine.arrays.program import RowProgram
    from ..engine.passes import Passes
    from ._module import Module

Shape = tuple[int, ...]
Array = NDArray[Any]
Place = tuple[int, int]
"""Seed and step of dropout masks."""

_NOTHING = np.zeros(0)
RECORDINGS = 4
"""The most recordings that are kept for a shape: one in training, one in evaluation, and a few."""
MOST_NODES = 1_000_000
"""The most nodes of the graphs that a batch may need where objects compute it."""


class Call(Made):
    """The call of modules in a row with a batch. A walk back ends here: the weights get their gradients."""

    __slots__ = ("inputs", "modules", "place", "tracks")

    def __init__(self, modules: tuple[Module, ...], inputs: Array, place: Place, tracks: int, pull: Any) -> None:
        super().__init__((), pull)
        self.modules, self.inputs, self.place, self.tracks = modules, inputs, place, tracks


Standing = list[tuple[Callable[[], Any], list[Any]]]


@dataclass(slots=True)
class Recorded:
    """How to compute a batch: the tape of a sample, what forward returned, and the passes by dtype."""

    tape: Tape
    result: Any  # the structure of the result, with arrays of zeros
    standing: Standing  # what it depends on: how to get it, and what it was
    modules: list[weakref.ref[Module]]  # a strong reference would be a circle, and their ids are the key
    run: Any = None  # the reference to the Run that trained the weights, which may know the shape of a sample
    read: Array = field(default_factory=lambda: _NOTHING)  # which numbers the outputs depend on
    passes: dict[np.dtype[Any], Passes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.run, self.read = self.owner(), parameters_read(self.tape)

    def owner(self) -> Any:
        """Return the reference to the Run that trains the weights, or None."""
        return self.tape.blocks[0].store.owner if self.tape.blocks else None

    def ready(self, theta: Array) -> Passes:
        """Return the passes in the dtype of the weights, with these numbers."""
        found = self.passes.get(theta.dtype)
        if found is None:
            from ..engine.passes import Passes

            found = self.passes[theta.dtype] = Passes(self.tape, theta.dtype)
        found.theta[:] = theta
        return found

    def theta(self, *, weights: bool = False) -> Array:
        """Return the numbers of all blocks, or of the weights without the buffers."""
        blocks = [block for block in self.tape.blocks if not (weights and block.buffer)]
        return np.concatenate([block.flat_value for block in blocks] or [np.empty(0)])

    def spread(self, flat: Array, buffers: bool) -> None:
        """Add a gradient to those of the weights, or set the buffers."""
        start = 0
        for block in self.tape.blocks:
            part = flat[start : start + block.size]
            start += block.size
            if buffers and block.buffer:
                block.flat_value[:] = part
            elif not (buffers or block.buffer):
                block.add_gradient(part, self.read[start - block.size : start])


def batch_outputs(module: Module, x: Any, named: Mapping[str, Any]) -> Any:
    """Return the outputs for a batch `x`, structured as those of a sample; None if `x` is one sample."""
    if tracing.active() is not None or getattr(x.dtype, "kind", "") == "O":
        return None
    made = x._made if isinstance(x, Outputs) and not tracing.untracking() else None
    array = real_array(x.detach().cpu() if hasattr(x, "detach") else x, f"{type(module).__name__}: the input")
    if made is None and not named and (kept := _kept((module,), array.shape[1:])) is not None:
        return _computed((module,), array, named, None, kept)
    if made is None and is_sample(module, array.shape):
        return None
    if made is not None and isinstance(module, Activation):
        return module.forward(x)
    if isinstance(made, Call) and made.modules and not named:  # decoder(encoder(x)) is one program
        return _called((*made.modules, module), made.inputs, {}, made)
    if made is not None:
        return _one_by_one(module, array, named, made, "its input is computed from the outputs of another module")
    return _called((module,), array, named, None)


def is_sample(module: Module, shape: Shape) -> bool:
    """Return whether an array of two or more dimensions is one sample of a module, and no batch.

    This is the one rule: it is a batch, unless the sample's shape is known and equals the array's. The file that the
    module comes from knows it, or the Run that trains it, or the first layer; a convolution fixes the number of sides.
    """
    origin = origin_of(module)
    known = (origin.shapes[0] if origin is not None else None) or trained_shape(module) or first_sides(module)
    return known is not None and len(known) == len(shape) and (None in known or known == shape)


def _called(modules: tuple[Module, ...], array: Array, named: Mapping[str, Any], before: Call | None) -> Any:
    """Return the outputs of modules in a row; `before` is the call of all but the last."""
    try:
        recorded = _recording(modules, array.shape[1:], named)
    except TracingError as error:
        if before is not None:
            raise
        return _one_by_one(modules[-1], array, named, None, str(error))
    except InputError as error:
        if str(array.shape[1:]) in str(error):
            error.add_note(
                f"An array of shape {array.shape} is a batch of {len(array)} samples of shape {array.shape[1:]}; "
                "one sample is net(x.tolist()), or the batch net(x[None])."
            )
        raise
    return _computed(modules, array, named, before, recorded)


def _computed(
    modules: tuple[Module, ...], array: Array, named: Mapping[str, Any], before: Call | None, recorded: Recorded
) -> Any:  # fmt: skip
    theta = recorded.theta()
    passes, rows = recorded.ready(theta), array.reshape(len(array), prod(array.shape[1:]))
    place = before.place if before is not None else mask.next_place() if passes.masks else (0, 0)
    tracks = len(passes.plan.body.tracks)
    found = passes.outputs(rows, place, 0 if before is None else before.tracks)
    if tracks:
        recorded.spread(passes.theta, buffers=True)
    wrong = np.isnan(found).any(axis=1) if passes.gathers else np.zeros(0, bool)
    if wrong.any() and np.isfinite(rows[wrong]).all():  # the call with that sample reports a number that is no row
        modules[0](array[int(np.argmax(wrong))].tolist(), **named)
    weights = theta if not tracks else recorded.theta(weights=True)

    def pull(upstream: Array) -> tuple[()]:
        now = recorded.theta(weights=bool(tracks))
        if not np.array_equal(now.view(f"u{now.itemsize}"), weights.view(f"u{now.itemsize}")):  # bits: NaNs are equal
            raise StateError(
                "backward(): a weight has changed since the network was called, so its gradient is unknown; call "
                "backward() before optimizer.step(), and the network again after it"
            )
        recorded.spread(passes.gradient(theta, rows, upstream.reshape(found.shape), place), buffers=False)
        return ()

    untracked = tracing.untracking() or all(block.buffer for block in recorded.tape.blocks)
    call = None if untracked else Call(() if named else modules, array, place, tracks, pull)
    return _shaped(recorded.result, found, call)


def _recording(modules: tuple[Module, ...], sample: Shape, named: Mapping[str, Any]) -> Recorded:
    """Return a recording of modules in a row that still holds, or a new one."""
    if not named and (found := _kept(modules, sample)) is not None:
        return found
    made = list[Any]()

    def forward(row: Values) -> Any:
        result: Any = row.reshape(sample)
        for k, module in enumerate(modules):
            result = module(result, **(named if k == len(modules) - 1 else {}))
        made.append(result)
        return result

    before = random_states()
    tape = replace(trace(forward, prod(sample)), taps=(), modes=())
    recorded = Recorded(tape, _zeros(made[0]), _standing(modules), list(map(weakref.ref, modules)))
    if not named and random_states() == before:  # numbers that forward draws are new in each call
        kept = modules[-1]._books.recordings.setdefault((sample, tuple(map(id, modules))), [])
        kept[:] = [recorded, *kept[: RECORDINGS - 1]]
    return recorded


def _kept(modules: tuple[Module, ...], sample: Shape) -> Recorded | None:
    """Return a recording that still holds."""
    for one in modules[-1]._books.recordings.get((sample, tuple(map(id, modules))), ()):
        same = one.run is one.owner() and all(ref() is module for ref, module in zip(one.modules, modules, strict=True))
        if same and all(_stands(get(), before) for get, before in one.standing):
            return one  # type: ignore[no-any-return]
    return None


def _stands(now: Any, before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))


def _standing(modules: Sequence[Module]) -> Standing:
    """Return all that a recording depends on: attributes of the layers, and what users' functions read beside these."""
    parts = {id(part): part for module in modules for _, part in module.named_modules()}
    found: Standing = []
    for part in parts.values():
        own = vars(part)
        found.append((own.values, list(own.values())))
        for held in own.values():
            found += _inside(held)
        if not _of_package(type(part)):
            kinds = [kind for kind in type(part).__mro__ if not _of_package(kind)]
            found += _read_by([f for kind in kinds for f in vars(kind).values() if isinstance(f, FunctionType)], set())
    return [(get, before) for get, before in found if before]


def _of_package(made: Any) -> bool:
    return str(made.__module__).startswith("scalarviz.")


def _inside(held: Any) -> Standing:
    if isinstance(held, np.ndarray):  # a constant of the recording
        copy = held.copy()
        return [(lambda: [np.array_equal(held, copy)], [True])]
    if isinstance(held, dict):
        return [(held.values, list(held.values()))]
    if isinstance(held, list | tuple):
        return [(lambda: held, list(held)), *(entry for one in held for entry in _inside(one))]
    return []


def _read_by(functions: list[FunctionType], seen: set[int]) -> Standing:
    """Return the global numbers, texts and lists that functions read, and the variables around them."""
    found: Standing = []
    for function in functions:
        if id(function) in seen:
            continue
        seen.add(id(function))
        around = function.__globals__
        names = [name for name in function.__code__.co_names if name in around]
        data = [n for n in names if isinstance(around[n], bool | int | float | str | tuple | list | np.ndarray)]
        found.append((partial(_values_of, around, data), [around[name] for name in data]))
        found += [entry for name in data for entry in _inside(around[name])]
        cells = function.__closure__ or ()
        found.append((partial(_contents, cells), _contents(cells)))
        below = [around[name] for name in names] + _contents(cells)
        found += _read_by([f for f in below if isinstance(f, FunctionType) and not _of_package(f)], seen)
    return found


def _values_of(around: Mapping[str, Any], names: list[str]) -> list[Any]:
    return [around.get(name) for name in names]


def _contents(cells: Sequence[Any]) -> list[Any]:
    return [cell.cell_contents for cell in cells]


def _zeros(result: Any) -> Any:
    """Return the structure of a result, with the shape of each part as an array of zeros, without the graph."""
    if isinstance(result, list | tuple | dict):
        return rebuilt(result, _zeros)
    return None if result is None else np.empty(shape_of(result))


def _shaped(result: Any, found: Array, call: Made | None) -> Any:
    """Return the columns of `found`, (N, numbers), in the structure of `result`; each part has the batch first."""
    if isinstance(result, np.ndarray):
        return taped(found.reshape(len(found), *result.shape), call)
    if isinstance(call, Call):
        call.modules = ()  # one of several parts is not what another module would get
    start = 0

    def part_of(part: Any) -> Any:
        nonlocal start
        if part is None or isinstance(part, list | tuple | dict):
            return None if part is None else rebuilt(part, part_of)
        own = slice(start, start + part.size)
        start += part.size

        def pull(upstream: Array) -> list[Array]:
            whole = np.zeros(found.shape)
            whole[:, own] = upstream.reshape(len(found), -1)
            return [whole]

        made = None if call is None else Made((call,), pull)
        return taped(found[:, own].reshape(len(found), *part.shape), made)

    return rebuilt(result, part_of)


def _one_by_one(module: Module, array: Array, named: Mapping[str, Any], made: Made | None, why: str) -> Any:
    """Return the outputs of a batch that cannot be recorded: sample by sample, and so its gradient."""
    title, place = titled(module, type(module).__name__), mask.next_place()

    def outputs_of(k: int, sample: Any) -> Any:
        with mask.sample(mask.Draws(*place, k)):
            return module(sample, **named)

    with tracing.no_grad():
        results = [outputs_of(k, sample.tolist()) for k, sample in enumerate(array)]
    found = np.array([[v.data for v in every(result, title)] for result in results])

    def pull(upstream: Array) -> list[Array]:
        started, inputs = time.perf_counter(), np.zeros(array.shape)
        for k, sample in enumerate(array):
            leaves = list(map(Value, sample.ravel().tolist()))
            outputs = every(outputs_of(k, values(leaves, sample.shape)), title)
            total = dot(upstream.reshape(found.shape)[k].tolist(), outputs)
            if k == 0 and (nodes := len(inner_nodes([total])) * len(array)) > MOST_NODES:
                raise InputError(
                    f"{title}: {why}. So objects would compute each sample, with {nodes:,} nodes for the batch; at "
                    f"most {MOST_NODES:,} are allowed. Use a smaller batch"
                )
            total.backward()
            inputs[k] = np.reshape([leaf.grad for leaf in leaves], sample.shape)
        if not module._books.said:
            module._books.said = True
            seconds = time.perf_counter() - started
            warnings.warn(
                f"{title}: {why}. So objects compute each sample: the gradient of {len(array)} samples took "
                f"{seconds:.2g} s", RuntimeWarning, stacklevel=2,
            )  # fmt: skip
        return [] if made is None else [inputs]

    call = None if tracing.untracking() else Made(() if made is None else (made,), pull)
    return _shaped(_zeros(results[0]), found, call)


# ---- the loss of a batch


@dataclass(frozen=True, slots=True)
class Part:
    """A sample's part of a loss, as a program whose inputs are its outputs and its targets."""

    program: RowProgram
    shape: Shape
    inputs: Array  # the row of each output and target


_PARTS: Cached[Any, Part] = Cached()


def _part(loss: Any, sides: Shape, target: Shape, alive: int) -> Part:
    """Return the part of a loss, for outputs and targets of these shapes; the first `alive` numbers get gradients."""
    from ..engine.arrays.program import RowProgram

    key: Any = type(loss), tuple(vars(loss).items()), sides, target, alive
    try:
        found = _PARTS.get(key)
    except TypeError:  # an attribute of a user's loss is not hashable
        key, found = None, None
    if found is None:
        of = loss if loss.reduction == "none" else getattr(loss, "batch_part", loss)
        made = list[Any]()

        def part(row: Values) -> Any:
            own = prod(sides)
            given = row[:own].reshape(sides).view(Sample), row[own:].reshape(target).view(Sample)
            made.append(of(*(x if x.ndim else x.item_value() for x in given)))
            return made[0]

        lowered = lower_rows(trace(part, prod(sides) + prod(target)), alive)
        inputs = np.full(prod(sides) + prod(target), -1)
        inputs[lowered.input_index] = lowered.input_rows
        found = Part(RowProgram(lowered, np.dtype(np.float64)), shape_of(made[0]), inputs)
        if key is not None:
            _PARTS.store(key, found)
    return found


def _scale(loss: Any, shares: Array) -> float:
    """Return the factor of a sample's loss, from its share in the divisor of a mean."""
    if loss.reduction == "none" or loss.batch_reduction != "mean":
        return 1.0
    return float(1.0 / divisor) if (divisor := shares.sum()) else np.nan


def _of_classes(loss: Any, logs: Outputs, targets: Array) -> Outputs:
    """Return minus the numbers of the targets' classes, weighted: array operations, as the classes are known."""
    shares = loss.batch_shares(targets)
    factors = -shares * _scale(loss, shares)
    places = np.arange(len(targets)), np.where(shares == 0, 0, targets[:, 0]).astype(np.int64)
    terms = np.where(shares == 0, 0.0, np.asarray(logs)[places] * factors)
    each = loss.reduction == "none"

    def pull(upstream: Array) -> list[Array]:
        gradient = np.zeros(logs.shape)
        gradient[places] = upstream * factors
        return [gradient]

    made = None if logs._made is None or tracing.untracking() else Made((logs._made,), pull)
    return taped(terms if each else terms.sum(), made)


def batch_loss(loss: Any, outputs: Outputs, targets: Any) -> Outputs:
    """Return the loss of a batch as a Run computes it."""
    if hasattr(loss, "batch_shares") and outputs.ndim > 2:  # as in PyTorch, axis 1 counts the classes
        wanted = np.asarray(targets)
        if wanted.shape == (len(outputs), *outputs.shape[2:]):
            outputs = outputs.permute(0, *range(2, outputs.ndim), 1).reshape(-1, outputs.shape[1])
            return batch_loss(loss, outputs, wanted.ravel())
    goal = targets if isinstance(targets, Outputs) else taped(
        real_array(targets.detach().cpu() if hasattr(targets, "detach") else targets, "the targets"), None
    )  # fmt: skip
    title = type(loss).__name__
    if outputs.ndim == 0 or goal.ndim == 0 or len(goal) != len(outputs):
        raise InputError(
            f"{title}: outputs of the shape {outputs.shape} for targets of the shape {goal.shape}; a batch needs "
            "one target for each sample"
        )
    count = len(goal)
    flat = [np.asarray(x).reshape(count, prod(x.shape[1:])) for x in (outputs, goal)]
    ends = flat[0].shape[1], flat[0].shape[1] + flat[1].shape[1]
    if hasattr(loss, "check_targets"):
        loss.check_targets(flat[1], flat[0].shape[1])
    if hasattr(loss, "logs") and flat[1].shape[1] == 1 and (logs := loss.logs(outputs)) is not None:
        return _of_classes(loss, logs, flat[1])
    part = _part(loss, outputs.shape[1:], goal.shape[1:], ends[goal._made is not None])
    program = part.program.program
    rows = part.program.forward(_NOTHING, np.concatenate([x.T for x in flat]))
    terms = rows[program.outputs]
    shares = loss.batch_shares(flat[1]) if hasattr(loss, "batch_shares") else np.ones(count)
    scale = _scale(loss, shares)
    each = loss.reduction == "none"
    alive = [(x._made, k, x.shape) for k, x in enumerate((outputs, goal)) if x._made is not None]

    def pull(upstream: Array) -> list[Array]:
        adjoints = np.zeros((len(rows) + 1, count))  # the last row is that of inputs which nothing reads
        for k, row in enumerate(program.outputs.tolist()):
            adjoints[row] += upstream.reshape(count, -1)[:, k] if each else upstream * scale
        part.program.backward(rows, adjoints, _NOTHING, _NOTHING)
        both = part.inputs[: ends[0]], part.inputs[ends[0] :]
        return [adjoints[both[k]].T.reshape(shape) for _, k, shape in alive]

    numbers = terms.T.reshape(count, *part.shape) if each else np.array(terms.sum() * scale)
    tracked = alive and not tracing.untracking()
    return taped(numbers, Made([made for made, *_ in alive], pull) if tracked else None)
