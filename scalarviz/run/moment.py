"""`Moment`: what a panel is drawn from, one frame and whom to ask about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import UnknownNameError, listing
from .frame import Frame
from .source import Source


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One frame, and forward passes at its values: never at those of a run that has gone on meanwhile.

    Attributes
    ----------
    frame : Frame
        The numbers that are on screen.
    source : Source
        Where they come from, and what else it knows.
    """

    frame: Frame
    source: Source

    @property
    def step(self) -> int:
        """Training steps done."""
        return self.frame.step

    def tensor(self, name: str) -> NDArray[np.floating]:
        """The values of a tensor (``"0.weight"``) in its own shape, a copy.

        Raises
        ------
        UnknownNameError
            There is none of that name.
        """
        for tensor in self.source.tensors:
            if tensor.name == name:
                return tensor.of(self.frame.values).copy()
        raise UnknownNameError(f"no tensor {name!r}; allowed: {listing(t.name for t in self.source.tensors)}")

    def predict(self, inputs: ArrayLike) -> NDArray[Any]:
        """The outputs for `inputs` (N, n_inputs), shape (N, n_outputs)."""
        return self.source.predict(inputs, self.frame.values)

    def rows(self, inputs: ArrayLike, *stages: str) -> dict[str, NDArray[Any]]:
        """The rows of the named stages for `inputs` (N, n_inputs), each (N, outputs)."""
        return self.source.rows(inputs, stages, self.frame.values)

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Inputs (N, n_inputs) and targets (N, n_targets) that were learnt from at that moment; waits for no thread."""
        return self.frame.samples() or self.source.samples()

    def whole_loss(self) -> float:
        """The loss of all samples that were learnt from at that moment, as one batch; waits for no thread."""
        samples = self.frame.samples()
        if samples is None:
            return self.source.whole_loss(self.frame.values)
        return self.evaluate(*samples)

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike) -> float:
        """The loss on other data, all samples as one batch."""
        return self.source.evaluate(inputs, targets, self.frame.values)
