"""A program on NumPy arrays: forward and backward, one instruction at a time over all lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import StateError
from ...scalar.mask import Draws
from ...tape import Instruction, Program
from ..problem import Array
from .batch import BatchMean
from .step import Step, numpy_form
from .sums import Dots, Matrices, Products, Squares, Weighted
from .tables import Gather


class RowProgram:
    """A `Program` that NumPy runs.

    Parameters
    ----------
    program : Program
    dtype : numpy.dtype
    """

    def __init__(self, program: Program, dtype: np.dtype[Any]) -> None:
        self.program, self.dtype = program, dtype
        with np.errstate(over="ignore"):  # 1e308 is infinite in float32, as IEEE 754 rounds it
            self.constants = program.constants.astype(dtype)
        self.masks = [i for i in program.instructions if i.kind == "mask"]
        self.steps = [_step(i, program, dtype) for i in program.instructions if i.kind != "mask"]

    @property
    def lane_bytes(self) -> int:
        """What forward and backward hold of one sample: values, adjoints, and operands with their terms."""
        operands = max((step.operands for step in self.steps), default=0)
        return 2 * (self.program.n_rows + operands) * self.dtype.itemsize

    def forward(
        self, theta: Array, inputs: Array, draws: Draws | None = None, held: Array | None = None
    ) -> Array:  # fmt: skip
        """Every row.

        Parameters
        ----------
        theta : ndarray, shape (n_theta,)
            Or (n_theta, lanes), other parameters on every lane, for a program of operations alone.
        inputs : ndarray, shape (numbers of a sample, lanes)
        draws : Draws, optional
            Of the step and the first of the samples, for a program with masks.
        held : ndarray, shape (n_rows,), optional
            Rows of another batch, whose means are taken in the place of those of these samples.

        Returns
        -------
        ndarray, shape (n_rows, lanes)
        """
        program = self.program
        rows = np.empty((program.n_rows, inputs.shape[1]), self.dtype)
        rows[program.input_rows] = inputs[program.input_index]
        rows[program.constant_rows] = self.constants[:, None]
        for mask in self.masks:
            if draws is None:  # masks of no step at all
                raise StateError(
                    "the model draws random numbers in evaluation too, so it has no prediction: a Dropout that "
                    "forward() makes anew is always in training; make it in __init__, or use it if self.training only"
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

        Means over a batch that are those of another one (`held`) pass nothing on.
        """
        with np.errstate(all="ignore"):
            for step in reversed(self.steps):
                if not (held and isinstance(step, BatchMean)):
                    step.backward(rows, adjoints, theta, grad)


class _Conv(Step):
    """Layers that share their weights."""

    def __init__(self, instruction: Instruction, program: Program, dtype: np.dtype[Any]) -> None:
        super().__init__(instruction, program, dtype)
        self.outputs, self.n = len(instruction.weights), instruction.args.shape[1]
        self.span = slice(int(instruction.weights[0]), int(instruction.weights[0]) + self.n * self.outputs)
        self.bias = slice(instruction.bias, instruction.bias + self.outputs)

    def forward(self, rows: Array, theta: Array) -> None:
        """The sums of all positions, as one product a position."""
        result = theta[self.span].reshape(self.outputs, -1) @ rows[self.instruction.args]
        if self.instruction.bias >= 0:
            result += theta[self.bias][:, None]
        rows[self.dst] = result.transpose(1, 0, 2).reshape(self.instruction.count, -1)

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """The weights' gradient over all positions at once; the inputs' one operand after another."""
        if not self.alive:
            return
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
    """Largest of several rows; the gradient goes to the first that is, a NaN to all."""

    def forward(self, rows: Array, theta: Array) -> None:
        """The largest of each row's operands; the first of equal ones."""
        first_max, _ = numpy_form("first_max", self.dtype)
        operands = rows[self.instruction.args]
        found = operands[:, 0]
        for k in range(1, operands.shape[1]):
            found = first_max(found, operands[:, k])
        rows[self.dst] = found

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """All of the gradient to the operand that was chosen."""
        if not self.alive:
            return
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
"""Those that are more than a `Step` knows."""


def _step(i: Instruction, program: Program, dtype: np.dtype[Any]) -> Step:
    kind = Matrices if Matrices.pay(i) else _KINDS.get(i.kind, Step)
    return kind(i, program, dtype)
