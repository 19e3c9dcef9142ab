"""Which picture the scene `texture` paints at a moment, and the edits that make it another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalarviz.engine.data import Data
from scalarviz.io import Picture
from scalarviz.run import Moment
from scalarviz.run.controls import Reader, Segments
from scalarviz.run.edits import Edit, Refill, SetTargets
from scalarviz.run.edits.base import Names, numbered

from ._texture_task import TRANSFORMS, Colours, Motif, Places, learnt

Float = NDArray[np.floating]

COMPARED = 64
"""Samples by which it is known what is painted."""


@dataclass(frozen=True, slots=True, eq=False)
class Turned(SetTargets):
    """The same pixels learn another transform."""

    transform: str = "identity"

    def words(self, name: Names = numbered) -> str:
        """``transform: zoom``."""
        return f"transform: {self.transform}"


@dataclass(frozen=True, slots=True, eq=False)
class Replaced(Refill):
    """Another picture; with a `transform`, other colours for places at random."""

    transform: str = ""

    def words(self, name: Names = numbered) -> str:
        """``another picture``."""
        return f"transform: {self.transform}" if self.transform else "another picture"


class Studio:
    """All that was painted in one scene. What is painted at a moment is read off the data of that moment.

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
        self._seen: tuple[Data | None, Motif] = None, motif  # the data that was looked at last, and what it is of

    @property
    def random(self) -> bool:
        """Whether places are drawn at random."""
        return self._places is not None

    @property
    def pixels(self) -> int:
        """Of the first picture."""
        return self._motifs[0].pixels

    def opened(self, data: Data | None) -> bool:
        """Whether a run that learns from `data` paints another picture than the first one."""
        return self.motif(data).rgb is not self._motifs[0].rgb

    def data(self, motif: Motif) -> tuple[Any, Any]:
        """What a run learns from: inputs and targets."""
        if self._places is not None:
            return self._places, Colours(self._places, motif)
        return motif.places, motif.wanted.reshape(-1, 3)

    def __call__(self, moment: Moment) -> Float:
        """What is to be painted at a moment, shape (H, W, 3)."""
        return self.motif(moment.frame.data).wanted

    def motif(self, data: Data | None) -> Motif:
        """What is painted by a run that learns from `data`; None: the first one."""
        seen, motif = self._seen
        if data is not seen:
            motif = self._motifs[0] if data is None else self._found(data)
            self._seen = data, motif
        return motif

    def _found(self, data: Data) -> Motif:
        """The last motif that was made and has the colours of this data."""
        for motif in reversed(self._motifs):
            _, colours = self.data(motif)
            if len(colours) == data.shape[1]:
                some = np.arange(COMPARED) if self.random else _spread(len(colours))
                if np.array_equal(data[2:5, some].T, colours[some]):
                    return motif
        return self._motifs[0]

    def turn(self, motif: Motif, transform: str) -> Edit:
        """Paint the picture of `motif` with another transform."""
        inputs, targets = self.data(self._known(motif.rgb, transform))
        return Replaced(inputs, targets, transform) if self.random else Turned(targets, transform)

    def other(self, picture: Float) -> Edit:
        """Paint another picture (H, W, 3), as it is."""
        return Replaced(*self.data(self._known(learnt(Picture(np.asarray(picture, np.float32)), []), "identity")))

    def _known(self, rgb: NDArray[np.float32], transform: str) -> Motif:
        """A motif, which is made once: all edits that lead to it share its arrays."""
        for motif in self._motifs:
            if motif.rgb is rgb and motif.transform == transform:
                return motif
        self._motifs.append(Motif(rgb, transform))
        return self._motifs[-1]

    @property
    def control(self) -> Segments:
        """The transform, for a hand."""

        def change(value: str, reader: Reader) -> Edit | None:
            motif = self.motif(reader.data)
            return None if value == motif.transform else self.turn(motif, value)

        return Segments(
            "transform",
            "--transform",
            "What is painted; the weights stay, so that something new is learnt from something old.",
            choices=tuple(TRANSFORMS),
            value=lambda reader: self.motif(reader.data).transform,
            change=change,
        )


def _spread(count: int) -> NDArray[np.int64]:
    """Some of `count` samples, evenly spread but not in step with the rows of a picture."""
    return np.unique((np.arange(COMPARED) * 0.618034 % 1 * count).astype(np.int64))
