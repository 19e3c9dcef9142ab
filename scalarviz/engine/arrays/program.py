"""Programs on NumPy arrays, one instruction at a time over all lanes; and whole plans, for predictions and probes.

BLAS gets one thread here. The OpenBLAS in NumPy's wheels splits products over all cores, and its idle threads keep
the cores busy. With a window, the scene `digits` did 58 steps per second instead of 362.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import groupby, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, StateError
from ...scalar.kernel import numpy_form
from ...scalar.mask import Draws
from ...tape import Instruction, Plan, Program
from ..data import Data, empty, in_layout, pieces
from ..problem import CACHE_BYTES, Array, check_coupled
from .rows import BatchMean, Dots, Gather, Matrices, Products, Squares, Step, Weighted, compact, times

Threads = tuple[Callable[[], int], Callable[[int], object]]


@dataclass
class _Room:
    """The number of callers inside `one_blas_thread`, and the number of threads before."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    inside: int = 0
    before: int = 1


_room = _Room()


@cache
def _openblas() -> Threads | None:
    """Return functions that read and set the number of BLAS threads; None if NumPy has another BLAS than OpenBLAS."""
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        for path in sorted(folder.glob("*openblas*")):
            library = ctypes.CDLL(str(path))  # the copy that NumPy has loaded
            for before, after in product(("scipy_openblas_", "openblas_"), ("64_", "")):
                names = [f"{before}{verb}_num_threads{after}" for verb in ("get", "set")]
                if all(hasattr(library, name) for name in names):
                    return getattr(library, names[0]), getattr(library, names[1])
    return None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one thread for products inside the block; the last caller restores the former number."""
    found = _openblas()
    if found is None:
        yield
        return
    read, write = found
    with _room.lock:
        if _room.inside == 0:
            _room.before = int(read())
            write(1)
        _room.inside += 1
    try:
        yield
    finally:
        with _room.lock:
            _room.inside -= 1
            if _room.inside == 0:
                write(_room.before)


class RowProgram:
    """Runs a `Program` with NumPy."""

    def __init__(self, program: Program, dtype: np.dtype[Any]) -> None:
        self.program, self.dtype = program, dtype
        with np.errstate(over="ignore"):  # 1e308 is infinite in float32, as IEEE 754 rounds it
            self.constants = program.constants.astype(dtype)
        self.inputs = compact(program.input_rows), compact(program.input_index)
        self.masks = [i for i in program.instructions if i.kind == "mask"]
        self.steps = [_step(i, program, dtype) for i in program.instructions if i.kind != "mask"]

    @cached_property
    def readers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows that steps read, in order, and the number of the step that reads each."""
        read = [np.unique(step.instruction.args) for step in self.steps]
        rows = np.concatenate([np.empty(0, np.int64), *read])
        numbers = np.repeat(np.arange(len(read)), [len(own) for own in read])
        order = np.argsort(rows, kind="stable")
        return rows[order], numbers[order]

    @property
    def lane_bytes(self) -> int:
        """Bytes of one sample in forward and backward: values, gradients, and operands with their terms."""
        operands = max((step.operands for step in self.steps), default=0)
        return 2 * (self.program.n_rows + operands) * self.dtype.itemsize

    def forward(self, theta: Array, inputs: Array, draws: Draws | None = None, held: Array | None = None) -> Array:
        """Return every row, shape (n_rows, lanes), for `inputs` (numbers of a sample, lanes).

        `theta` may be (n_theta, lanes), with other parameters on every lane, for a program of operations only. A
        program with masks needs `draws` of the first sample. If `held` gives the rows (n_rows,) of another batch, the
        means of that batch replace those of these samples.
        """
        program = self.program
        rows = np.empty((program.n_rows, inputs.shape[1]), self.dtype)
        rows[self.inputs[0]] = inputs[self.inputs[1]]
        if len(self.constants):
            rows[program.constant_rows] = self.constants[:, None]
        for mask in self.masks:
            if draws is None:  # masks of no step
                raise StateError(
                    "the model draws random numbers even in evaluation, so it cannot predict. Create a Dropout "
                    "in __init__ instead of forward(), or use it only if self.training"
                )
            factors = draws.factors(mask.call, mask.units, inputs.shape[1], float(mask.numbers[0]), self.dtype)
            rows[mask.dst : mask.dst + mask.count] = factors
        with np.errstate(all="ignore"):
            for step in self.steps:
                if held is not None and isinstance(step, BatchMean):
                    rows[step.dst] = held[step.dst, None]
                else:
                    step.forward(rows, theta)
        return rows

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array, held: bool = False) -> None:
        """Add the gradients to `grad` (n_theta,); `adjoints` (n_rows, lanes) holds the seeds and is used up.

        Means of another batch (`held`) pass no gradient on.
        """
        with np.errstate(all="ignore"):
            for step in reversed(self.steps):
                if step.alive and not (held and isinstance(step, BatchMean)):
                    step.backward(rows, adjoints, theta, grad)


class _Conv(Step):
    """Layers that share their weights."""

    def __init__(self, instruction: Instruction, program: Program, dtype: np.dtype[Any]) -> None:
        super().__init__(instruction, program, dtype)
        self.outputs, self.n = len(instruction.weights), instruction.args.shape[1]
        self.span = slice(int(instruction.weights[0]), int(instruction.weights[0]) + self.n * self.outputs)
        self.bias = slice(instruction.bias, instruction.bias + self.outputs)

    def forward(self, rows: Array, theta: Array) -> None:
        """Fill the rows: one matrix product per position."""
        result = times(theta[self.span].reshape(self.outputs, -1), rows[self.instruction.args])
        if self.instruction.bias >= 0:
            result += theta[self.bias][:, None]
        rows[self.dst] = result.transpose(1, 0, 2).reshape(self.instruction.count, -1)

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Add the gradients: of the weights for all positions at once, of the inputs one operand after another."""
        upstream = adjoints[self.dst].reshape(self.outputs, -1, adjoints.shape[1])
        if self.instruction.bias >= 0:
            grad[self.bias] += upstream.sum(axis=(1, 2))
        operands = rows[self.instruction.args]
        grad[self.span] += np.tensordot(upstream, operands, ((1, 2), (0, 2))).ravel()
        if any(self.flows):
            terms = theta[self.span].reshape(self.outputs, -1).T @ upstream.transpose(1, 0, 2)
            for k, column in enumerate(self.instruction.args.T):
                np.add.at(adjoints, column, terms[:, k])


class _Max(Step):
    """The largest of several rows; the first of equal ones gets the gradient, a NaN passes it to all."""

    def forward(self, rows: Array, theta: Array) -> None:
        """Fill the rows with the largest of their operands."""
        first_max, _ = numpy_form("first_max", self.dtype)
        operands = rows[self.instruction.args]
        found = operands[:, 0]
        for k in range(1, operands.shape[1]):
            found = first_max(found, operands[:, k])
        rows[self.dst] = found

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Add the gradient to the chosen operands."""
        upstream, found = adjoints[self.dst], rows[self.dst]
        others = np.where(found == found, self.dtype.type(0), upstream * found)
        open_still = np.ones(found.shape, np.bool_)
        for column in self.instruction.args.T:
            chosen = open_still & (rows[column] == found)
            open_still &= ~chosen
            np.add.at(adjoints, column, np.where(chosen, upstream, others))


_KINDS: dict[str, type[Step]] = {
    "conv": _Conv, "max": _Max, "squares": Squares, "dot": Dots, "weighted": Weighted, "product": Products,
    "gather": Gather, "batch_mean": BatchMean,
}  # fmt: skip
"""Steps for kinds that a plain `Step` does not handle."""


def _step(i: Instruction, program: Program, dtype: np.dtype[Any]) -> Step:
    kind = Matrices if Matrices.pay(i) else _KINDS.get(i.kind, Step)
    return kind(i, program, dtype)


LANES = 4096
"""Samples per block, so that the rows of a small network stay in the cache."""
FEWEST_LANES = 64
WORKSPACE_BYTES = 64 << 20
"""The most bytes of a block in training: rows, gradients and operands; a picture has tens of thousands of rows."""


def lanes_in_workspace(lane_bytes: int) -> int:
    """Return samples per block of a training step: `LANES`, or for a large program as many as the workspace holds."""
    lanes = min(LANES, WORKSPACE_BYTES // lane_bytes)
    return max(1, lanes - lanes % FEWEST_LANES if lanes > FEWEST_LANES else lanes)


class PlanRunner:
    """Runs a `Plan` forward, in one dtype."""

    def __init__(self, plan: Plan, dtype: Any) -> None:
        self.plan, self.dtype = plan, np.dtype(dtype)
        self.prologue = RowProgram(plan.prologue, self.dtype) if plan.prologue else None
        self.encoder = RowProgram(plan.encode, self.dtype) if plan.encode else None

    @cached_property
    def body(self) -> RowProgram:
        """The body, created at the first use; encoding data does not need it."""
        return RowProgram(self.plan.body, self.dtype)

    def extended(self, theta: Array) -> tuple[Array, Array | None]:
        """Return theta followed by the derived parameters, and the rows of the prologue."""
        if self.prologue is None:
            return theta, None
        rows = self.prologue.forward(theta, np.empty((0, 1), self.dtype))
        return np.concatenate([theta, rows[self.prologue.program.outputs, 0]]), rows

    def pulled_back(self, rows: Array | None, theta: Array, gradient: Array) -> Array:
        """Turn the gradient of an extended `theta` into that of the weights, (P,); `rows`: those of the prologue."""
        n = self.plan.n_parameters
        if self.prologue is not None and rows is not None:
            adjoints = np.zeros_like(rows)
            np.add.at(adjoints[:, 0], self.prologue.program.outputs, gradient[n:])  # two outputs may be the same row
            self.prologue.backward(rows, adjoints, theta[:n], gradient[:n])
        return gradient[:n]

    def encode(self, data: Array) -> Array:
        """Return `data` (numbers of a sample, N) with the features below it, :meth:`converted`."""
        data = self.converted(data)
        return data if self.encoder is None else np.concatenate([data, self.features(data)])

    def converted(self, data: Array) -> Array:
        """Return `data` in the plan's dtype, C-contiguous; InputError for a number too large for it."""
        try:
            with np.errstate(over="raise"):
                return np.ascontiguousarray(data, self.dtype)
        except FloatingPointError:
            largest = f"{float(np.finfo(self.dtype).max):.2g}"
            raise InputError(
                f"the data holds {np.abs(data).max():.3g}; {self.dtype} holds at most {largest}; scale the "
                'data, or use dtype="float64"'
            ) from None

    def features(self, data: Array) -> Array:
        """Return the features that the plan computes for each sample of `data` (in its dtype), shape (features, N)."""
        if self.encoder is None:
            return np.empty((0, data.shape[1]), self.dtype)
        outputs = self.encoder.program.outputs
        features = np.empty((len(outputs), data.shape[1]), self.dtype)
        lanes = lanes_in_workspace(self.encoder.lane_bytes)
        for start in range(0, data.shape[1], lanes):
            part = slice(start, start + lanes)
            features[:, part] = self.encoder.forward(np.empty(0, self.dtype), data[:, part])[outputs]
        return features

    @one_blas_thread()
    def rows(
        self, theta: Array, data: Array, wanted: Array, draws: Draws | None = None, held: Array | None = None
    ) -> Array:  # fmt: skip
        """Return the rows `wanted` of the body, shape (len(wanted), N); see :meth:`RowProgram.forward`.

        `theta` has the plan's parameters. `data` has shape (n_inputs [+ n_targets], N); missing targets are 0.
        """
        full = self.plan.n_inputs + self.plan.n_targets
        if data.shape[0] < full:
            data = np.concatenate([data, np.zeros((full - data.shape[0], data.shape[1]), self.dtype)])
        theta, _ = self.extended(np.asarray(theta, self.dtype))
        found = np.empty((len(wanted), data.shape[1]), self.dtype)
        fitting = CACHE_BYTES // (self.plan.body.n_rows * self.dtype.itemsize)  # their rows stay in the cache
        lanes = max(FEWEST_LANES, min(LANES, fitting))
        if self.plan.body.couples and held is None:  # they are one batch
            lanes = max(1, data.shape[1])
            check_coupled(self.plan.body, lanes, self.body.lane_bytes, training=False)
        for start in range(0, data.shape[1], lanes):
            part = slice(start, start + lanes)
            there = None if draws is None else replace(draws, place=draws.place + start)
            found[:, part] = self.body.forward(theta, self.encode(data[:, part]), there, held)[wanted]
        return found


def encoded(
    plan: Plan, dtype: Any, whole: bool, inputs: NDArray[Any], targets: NDArray[Any], ours: bool = False
) -> Data:
    """Return the data of inputs (N, n_inputs) and targets (N, n_targets), with features; InputError for large numbers.

    Whole numbers of a dtype smaller than the run's keep it, and features that are 0 or 1 take a byte. If no one else
    writes to the arrays (`ours`), arrays of the run's dtype are used without a copy. For `whole` see
    :meth:`Data.set_layout`.
    """
    runner, real, count = PlanRunner(plan, dtype), np.dtype(dtype), len(inputs)
    given = [array for array in (inputs, targets) if array.shape[1]]
    features, small = (0, False) if plan.encode is None else (len(plan.encode.outputs), are_truths(plan.encode))
    widths = [array.shape[1] for array in given] + [features]
    kept = [is_kept(array.dtype, real) or (ours and array.dtype == real) for array in given] + [small]
    parts: list[NDArray[Any]] = []
    places: list[NDArray[Any]] = []  # rows of each given array, and of the features
    for stays, group in groupby(range(len(kept)), kept.__getitem__):
        some = list(group)
        if stays:
            made = [
                empty(features, count, np.uint8, whole) if k == len(given)
                else in_layout(given[k].T, whole) if ours else np.array(given[k].T, order="C" if whole else "F")
                for k in some
            ]  # fmt: skip
            places += made
        else:  # one dtype: side by side
            edges = np.cumsum([0, *(widths[k] for k in some)]).tolist()
            made = [empty(edges[-1], count, real, whole)]
            places += [made[0][start:end] for start, end in pairwise(edges)]
        parts += [part for part in made if len(part)]
    if runner.encoder is not None or not all(kept[:-1]):
        for piece in pieces(count, sum(widths)):
            for array, place, stays in zip(given, places, kept, strict=False):
                if not stays:
                    _convert(runner, array[piece].T, place[:, piece])
            if runner.encoder is not None:
                numbers = np.concatenate([place[:, piece] for place in places[:-1]])
                places[-1][:, piece] = runner.features(runner.converted(numbers))
    return Data(real, *parts)


def are_truths(program: Program) -> bool:
    """Return whether all outputs are comparisons or products of them, as those of a class's number with each class."""
    truths = np.zeros(program.n_rows, np.bool_)
    for i in program.instructions:
        if i.kind == "op" and (i.op in COMPARISONS or (i.op == "mul" and truths[i.args].all())):
            truths[i.dst : i.dst + i.count] = True
    return bool(truths[program.outputs].all())


COMPARISONS = ("lt", "le", "gt", "ge")
"""Operations whose results are 0 or 1."""


def is_kept(given: np.dtype[Any], real: np.dtype[Any]) -> bool:
    """Return whether numbers keep their dtype: whole numbers of a dtype smaller than the run's."""
    return given.kind in "biu" and given.itemsize < real.itemsize and given.isnative


def _convert(runner: PlanRunner, numbers: NDArray[Any], to: NDArray[Any]) -> None:
    try:
        with np.errstate(over="raise"):
            to[...] = numbers
    except FloatingPointError:
        runner.converted(numbers)  # names the number
        raise
