"""`Opener`: what of a run's coming step is copied where it trains, and opened in the thread that writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError
from ..opened.network import Network
from ..opened.opened import Opened
from ..opened.taken import Taken

if TYPE_CHECKING:
    from ..run import Run

Float = NDArray[np.float64]


OVERHEAD = 32 << 10
"""Bytes of two steps beside their arrays: rules as recorded, names, places."""


@dataclass(frozen=True, slots=True)
class Coming:
    """The coming step of a moment.

    Attributes
    ----------
    alone : Taken or None
        With the probe alone, where it has a target.
    whole : Taken
        Of the step's own batch.
    """

    alone: Taken | None
    whole: Taken

    @property
    def nbytes(self) -> int:
        """Bytes that are copied for it."""
        found = [taken for taken in (self.alone, self.whole) if taken is not None]
        return OVERHEAD + sum(t.values.nbytes + sum(s.nbytes for s in (t.state or {}).values()) for t in found)


@dataclass(frozen=True, slots=True)
class Steps:
    """Takes the coming steps of a run.

    Attributes
    ----------
    probe, target : ndarray or None
        The sample with which a trial step is opened, where both are known.
    """

    probe: Float | None
    target: Float | None

    def coming(self, run: Run) -> Coming | None:
        """What is copied of a run that stands still; None where its step cannot be opened."""
        try:
            whole = run._taken_here(None, None)
        except ScalarvizError:
            return None
        if self.probe is None or self.target is None or np.isnan(self.target).any():
            return Coming(None, whole)
        try:
            return Coming(run._taken_here(None, (self.probe, self.target)), whole)
        except ScalarvizError:  # its network takes other samples now
            return Coming(None, whole)


class Opener:
    """Opens what was copied, with programs of its own: those of the run belong to whoever opens its steps."""

    def __init__(self) -> None:
        self._of: Network | None = None
        self._network: Network | None = None

    def opened(self, taken: Taken, *, alone: bool) -> Opened:
        """The step."""
        if self._network is None or self._of is not taken.network:
            self._of, self._network = taken.network, taken.network.another()
        return Opened(replace(taken, network=self._network), trial=alone)
