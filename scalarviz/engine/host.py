"""`HostTrainer`: what engines have in common that compute in the arrays of the problem themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import StateError
from .problem import Array, Problem
from .readback import Asked


class HostTrainer:
    """The part of a :class:`~scalarviz.engine.problem.Trainer` that needs nothing but the host's arrays.

    A subclass sets `problem`. An array of the problem may be replaced by another of its shape at any time.
    """

    problem: Problem
    call_overhead: float = 0.0
    remark: str = ""
    asked: Asked | None = None
    _kept: Sequence[Array] = ()

    def _changing(self) -> tuple[Array, ...]:
        """What a step changes."""
        problem = self.problem
        return (problem.store.value, problem.store.grad, problem.previous, *problem.state)

    def snapshot(self) -> None:
        """Keep all that a step changes, in arrays that are used again: fresh memory costs more than copying."""
        arrays = self._changing()
        if not self._fit(arrays):
            self._kept = [np.empty_like(array) for array in arrays]
        for kept, array in zip(self._kept, arrays, strict=True):
            np.copyto(kept, array)

    def rewind(self) -> None:
        """Go back to the last snapshot.

        Raises
        ------
        StateError
            There is none, or the optimiser has other arrays since.
        """
        arrays = self._changing()
        if not self._fit(arrays):
            raise StateError(f"rewind: there is no snapshot of these {len(arrays)} arrays; call snapshot() first")
        for kept, array in zip(self._kept, arrays, strict=True):
            np.copyto(array, kept)

    def _fit(self, arrays: Sequence[Array]) -> bool:
        return [kept.shape for kept in self._kept] == [array.shape for array in arrays]

    def release(self) -> None:
        """There is nothing but the host's memory."""

    def finite(self) -> bool:
        """Whether no weight is a NaN or an infinity."""
        return bool(np.isfinite(self.problem.store.value).all())
