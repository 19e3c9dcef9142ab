"""`Taken`: what an opened step takes from a run, copied between two of its steps. The rest is computed outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.data import Data
from ...engine.problem import Limits, Share, inverse
from ...scalar.mask import Draws
from ...tape import Plan, Tape
from ..frame import BoolArray, FloatArray, Tensor
from .network import Network


@dataclass(frozen=True, slots=True, eq=False)
class Own:
    """What the engine itself computed in a step that is done.

    Attributes
    ----------
    engine : str
        Its name.
    loss : float
    gradient, values : ndarray, shape (P,)
        In the run's dtype; `values` are those at which one stands after the step, edits made there included.
    """

    engine: str
    loss: float
    gradient: FloatArray
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """One step's numbers: copies, or arrays that nobody writes to.

    Attributes
    ----------
    step : int
        Which step it is, from 1: steps done before it, and one.
    lr, t : float
        What the optimiser's rule reads: the learning rate, and its own count of steps.
    values : ndarray, shape (P,)
        The weights before the step, in the run's dtype.
    state : mapping of str to ndarray, shape (P,), or None
        The optimiser's state before the step; None where it is not known (at a step where the run does not stand).
    trained, frozen : ndarray of bool, shape (P,)
        Which weights the step moves; which are frozen by hand.
    data : Data, shape (numbers of a sample, N)
        Inputs and targets, in the run's dtype.
    batch : ndarray of int64, shape (B,)
        Columns of `data` that the step learns from; -1 is a sample that is not of the data.
    columns : ndarray of int64 or None
        The same where they are to be picked out of `data`; None: all of it, in order.
    arithmetic : numpy.dtype
        In which the engine computes: the run's, but for objects of Python's floats.
    reduction : {"mean", "sum"}
    share : callable or None
        As that of :class:`~scalarviz.engine.problem.Problem`.
    optimizer : str
        Class name.
    state_names : tuple of str
    rules : tuple of (Tape, tuple of str)
        The update of one weight of each parameter group as recorded, with the names of the state that it reads.
    update : Plan
        The optimiser's update as engines run it.
    of_group : list of ndarray, shape (P,)
        The group of each weight; none where there is one alone.
    rates : tuple of float
        Of all groups but the first.
    limits : Limits
        Penalties and clipping.
    tensors : tuple of Tensor
    network : Network
    own : Own or None
        What the engine computed, where the step is done.
    seed : int
        The run's, for dropout masks.
    beside : ndarray, shape (numbers of a sample, N), or None
        Inputs and targets of the batch whose means a trial step with one sample takes; they are held still. None: the
        step has its own, or needs none.
    """

    step: int
    lr: float
    t: float
    values: FloatArray
    state: dict[str, NDArray[Any]] | None
    trained: BoolArray
    frozen: BoolArray
    data: Data
    batch: NDArray[np.int64]
    columns: NDArray[np.int64] | None
    arithmetic: np.dtype[Any]
    reduction: str
    share: Share | None
    optimizer: str
    state_names: tuple[str, ...]
    rules: tuple[tuple[Tape, tuple[str, ...]], ...]
    update: Plan
    of_group: list[NDArray[Any]]
    rates: tuple[float, ...]
    limits: Limits
    tensors: tuple[Tensor, ...]
    network: Network
    own: Own | None = None
    seed: int = 0
    beside: NDArray[Any] | None = None

    def draws(self, place: int) -> Draws:
        """What dropout masks are drawn from, for the samples of the batch from `place` on."""
        return Draws(self.seed, self.step - 1, place)

    def group(self, index: int) -> int:
        """The parameter group of a weight."""
        return int(self.of_group[0][index]) if self.of_group else 0

    def theta(self, gradient: FloatArray, group: int = 0) -> tuple[float, ...]:
        """The numbers of the rule: rate, step, and what a gradient (P,) whose length is limited is multiplied by."""
        lr = self.rates[group - 1] if group else self.lr
        if self.limits.clip_norm is None:
            return lr, self.t
        return lr, self.t, self.limits.coefficient(self.values.astype(np.float64), gradient, self.trained)

    @property
    def scale(self) -> float:
        """Factor of one sample's loss in the loss of the batch."""
        return inverse(self.divisor)

    @property
    def divisor(self) -> float:
        """What the sum of the samples' own terms is divided by."""
        if self.reduction == "sum":
            return 1
        if self.share is None:
            return len(self.batch)
        tape = self.network.tape
        found = float(self.share(self.numbers(slice(None))[tape.n_inputs : tape.n_inputs + tape.n_targets].T).sum())
        return int(found) if found.is_integer() else found

    def numbers(self, part: slice) -> NDArray[Any]:
        """Inputs and targets of a part of the batch, a column each."""
        return self.data[:, part] if self.columns is None else self.data[:, self.columns[part]]
