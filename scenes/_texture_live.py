"""Which picture the scene `texture` paints at a moment, and the edits that make it another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scalarviz.io import Picture
from scalarviz.run import Moment, Run
from scalarviz.run.edits import Applied, Edit, Refill, SetTargets
from scalarviz.run.edits.base import Names, numbered

from ._texture_task import Colours, Motif, Places, learnt

if TYPE_CHECKING:
    from collections.abc import Iterable

Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class Turned(SetTargets):
    """The same pixels learn another transform; `motif` is the number that a `Studio` gave it."""

    motif: int = 0
    transform: str = "identity"

    def words(self, name: Names = numbered) -> str:
        """``transform: zoom``."""
        return f"transform: {self.transform}"


@dataclass(frozen=True, slots=True, eq=False)
class Replaced(Refill):
    """Another picture, or places at random of the same with another transform."""

    motif: int = 0
    transform: str = "identity"
    same: bool = False

    def words(self, name: Names = numbered) -> str:
        """``another picture``."""
        return f"transform: {self.transform}" if self.same else "another picture"


class Studio:
    """All that was painted in one scene. What is painted at a moment is said by the edits up to it.

    Parameters
    ----------
    motif : Motif
        The first one.
    seed : int or None
        Of places at random; None: the middles of the pixels are learnt.
    """

    def __init__(self, motif: Motif, seed: int | None = None) -> None:
        self._motifs = [motif]
        self._places = None if seed is None else Places(seed)

    @property
    def random(self) -> bool:
        """Whether places are drawn at random."""
        return self._places is not None

    def data(self, motif: Motif) -> tuple[Any, Any]:
        """What a run learns from: inputs and targets."""
        if self._places is not None:
            return self._places, Colours(self._places, motif)
        return motif.places, motif.wanted.reshape(-1, 3)

    def motif(self, moment: Moment) -> Motif:
        """What is painted at a moment."""
        past, step = moment.frame.past, moment.frame.step
        return self._after(() if past is None else (done for done in past.edits if done.step <= step))

    def motif_now(self, run: Run) -> Motif:
        """What is painted where a run stands."""
        return self._after(run.log)

    def _after(self, edits: Iterable[Applied]) -> Motif:
        numbers = [done.edit.motif for done in edits if isinstance(done.edit, Turned | Replaced)]
        return self._motifs[numbers[-1]] if numbers else self._motifs[0]

    def __call__(self, moment: Moment) -> Float:
        """What is to be painted at a moment, shape (H, W, 3)."""
        return self.motif(moment).wanted

    def turn(self, motif: Motif, transform: str) -> Edit:
        """Paint the picture of `motif` with another transform."""
        new = self._known(motif.rgb, transform)
        inputs, targets = self.data(self._motifs[new])
        if self._places is None:
            return Turned(targets, new, transform)
        return Replaced(inputs, targets, new, transform, True)

    def other(self, picture: Float, transform: str = "identity") -> Edit:
        """Paint another picture (H, W, 3)."""
        new = self._known(learnt(Picture(np.asarray(picture, np.float32)), []), transform)
        return Replaced(*self.data(self._motifs[new]), new, transform)

    def _known(self, rgb: NDArray[np.float32], transform: str) -> int:
        """The number of a motif, which is made once: its arrays are shared by all edits that lead to it."""
        for number, motif in enumerate(self._motifs):
            if motif.rgb is rgb and motif.transform == transform:
                return number
        self._motifs.append(Motif(rgb, transform))
        return len(self._motifs) - 1
