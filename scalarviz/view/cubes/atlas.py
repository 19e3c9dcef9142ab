"""The numbers of all plates in one float texture, and their marks in one of bytes, both at most 4096 wide.

Element k of a frame's flat arrays is texel k, row by row, so a frame is one copy and one upload; the rows of
activations follow after the weights. `Sizing` sets the size of a cube: all alike, or by its number (a Hinton diagram);
small ones may be hidden. The shader and the picking use the same rule: the area of a face, as a share of the largest,
is the place of its number on the legend, from 0 at the neutral colour to 1 at the ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import flag
from ...errors import InputError, TypeMismatchError, shown
from ...run.questions.ranges import Range, settled
from ..space.arrangement import Plate
from .looks import CubeLook

ATLAS_WIDTH = 4096

NAN, POS_INF, NEG_INF, FROZEN, DEAD, NOT_COMPUTED = 1, 2, 4, 8, 16, 32
"""Bits of the flag texture. "Clipped" needs none: the shader sees it from the value and the range."""
APART = 64
"""Only in frames for the browser: just one of update and gradient is known."""

NO_SIDE = 127
_LARGEST = float(np.finfo(np.float32).max)


class Atlas:
    """Values (float32) and marks (uint8) of every plate, in the order of the layout, as the shader reads them.

    `changed` and `flags_changed` say that an upload is due; the uploading code resets them.
    """

    def __init__(self, plates: Sequence[Plate]) -> None:
        self.parameters = max((p.start + p.size for p in plates if p.start >= 0), default=0)
        self._spans: dict[tuple[bool, str], slice] = {}
        end = self.parameters
        for plate in plates:
            row = plate.start < 0
            first = end if row else plate.start
            self._spans[row, plate.name] = slice(first, first + plate.size)
            end += plate.size if row else 0
        width = min(ATLAS_WIDTH, end)
        self.shape = (ceil(end / width), width)
        self._values = np.zeros(self.shape[0] * width, np.float32)
        self._given = np.zeros(len(self._values), np.uint8)
        self._seen = np.zeros(len(self._values), np.uint8)
        self.changed = self.flags_changed = True
        self._flat: object = None  # the last whole array that was taken over
        self.looks: dict[int, CubeLook] = {}  # looks given by hand, by texel
        # colours (texels, 3) that replace those of the scale; NaN: not replaced. None: no cube has one
        self.instead: NDArray[np.float32] | None = None
        self.lift: NDArray[np.float32] | None = None  # (P,), change of the cubes' heights, -1 to 1; None: no change
        self._used = 0  # all marks set so far
        self._any_seen: set[tuple[int, int]] = set()

    @property
    def values(self) -> NDArray[np.float32]:
        """The values that the shader samples."""
        return self._values.reshape(self.shape)

    @property
    def flags(self) -> NDArray[np.uint8]:
        """Marks set by the caller, combined with those of the values themselves."""
        return (self._given | self._seen).reshape(self.shape)

    @property
    def marks(self) -> int:
        """The bits of all marks that occur on a cube."""
        return int(np.bitwise_or.reduce(self._given | self._seen)) if self._used or self._any_seen else 0

    def look_texels(self) -> NDArray[np.uint8]:
        """Looks given by hand, as the shader reads them: red, green, blue, and a byte for the size.

        The byte is 126 times the side (127 for no given side), plus 128 if there is a colour.
        """
        found = np.zeros((len(self._values), 4), np.uint8)
        found[:, 3] = NO_SIDE
        for texel, look in self.looks.items():
            if look.colour is not None:
                found[texel, :3] = np.rint(255.0 * np.array(look.colour))
            side = NO_SIDE if look.share is None else round(126.0 * look.share)
            found[texel, 3] = side + (128 if look.colour is not None else 0)
        if self.instead is not None:
            there = ~np.isnan(self.instead[:, 0])
            found[there, :3] = np.rint(255.0 * self.instead[there])
            found[there, 3] |= 128
        if self.lift is not None:  # in place of the side
            rise = np.rint(63.0 * (1.0 + np.clip(self.lift, -1.0, 1.0))).astype(np.uint8)
            found[: len(rise), 3] = (found[: len(rise), 3] & 128) | rise
        return found.reshape(*self.shape, 4)

    def value(self, texel: int) -> float:
        """Return one number as the shader reads it."""
        return float(self._values[texel])

    def mark(self, texel: int) -> int:
        """Return the marks of one number."""
        return int(self._given[texel] | self._seen[texel])

    def span(self, plate: Plate) -> slice:
        """Return the texels of a plate, counted row by row."""
        return self._spans[plate.start < 0, plate.name]

    def set_flat(self, flat: ArrayLike) -> None:
        """Take over all weights from a frame's flat array (P,)."""
        if flat is self._flat and settled(flat):
            return
        self._flat = flat
        self._set_values(slice(0, self.parameters), np.asarray(flat).reshape(-1)[: self.parameters])

    def set_row(self, plate: Plate, values: ArrayLike) -> None:
        """Take over the values of an activation row."""
        self._set_values(self.span(plate), np.asarray(values).reshape(-1))

    def set_flags(self, span: slice, weight: int, marked: ArrayLike | None) -> None:
        """Set or clear one mark on a span of texels; None clears it everywhere in the span."""
        block = None if marked is None else np.asarray(marked, bool).reshape(-1)
        if (block is None or not block.any()) and not (self._used & weight):
            return  # the usual frame: no marks, before or now
        self._used |= weight
        target = self._given[span]
        before = target.copy()
        target &= np.uint8(255 - weight)
        if block is not None:
            target |= np.where(block, np.uint8(weight), np.uint8(0))
        self.flags_changed |= not np.array_equal(before, target)

    def _set_values(self, span: slice, block: NDArray[np.generic]) -> None:
        self.changed = True
        key = (span.start, span.stop)
        numbers = block if block.dtype == np.float32 else np.clip(block.astype(np.float64), -_LARGEST, _LARGEST)
        self._values[span] = numbers
        # A sum is finite unless a term is not, or it overflows; then the slow check finds nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(np.sum(block))
        if suspicious or key in self._any_seen:
            exact = block.astype(np.float64, copy=False)
            marks = np.select([np.isnan(exact), exact == np.inf, exact == -np.inf], [NAN, POS_INF, NEG_INF])
            self._seen[span], self.flags_changed = marks, True
            (self._any_seen.add if marks.any() else self._any_seen.discard)(key)


# ---- How large each cube is.

LEAST = 0.1
"""The least side of a cube as a share of the largest: a zero is a dot, not a hole."""
THRESHOLDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
"""The thresholds that the keys step through."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """The rule for the size of cubes."""

    by_value: bool = False  # whether the area of a cube's face is proportional to its number
    threshold: float = 0.0  # cubes whose number is below this share of the range (0 to below 1) are not drawn

    def __post_init__(self) -> None:
        flag(self.by_value, "sized")
        given: Any = self.threshold
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise TypeMismatchError(f"threshold: got {shown(given)}; allowed: a share of the range, such as 0.1")
        if not 0.0 <= given < 1.0:
            raise InputError(f"threshold: got {shown(given)}; allowed: a share of the range, from 0 to below 1")

    @property
    def active(self) -> bool:
        """True if a cube may be smaller than the others."""
        return self.by_value or self.threshold > 0.0

    def share(self, chosen: Range, value: float) -> float:
        """Return the side of a finite number's cube as a share of the largest; 0 if it is not drawn."""
        unit = min(max(float(chosen.unit(value)), 0.0), 1.0)
        place = unit if chosen.scale == "log" else abs(2.0 * unit - 1.0)
        if place < self.threshold:
            return 0.0
        return max(sqrt(place), LEAST) if self.by_value else 1.0

    def share_of(self, atlas: Atlas, texel: int, chosen: Range) -> float:
        """Return the same for a texel of the atlas; a cube with a mark always has full size."""
        own = atlas.looks.get(texel)
        if own is not None and own.share is not None:
            return round(126.0 * own.share) / 126.0  # as the shader has it
        return 1.0 if atlas.mark(texel) & ~FROZEN else self.share(chosen, atlas.value(texel))

    def words(self) -> str:
        """Return the description for the picture; empty if all cubes are alike."""
        hidden = f"below {100 * self.threshold:g} % hidden" if self.threshold else ""
        return ", ".join(filter(None, ("by colour and size" if self.by_value else "", hidden)))


ALL_ALIKE = Sizing()
