"""`cube(w)` gives a cube a look by hand: colour, size, visibility, a label.

Looks are kept beside the weights, by block and number; the weights do not know them. Every picture asks for the present
store and index of a number, because a Run that takes the weight over moves it.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...checks import flag, text
from ...errors import InputError, TypeMismatchError, UnknownAttributeError, shown
from ...run.source import Source
from ...scalar import Block, Weight

Colour = tuple[float, float, float]
LONGEST = 60
"""Most characters of a label."""


@dataclass(frozen=True, slots=True)
class CubeLook:
    """A look given by hand; None and empty attributes are not set."""

    colour: Colour | None = None  # sRGB, 0 to 1
    size: float | None = None  # side, as a share of the largest cube's
    visible: bool = True
    label: str = ""

    @property
    def share(self) -> float | None:
        """The side of its cube, 0 for a hidden one; None: as all others."""
        return self.size if self.visible else 0.0


PLAIN = CubeLook()


class CubeLooks:
    """All looks given in this process; `version` counts changes."""

    def __init__(self) -> None:
        self.version = 0
        self._looks = WeakKeyDictionary[Block, dict[int, CubeLook]]()  # a look is dropped with its block
        self._lock = threading.Lock()

    def look(self, block: Block, index: int) -> CubeLook:
        """Return the look of one number of a block."""
        return self._looks.get(block, {}).get(index, PLAIN)

    def change(self, block: Block, index: int, **new: object) -> None:
        """Change colour, size, label or visibility."""
        look = replace(self.look(block, index), **new)  # type: ignore[arg-type]
        with self._lock:
            own = self._looks.setdefault(block, {})
            own[index] = look
            if look == PLAIN:
                del own[index]
            self.version += 1

    def looks_of(self, source: Source) -> dict[int, CubeLook]:
        """Return the looks of the weights of a source, by flat index."""
        with self._lock:
            given = [(block, k, look) for block, own in self._looks.items() for k, look in own.items()]
        found = {source.place_of(block.store, block.start + k): look for block, k, look in given}
        return {place: look for place, look in found.items() if place is not None}


LOOKS = CubeLooks()
"""The looks of this process: a weight looks the same in every window, picture and film."""


class Cube:
    """The look of one weight's cube, in every window, picture and film from now on.

    Made by :func:`cube`. Set an attribute to None (a label to ``""``) to return to the usual look.
    """

    __slots__ = ("weight",)
    weight: Weight

    def __init__(self, weight: Weight) -> None:
        object.__setattr__(self, "weight", weight)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in ("colour", "size", "visible", "label"):
            raise UnknownAttributeError(f"cube: got {shown(name)}; allowed: colour, size, visible and label")
        object.__setattr__(self, name, value)

    @property
    def _look(self) -> CubeLook:
        return LOOKS.look(self.weight._block, self.weight._index)

    def _change(self, **new: object) -> None:
        LOOKS.change(self.weight._block, self.weight._index, **new)

    @property
    def colour(self) -> Colour | None:
        """Colour as sRGB in 0..1; set it as ``"#rrggbb"`` or three numbers. None: the colour of the number."""
        return self._look.colour

    @colour.setter
    def colour(self, given: Any) -> None:
        self._change(colour=None if given is None else _colour(given))

    @property
    def size(self) -> float | None:
        """Side as a share of the largest cube's, above 0 and up to 1; can be set. None: as all others."""
        return self._look.size

    @size.setter
    def size(self, given: Any) -> None:
        self._change(size=None if given is None else _size(given))

    @property
    def visible(self) -> bool:
        """True if the cube is drawn and found under the pointer; can be set."""
        return self._look.visible

    @visible.setter
    def visible(self, given: Any) -> None:
        self._change(visible=bool(flag(given, "cube: visible")))

    @property
    def label(self) -> str:
        """The text beside the cube, up to 60 characters; can be set. Empty: none."""
        return self._look.label

    @label.setter
    def label(self, given: Any) -> None:
        words = "" if given is None else text(given, "cube: the label")
        if len(words) > LONGEST or not (words.isprintable()):
            raise InputError(f"cube: got the label {shown(words)}; allowed: one line of up to {LONGEST} characters")
        self._change(label=words)

    def reset(self) -> None:
        """Return to the usual look."""
        self._change(colour=None, size=None, visible=True, label="")

    def __repr__(self) -> str:
        look = self._look
        parts = (f"{name}={getattr(look, name)!r}" for name in ("colour", "size", "visible", "label")
                 if getattr(look, name) != getattr(PLAIN, name))  # fmt: skip
        return f"cube({', '.join([self.weight.name or 'a weight', *parts])})"


def cube(weight: Weight) -> Cube:
    """Return a handle for the cube of a weight: ``cube(net[0].weight[1][2]).colour = "#ff8800"``.

    Parameters
    ----------
    weight : Weight
        Of a network, of a run, or alone. Its look stays with it when a Run takes it over.

    Raises
    ------
    TypeMismatchError
        Anything else.
    """
    given: Any = weight
    if not isinstance(given, Weight):
        hint = "; pick one weight of the Parameter, such as p[0][1]" if hasattr(given, "weight") else ""
        raise TypeMismatchError(f"cube: got {type(given).__name__}; allowed: a Weight, like net[0].weight[1][2]{hint}")
    return Cube(weight)


def _colour(given: Any) -> Colour:
    allowed = f'cube: got the colour {shown(given)}; allowed: "#rrggbb", or three numbers from 0 to 1'
    if isinstance(given, str):
        if not re.fullmatch(r"#[0-9a-fA-F]{6}", given):
            raise InputError(allowed)
        r, g, b = (int(given[k : k + 2], 16) / 255 for k in (1, 3, 5))
        return r, g, b
    try:
        numbers = [float(part) for part in given]
    except (TypeError, ValueError, OverflowError):
        raise TypeMismatchError(allowed) from None
    if len(numbers) != 3 or not all(0.0 <= part <= 1.0 for part in numbers):
        raise InputError(allowed)
    return numbers[0], numbers[1], numbers[2]


def _size(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | np.integer | np.floating):
        raise TypeMismatchError(f"cube: got the size {shown(given)}; allowed: a number above 0 and up to 1")
    if not 0.0 < given <= 1.0:
        raise InputError(f"cube: got the size {shown(given)}; allowed: above 0 and up to 1 (visible = False hides it)")
    return float(given)
