"""`Looks`: looks at what another library trains, and tells a writer what is new there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..frame import Frame, Stage, Tensor
from ..watched import Watched
from .taken import Item, Look, Network, Passed, Stands, Way
from .watching import BEFORE, BETWEEN, thinned


def _moved(frame: Frame) -> NDArray[Any]:
    """What the step did; NaN where nobody looked at the numbers before it."""
    one = frame.together == 1 and bool(frame.known("update").any())
    return frame.update if one else np.full(len(frame.update), np.nan, np.float32)


@dataclass(frozen=True, slots=True)
class Outside:
    """A network of which nothing is known but its arrays.

    Attributes
    ----------
    tensors : tuple of Tensor
    stages : tuple of Stage
        None: what flows through it is not seen.
    """

    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...] = ()


class Looks:
    """What was told so far, so that only what is new is told. A loop that begins again is another branch.

    Parameters
    ----------
    gradients, updates : bool
        What of a moment is wanted beside its values.
    """

    def __init__(self, *, gradients: bool, updates: bool) -> None:
        self._gradients, self._updates = gradients, updates
        self._network: Any = None  # a writer asks a Forward for tensors and stages alone, where nobody gave a sample
        self._branch, self._round = -1, -1
        self._step: int | None = None  # of the last frame of the branch
        self._reached = 0
        self._stands: Stands | None = None

    def items(self, watched: Watched, every: int, *, last: bool = False) -> list[Item]:
        """What is new; `last`: the place is told in any case."""
        found: list[Item] = []
        frame, begins = watched.last, watched.rounds != self._round
        if begins:
            self._begin(watched, found)
        kept = begins or last
        if kept or (frame.step != self._step and frame.step % every == 0):
            found += self._passed(watched)
            found.append(self._look(frame, kept=kept))
            self._step = frame.step
        stands = Stands(self._branch, frame.step if last else None)
        if stands != self._stands:
            self._stands = stands
            found.append(stands)
        return found

    def _begin(self, watched: Watched, found: list[Item]) -> None:
        """A branch begins."""
        step = watched.last.step
        if self._network is None:
            self._network = Outside(watched.tensors)
            found.append(Network(0, self._network))
            self._reached, why = 0, ""
        else:
            self._reached, why = max(step - 1, 0), f"the loop began again, at step {step:,}"
        self._branch, self._round = self._branch + 1, watched.rounds
        found.append(Way(self._branch, None, self._reached, 0, why, jumped=False))

    def _passed(self, watched: Watched) -> list[Item]:
        """Losses of steps that are new."""
        curve = watched.curve_after(self._reached)
        if not len(curve.step):
            return []
        most = BETWEEN if self._reached else BEFORE
        self._reached = int(curve.step[-1])
        return [Passed(self._branch, thinned(curve, most))]

    def _look(self, frame: Frame, *, kept: bool) -> Look:
        return Look(
            branch=self._branch,
            step=frame.step,
            edits=0,
            network=0,
            kept=kept,
            instead=False,
            loss=frame.loss,
            lr=frame.lr,
            next_lr=math.nan,
            batch=0,
            optimizer="",
            edited=False,
            stopped="",
            value=frame.values,
            gradient=frame.gradient if self._gradients else None,
            previous=None,
            moved=_moved(frame) if self._updates else None,
            computed=frame.computed.view("uint8"),
            frozen=frame.frozen.view("uint8"),
            forward=self._network,
            data=(),  # type: ignore[arg-type]
        )
