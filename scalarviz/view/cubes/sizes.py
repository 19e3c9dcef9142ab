"""How large each cube is: as large as all others, or as what it shows is (a Hinton diagram); small ones may be hidden.

The shader and whoever asks what is under the pointer go by the same rule: the place of a number on its legend, from 0
in the neutral to 1 at the ends, is the share of the largest face's area.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

from ...checks import flag
from ...errors import InputError, TypeMismatchError, shown
from ...run.questions.ranges import Range
from .atlas import FROZEN

if TYPE_CHECKING:
    from .atlas import Atlas

LEAST = 0.1
"""The least side of a cube, as a share of the largest: one of 0 is a dot, not a hole; a threshold hides it."""
THRESHOLDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
"""What the keys go through."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """What decides how large cubes are.

    Attributes
    ----------
    by_value : bool
        Whether the area of a cube's face is as large as what it shows, beside the range.
    threshold : float
        Cubes whose number is below this share of the range (0 to below 1) are not drawn.

    Raises
    ------
    TypeMismatchError, InputError
        Other things than these.
    """

    by_value: bool = False
    threshold: float = 0.0

    def __post_init__(self) -> None:
        flag(self.by_value, "sized")
        given: Any = self.threshold
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise TypeMismatchError(f"threshold: got {shown(given)}; allowed: a share of the range, such as 0.1")
        if not 0.0 <= given < 1.0:
            raise InputError(f"threshold: got {shown(given)}; allowed: a share of the range, from 0 to below 1")

    @property
    def active(self) -> bool:
        """Whether some cube may be smaller than the others."""
        return self.by_value or self.threshold > 0.0

    def share(self, chosen: Range, value: float) -> float:
        """The side of the cube of a finite number, as a share of the largest; 0 where it is not drawn."""
        unit = min(max(float(chosen.unit(value)), 0.0), 1.0)
        place = unit if chosen.scale == "log" else abs(2.0 * unit - 1.0)
        if place < self.threshold:
            return 0.0
        return max(sqrt(place), LEAST) if self.by_value else 1.0

    def share_of(self, atlas: Atlas, texel: int, chosen: Range) -> float:
        """The same for a texel of the atlas: what carries a mark is always as large as can be."""
        own = atlas.own.get(texel)
        if own is not None and own.share is not None:
            return round(126.0 * own.share) / 126.0  # as the shader has it
        if atlas.mark(texel) & ~FROZEN:
            return 1.0
        return self.share(chosen, atlas.value(texel))

    def words(self) -> str:
        """What a picture says of it; empty where there is nothing to say."""
        hidden = f"below {100 * self.threshold:g} % hidden" if self.threshold else ""
        return ", ".join(filter(None, ("by colour and size" if self.by_value else "", hidden)))


ALL_ALIKE = Sizing()
