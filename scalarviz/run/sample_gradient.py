"""`SampleGradient`: what one sample alone asks for, in float64, to show where a batch's gradient comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine.arrays.program import PlanRunner

if TYPE_CHECKING:
    from .forward import Forward
    from .run import Run


class SampleGradient:
    """Forward and backward of single samples, on arrays of its own: the run's store is never touched.

    Parameters
    ----------
    run : Run
    forward : Forward, optional
        A network that it had; default: that of now.
    """

    def __init__(self, run: Run, forward: Forward | None = None) -> None:
        self._forward = run._forward if forward is None else forward
        self._plan = self._forward.plan
        self._runner = PlanRunner(self._plan, np.float64)

    def gradient(self, sample: ArrayLike, target: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """Gradient (P,) of the loss of one sample (n_in,) with its target (n_out,), at flat values (P,).

        As `evaluate` has that loss: a mean over weighted targets divides by the sample's own weight.
        """
        runner, body = self._runner, self._runner.body
        numbers = np.concatenate([np.ravel(sample), np.ravel(target)]).astype(np.float64)
        at = np.asarray(values, np.float64)
        theta, prologue_rows = runner.extended(at)
        rows = body.forward(theta, runner.encode(numbers[:, None]))
        adjoints: NDArray[Any] = np.zeros_like(rows)
        adjoints[body.program.loss] = self._forward.scale_of_one(np.asarray(target))
        gradient = np.zeros(len(theta))
        body.backward(rows, adjoints, theta, gradient)
        count = self._plan.n_parameters
        if prologue_rows is not None and runner.prologue is not None:
            inner = np.zeros_like(prologue_rows)
            np.add.at(inner[:, 0], runner.prologue.program.outputs, gradient[count:])
            runner.prologue.backward(prologue_rows, inner, at, gradient[:count])
        return gradient[:count]
