"""The call of a module with a batch: kernels compute an array of outputs, which remembers the call for `backward`.

The module is recorded for one sample, as a Run records it, and the recording is kept as long as nothing changes that it
depends on. What cannot be recorded is computed sample by sample with objects.
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from operator import is_
from threading import RLock
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import real_array
from ..engine.arrays.program import RowProgram, one_blas_thread
from ..engine.cache import tell
from ..engine.problem import check_coupled, follow
from ..errors import InputError, StateError, TracingError
from ..scalar import Value, Weight, dot, mask, tracing
from ..scalar.array import Values, values
from ..scalar.nested import every, shape_of
from ..scalar.outputs import Made, Outputs, plain, taped, untracking
from ..scalar.sample import Sample
from ..scalar.value import inner_nodes
from ..tape import Tape, trace
from ..tape.lower import Cached, lower_rows
from ..tape.passes import parameters_read
from ..tape.trace import random_states
from ._inputs import rebuilt, titled
from ._parameter import Parameter
from ._to_onnx import first_sides, origin_of, trained_shape

if TYPE_CHECKING:
    from ..engine.passes import Passes

Shape = tuple[int, ...]
Array = NDArray[Any]
_NOTHING = np.zeros(0)
LIBRARIES = ("scalarviz", "numpy", "torch", "scipy", "sklearn", "matplotlib")
LEVELS = 4
"""How deep a recording looks into the objects that a forward reads."""
RECORDINGS = 4
"""The most recordings that are kept for a shape: one in training, one in evaluation, and a few."""
CHANGED = (
    "backward(): a weight has changed since the network was called, so its gradient is unknown; call backward() before "
    "optimizer.step(), and the network again after it"
)
MANY = 50_000
"""From so many operations of a sample on, a line says that preparing them takes time."""
MOST_NODES = 1_000_000
"""The most nodes of the graphs that a batch may need where objects compute it."""


Standing = list[tuple[Callable[[], Any], list[Any]]]


@dataclass(slots=True)
class RecordedSample:
    """How to compute a batch: the tape of a sample, what forward returned, and the passes by dtype."""

    tape: Tape
    result: Any  # the structure of the result, with arrays of zeros
    standing: Standing  # what it depends on: how to get it, and what it was
    run: Any = None  # the reference to the Run that trained the weights, which may know the shape of a sample
    read: Array = field(default_factory=lambda: _NOTHING)  # which numbers the outputs depend on
    reads: dict[Any, Array] = field(default_factory=dict)  # the same for some of several results
    passes: dict[np.dtype[Any], Passes] = field(default_factory=dict)
    rows: RowProgram | None = None  # whose inputs get gradients, too
    lock: RLock = field(default_factory=RLock)  # threads that share a network share the memory of its passes

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

            if (count := len(self.tape.nodes)) >= MANY:
                tell(f"scalarviz: preparing {count:,} operations of a sample, which takes seconds, once in a program")
            found = self.passes[theta.dtype] = Passes(self.tape, theta.dtype)
        found.theta[:] = theta
        return found

    def theta(self) -> Array:
        """Return the numbers of all blocks."""
        return np.concatenate([block.flat_value for block in self.tape.blocks] or [np.empty(0)])

    def weights(self, theta: Array | None = None) -> Array:
        """Return the bits of the weights, without buffers; `theta` may have the numbers of all blocks."""
        if theta is None or any(block.buffer for block in self.tape.blocks):
            own = [block.flat_value for block in self.tape.blocks if not block.buffer]
            theta = np.concatenate(own or [np.empty(0)])
        return theta.view(f"u{theta.itemsize}")

    def spread(self, flat: Array, buffers: bool, reached: Sequence[slice] = ()) -> None:
        """Set the buffers, or add a gradient to those of the weights, which came through the outputs `reached`."""
        read, start = self.read if buffers else self.read_by(reached), 0
        for block in self.tape.blocks:
            own = slice(start, start + block.size)
            start += block.size
            if buffers and block.buffer:
                block.flat_value[:] = flat[own]
            elif not (buffers or block.buffer):
                block.add_gradient(flat[own], read[own])

    def read_by(self, reached: Sequence[slice]) -> Array:
        """Return which numbers some of several results depend on: the others get no gradient."""
        if not reached:
            return self.read
        key = tuple(sorted({(part.start, part.stop) for part in reached}))
        if key not in self.reads:
            outputs = [row for start, stop in key for row in self.tape.outputs[start:stop]]
            self.reads[key] = parameters_read(replace(self.tape, outputs=tuple(outputs)))
        return self.reads[key]


def batch_outputs(module: Any, x: Any, named: Mapping[str, Any]) -> Any:
    """Return the outputs for a batch `x`, structured as those of a sample; None if `x` is one sample."""
    if tracing.active() is not None or getattr(x.dtype, "kind", "") == "O":
        return None
    made = x._made if isinstance(x, Outputs) and not untracking() else None
    if made is not None and module._elementwise:
        return module.forward(x)
    array = real_array(plain(x), f"{type(module).__name__}: the input")
    if array.ndim < 2:
        return None
    recorded = _kept(module, array.shape[1:]) if not named else None
    if recorded is None and made is None and is_sample(module, array.shape):
        return None
    try:
        recorded = recorded or _recording(module, array.shape[1:], named)
    except TracingError as error:
        return _one_by_one(module, array, named, made, str(error))
    except InputError as error:
        if str(array.shape[1:]) in str(error):
            error.add_note(
                f"An array of shape {array.shape} is a batch of {len(array)} samples of shape {array.shape[1:]}; "
                "one sample is net(x.tolist()), or the batch net(x[None])."
            )
        raise
    return _computed(module, array, named, recorded) if made is None else _through(array, recorded, made)


def is_sample(module: Any, shape: Shape) -> bool:
    """Return whether an array of two or more dimensions is one sample of a module, and no batch.

    This is the one rule: it is a batch, unless the sample's shape is known and equals the array's. The file that the
    module comes from knows it, or the Run that trains it, or the first layer; a convolution fixes the number of sides.
    """
    origin = origin_of(module)
    known = (origin.shapes[0] if origin is not None else None) or trained_shape(module) or first_sides(module)
    return known is not None and len(known) == len(shape) and (None in known or known == shape)


def _computed(module: Any, array: Array, named: Mapping[str, Any], recorded: RecordedSample) -> Any:
    """Return the outputs for plain numbers: by kernels, once the gradient of so many samples was asked for."""
    theta, rows = recorded.theta(), np.array(array.reshape(len(array), prod(array.shape[1:])))
    with recorded.lock:
        passes = recorded.ready(theta)
        place = mask.next_place() if passes.masks else (0, 0)
        found = passes.outputs(rows, place) if len(rows) else np.zeros((0, len(recorded.tape.outputs)))
        if len(passes.plan.body.tracks):
            recorded.spread(passes.theta, buffers=True)
    if passes.gathers:  # the call with a sample reports a number that is no row
        wrong = np.isnan(found).any(axis=1) & np.isfinite(rows).all(axis=1)
        if wrong.any():
            module(array[int(np.argmax(wrong))].tolist(), **named)

    def gradient(upstream: Array) -> Array:
        return passes.gradient(theta, rows, upstream, place) if len(rows) else np.zeros_like(theta)

    return _shaped(recorded, found, theta, gradient, ())


def _through(array: Array, recorded: RecordedSample, made: Made) -> Any:
    """Return the outputs for inputs that other modules computed: NumPy computes their gradient, too."""
    if recorded.rows is None:
        recorded.rows = RowProgram(lower_rows(recorded.tape, recorded.tape.n_inputs), np.dtype(np.float64))
    run, theta = recorded.rows, recorded.theta().astype(np.float64)
    program, place = run.program, mask.next_place() if run.masks else (0, 0)
    if program.fewest > len(array):
        check_coupled(program, len(array), 0)
    with one_blas_thread():
        rows = run.forward(theta, array.reshape(len(array), -1).T, mask.Draws(*place))
    if program.tracks:
        values, stats = theta.copy(), rows[[track.row for track in program.tracks], 0]
        follow(program.tracks, len(array), stats, values, np.zeros(len(values), bool))
        recorded.spread(values, buffers=True)

    def gradient(upstream: Array) -> Array:
        adjoints, found = np.zeros((len(rows) + 1, len(array))), np.zeros(len(theta))
        for k, row in enumerate(program.outputs.tolist()):
            adjoints[row] += upstream[:, k]
        with one_blas_thread():
            run.backward(rows, adjoints, theta, found)
        inputs[:] = adjoints[of_inputs].T
        return found

    of_inputs = np.full(program_inputs := recorded.tape.n_inputs, -1)
    of_inputs[program.input_index] = program.input_rows
    inputs = np.zeros((len(array), program_inputs))
    return _shaped(recorded, rows[program.outputs].T, None, gradient, (made, inputs.reshape(array.shape)))


def _recording(module: Any, sample: Shape, named: Mapping[str, Any]) -> RecordedSample:
    """Return a new recording, which is kept if it does not depend on arguments or drawn numbers."""
    made, looked = list[Any](), False

    def forward(row: Values) -> Any:
        nonlocal looked
        made.append(module(row.reshape(sample), **named))
        recorder = tracing.active()
        looked = recorder is not None and recorder.reads
        return made[0]

    before, drawn = _standing(module), random_states()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the recorded function drew")  # they are drawn again in each call
        tape = replace(trace(forward, prod(sample)), taps=(), modes=())
    recorded = RecordedSample(tape, _zeros(made[0]), _standing(module))
    moved = [name for name, state in random_states().items() if state != drawn.get(name, state) and name != "random"]
    if moved and not module._books.said:
        module._books.said = True
        warnings.warn(
            f"{titled(module, type(module).__name__)}: forward drew random numbers, and every sample of the batch gets "
            "the same ones. For other numbers in each sample pass them as an argument, or use nn.Dropout",
            RuntimeWarning, stacklevel=2,
        )  # fmt: skip
    if not (named or looked) and random_states() == drawn and all(_left_alone(get(), then) for get, then in before):
        kept = module._books.recordings.setdefault(sample, [])
        kept[:] = [recorded, *kept[: RECORDINGS - 1]]
    return recorded


def _kept(module: Any, sample: Shape) -> RecordedSample | None:
    """Return a recording that still holds."""
    for one in module._books.recordings.get(sample, ()):
        if one.run is one.owner() and all(_stands(get(), before) for get, before in one.standing):
            return one  # type: ignore[no-any-return]
    return None


def _left_alone(now: Any, before: list[Any]) -> bool:
    """Return whether a recording left data as it was; the Values that it stores count for nothing."""
    pairs = zip(now, before, strict=False)
    return len(now) == len(before) and all(a is b or isinstance(a, Value | Values) for a, b in pairs)


def _stands(now: Any, before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))


def _standing(module: Any) -> Standing:
    """Return all that a recording depends on: attributes of the layers, and what users' functions read beside these."""
    parts = [part for _, part in module.named_modules()]
    functions = _reachable([function for part in parts for function in _functions_of(part)])
    names = {name for function in functions for name in _names_in(function.__code__)}
    every = not names.isdisjoint(("getattr", "vars", "__dict__"))
    found = _read_by(functions)
    for part in parts:
        own, kind = vars(part), type(part)
        ours = every or any(_of_package(one) and one.__name__ != "Module" for one in kind.__mro__)
        here = [k for k, x in own.items() if ours or k in names or k == "training" or _is_part(x)]
        # other attributes may change: no function of the user names them
        found.append((partial(_values_of, own, here), [own[name] for name in here]))
        found.append((partial(_count, own), _count(own)))
        found += [entry for name in here for entry in _inside(own[name], 0)]
        found += [entry for one in kind.__mro__ if not _of_package(one) for entry in _data_of(one, names)]
        found.append((partial(_forward_of, kind), [kind.forward]))
    return [(get, before) for get, before in found if before]


def _is_part(x: Any) -> bool:
    return isinstance(x, Parameter | Weight) or hasattr(x, "named_modules")


def _functions_of(part: Any) -> list[FunctionType]:
    """Return the functions of a user's class, without those that make an object, and those that its object holds."""
    kinds = [one for one in type(part).__mro__ if not _of_package(one) and one is not object]
    every = [held for one in kinds for name, held in vars(one).items() if name != "__init__"]
    return list(filter(None, map(_function_in, [*every, *vars(part).values()])))


def _function_in(held: Any) -> FunctionType | None:
    """Return the function of a property, a method or another wrapper."""
    held = getattr(held, "fget", None) or getattr(held, "__func__", held)
    return held if isinstance(held, FunctionType) and not _of_package(held) else None


def _reachable(functions: list[FunctionType]) -> list[FunctionType]:
    """Return functions and all of the user's that they call by a global name, or have around them."""
    found = dict.fromkeys(functions)
    below = list(found)
    for function in below:  # grows during the loop
        around = function.__globals__
        used = [around[name] for name in _names_in(function.__code__) if name in around]
        for other in map(_function_in, [*used, *_contents(function.__closure__ or ())]):
            if other is not None and other not in found:
                found[other] = None
                below.append(other)
    return list(found)


def _names_in(code: CodeType) -> set[str]:
    """Return the names that code and the functions inside it use, also those in texts, as for ``getattr``."""
    inner = [_names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    texts = (part for part in code.co_consts if isinstance(part, str))
    return {*code.co_names, *code.co_freevars, *texts}.union(*inner)


def _is_library(made: Any) -> bool:
    """Return whether a class or module is of Python, NumPy, PyTorch or this package, whose data do not change."""
    name = str(made.__name__ if isinstance(made, ModuleType) else made.__module__).partition(".")[0]
    return name in LIBRARIES or (name in sys.stdlib_module_names and name != "__main__")


def _data_of(kind: type | ModuleType, names: set[str]) -> Standing:
    """Return the attributes of a class or module that are data."""
    data = [name for name, held in vars(kind).items() if name in names and not callable(held)]
    return [(lambda: [vars(kind).get(name) for name in data], [vars(kind)[name] for name in data])]


def _of_package(made: Any) -> bool:
    return str(made.__module__).startswith("scalarviz.")


def _inside(held: Any, level: int) -> Standing:
    """Return what an attribute holds that may change without it: items, numbers of arrays, attributes of objects."""
    if isinstance(held, np.ndarray):  # a constant of the recording
        copy = held.copy()
        return [(lambda: [np.array_equal(held, copy)], [True])]
    if hasattr(held, "detach") and hasattr(held, "_version"):  # a tensor of PyTorch counts its changes
        version = held._version
        return [(lambda: [held._version == version], [True])]
    if isinstance(held, np.random.Generator | random.Random):
        state = str(_state_of(held))
        return [(lambda: [str(_state_of(held)) == state], [True])]
    if level > LEVELS or _is_part(held) or isinstance(held, Value | type | ModuleType | FunctionType):
        return []
    if isinstance(held, list | tuple):
        return [(lambda: held, list(held)), *(entry for one in held for entry in _inside(one, level + 1))]
    if isinstance(held, Iterator):  # whoever takes its next item changes it
        return [(lambda: [False], [True])]
    if isinstance(held, set | frozenset | deque | bytearray):
        inside = list(held)
        return [(lambda: [list(held) == inside], [True])]
    if isinstance(held, partial):
        return _inside([held.args, held.keywords], level)
    if isinstance(held, MethodType):
        return _inside(held.__self__, level)
    items = held if isinstance(held, dict) else getattr(held, "__dict__", {})
    below = [entry for one in list(items.values()) for entry in _inside(one, level + 1)]
    return [(items.values, list(items.values())), *below]


def _state_of(generator: Any) -> Any:
    return generator.getstate() if isinstance(generator, random.Random) else generator.bit_generator.state


def _read_by(functions: Sequence[FunctionType]) -> Standing:
    """Return the global numbers, texts and objects that functions read, and the variables around them."""
    found: Standing = []
    for function in functions:
        around, cells = function.__globals__, function.__closure__ or ()
        names = [name for name in sorted(_names_in(function.__code__)) if name in around]
        read = [name for name in names if not isinstance(around[name], type | ModuleType | BuiltinFunctionType)]
        found.append((partial(_values_of, around, read), [around[name] for name in read]))
        found.append((partial(_contents, cells), _contents(cells)))
        for held in (*(around[name] for name in read), *_contents(cells)):
            found += _inside(held, 0)
        for name in names:  # config.scale, Settings.scale
            if isinstance(around[name], type | ModuleType) and not _is_library(around[name]):
                found += _data_of(around[name], _names_in(function.__code__))
    return found


def _values_of(around: Mapping[str, Any], names: list[str]) -> list[Any]:
    return [around.get(name) for name in names]


def _forward_of(kind: type) -> list[Any]:
    return [kind.forward]  # type: ignore[attr-defined]


def _count(own: Mapping[str, Any]) -> list[int]:
    return [len(own)]


def _contents(cells: Sequence[Any]) -> list[Any]:
    return [cell.cell_contents if cell != CellType() else None for cell in cells]  # an empty one equals a new one


def _zeros(result: Any) -> Any:
    """Return the structure of a result, with the shape of each part as an array of zeros, without the graph."""
    if isinstance(result, list | tuple | dict):
        return rebuilt(result, _zeros)
    return None if result is None else np.empty(shape_of(result))


def _shaped(
    recorded: RecordedSample, found: Array, theta: Array | None, gradient: Callable[[Array], Array], through: Any
) -> Any:
    """Return outputs (N, numbers) in the structure of the result, each part with the batch as its first axis.

    `theta` has the numbers of the weights, if they are at hand. `gradient` gives that of the weights for an upstream
    gradient (N, numbers). `through` is how the inputs were computed, and the array that `gradient` fills with theirs;
    empty for plain numbers.
    """
    weights, reached = recorded.weights(theta), list[slice]()

    def pull(upstream: Array) -> list[Array]:
        if not np.array_equal(recorded.weights(), weights):  # of bits: NaNs are equal
            raise StateError(CHANGED)
        with recorded.lock:
            recorded.spread(gradient(upstream.reshape(found.shape)), buffers=False, reached=reached)
        return [through[1]] if through else []

    dead = untracking() or (not through and all(block.buffer for block in recorded.tape.blocks))
    call = None if dead else Made(through[:1], pull)
    return _parts(recorded.result, found, call, reached)


def _parts(result: Any, found: Array, call: Made | None, reached: list[slice]) -> Any:
    """Return the columns of `found` in the structure of `result`; a walk back notes the parts that it comes from."""
    if isinstance(result, np.ndarray):
        return taped(found.reshape(len(found), *result.shape), call)
    start = 0

    def part_of(part: Any) -> Any:
        nonlocal start
        if part is None or isinstance(part, list | tuple | dict):
            return None if part is None else rebuilt(part, part_of)
        own = slice(start, start + part.size)
        start += part.size

        def pull(upstream: Array) -> list[Array]:
            reached.append(own)
            whole = np.zeros(found.shape)
            whole[:, own] = upstream.reshape(len(found), -1)
            return [whole]

        made = None if call is None else Made((call,), pull)
        return taped(found[:, own].reshape(len(found), *part.shape), made)

    return rebuilt(result, part_of)


def _one_by_one(module: Any, array: Array, named: Mapping[str, Any], made: Made | None, why: str) -> Any:
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
            if not np.array_equal([v.data for v in outputs], found[k], equal_nan=True):
                raise StateError(CHANGED)
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

    call = None if untracking() else Made(() if made is None else (made,), pull)
    return _parts(_zeros(results[0]), found, call, [])


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
    key: Any = type(loss), tuple(vars(loss).items()), sides, target, alive
    try:
        found = _PARTS.get(key)
    except TypeError:  # an attribute is not hashable
        key, found = None, None
    if not _of_package(type(loss)):  # a loss of a user's own may depend on anything
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
    scale = _scale(loss, shares)
    factors = -shares * scale
    places = np.arange(len(targets)), np.where(shares == 0, 0, targets[:, 0]).astype(np.int64)
    terms = np.where(shares == 0, 0.0, np.asarray(logs)[places] * factors)
    each = loss.reduction == "none"

    def pull(upstream: Array) -> list[Array]:
        gradient = np.zeros(logs.shape)
        gradient[places] = upstream * factors
        return [gradient]

    made = None if logs._made is None or untracking() else Made((logs._made,), pull)
    return taped(terms if each else terms.sum() if scale == scale else np.nan, made)  # a mean of nothing is NaN


def _as_outputs(x: Any, what: str) -> Outputs:
    return x if isinstance(x, Outputs) else taped(real_array(plain(x), what), None)


def batch_loss(loss: Any, outputs: Any, targets: Any) -> Outputs:
    """Return the loss of a batch as a Run computes it; one of both are outputs of a module."""
    outputs = _as_outputs(outputs, "the outputs")
    if hasattr(loss, "batch_shares") and outputs.ndim > 2:  # as in PyTorch, axis 1 counts the classes
        wanted = plain(targets)
        if wanted.shape == (len(outputs), *outputs.shape[2:]):
            outputs = outputs.permute(0, *range(2, outputs.ndim), 1).reshape(-1, outputs.shape[1])
            return batch_loss(loss, outputs, wanted.ravel())
    goal = _as_outputs(targets, "the targets")
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

    own = part.shape if outputs.ndim > 1 else ()
    numbers = terms.T.reshape(count, *own) if each else np.array(terms.sum() * scale)
    tracked = alive and not untracking()
    return taped(numbers, Made([made for made, *_ in alive], pull) if tracked else None)
