"""`Probing`: what is recorded of one sample, by forward and backward passes in the thread that writes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .deltas import Deltas
from .encoding import number, rows_blob
from .taken import Look


@dataclass
class Probing:
    """The probe and what of it is wanted.

    Attributes
    ----------
    probe, target : ndarray, shapes (n_inputs,) and (n_targets,), or None
    activations, deltas : bool
    """

    probe: NDArray[np.float64] | None
    target: NDArray[np.float64] | None
    activations: bool
    deltas: bool
    _known: dict[int, Deltas] = field(default_factory=dict)

    def loss(self, look: Look) -> float | None:
        """Its own loss, where it has a target and its rows are wanted."""
        pair = self._pair(look)
        if pair is None:
            return None
        with np.errstate(all="ignore"):
            return number(look.forward.evaluate(pair[0][None], pair[1][None], look.value))

    def rows(self, look: Look) -> bytes | None:
        """What each stage makes of it; of a network that takes other samples nothing."""
        if self.probe is None or not self.activations or len(self.probe) != look.forward.tape.n_inputs:
            return None
        with np.errstate(all="ignore"):
            return rows_blob(look.forward.activations(self.probe, look.value), look.forward.stages)

    def delta_rows(self, look: Look) -> bytes | None:
        """How its loss depends on that."""
        pair = self._pair(look)
        if pair is None or not self.deltas:
            return None
        if look.network not in self._known:
            self._known[look.network] = Deltas(look.forward)
        with np.errstate(all="ignore"):
            rows = self._known[look.network].rows(*pair, look.value)
        return None if rows is None else rows_blob(rows, look.forward.stages)

    def _pair(self, look: Look) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Sample and target, where both are of the network of the moment and anything of them is wanted."""
        probe, target = self.probe, self.target
        if probe is None or target is None or not (self.activations or self.deltas):
            return None
        tape = look.forward.tape
        return (probe, target) if (len(probe), len(target)) == (tape.n_inputs, tape.n_targets) else None
