"""Looks that cubes were given by hand: colour, size, whether they are seen, a label. Kept beside the weights.

A look belongs to one number of a block; where that number lies, in which store and at which index, is asked at every
picture: a Run that takes the weight over moves it. The weights themselves know nothing of it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...run.source import Source
from ...scalar import Block

Colour = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class OwnLook:
    """What was asked for; None and empty where nothing was.

    Attributes
    ----------
    colour : (float, float, float) or None
        sRGB, 0 to 1.
    size : float or None
        Side, as a share of the largest cube's.
    visible : bool
    label : str
    """

    colour: Colour | None = None
    size: float | None = None
    visible: bool = True
    label: str = ""

    @property
    def share(self) -> float | None:
        """The side that its cube has, 0 for one that is not seen; None: as all others."""
        return self.size if self.visible else 0.0


PLAIN = OwnLook()


class OwnLooks:
    """All looks that were given in this process.

    Attributes
    ----------
    version : int
        Counts changes.
    """

    def __init__(self) -> None:
        self.version = 0
        self._looks: dict[int, tuple[weakref.ref[Block], dict[int, OwnLook]]] = {}
        self._lock = threading.Lock()

    def look(self, block: Block, index: int) -> OwnLook:
        """That of one number of a block."""
        found = self._looks.get(id(block))
        return PLAIN if found is None else found[1].get(index, PLAIN)

    def change(self, block: Block, index: int, **new: object) -> None:
        """Another colour, size, label, or whether it is seen."""
        key = id(block)
        look = replace(self.look(block, index), **new)  # type: ignore[arg-type]
        with self._lock:
            if key not in self._looks:
                self._looks[key] = weakref.ref(block, lambda _: self._forget(key)), {}
            own = self._looks[key][1]
            if look == PLAIN:
                own.pop(index, None)
            else:
                own[index] = look
            if not own:
                del self._looks[key]
            self.version += 1

    def _forget(self, key: int) -> None:
        self._looks.pop(key, None)  # its weights are gone, and so are its cubes
        self.version += 1

    def of(self, source: Source) -> dict[int, OwnLook]:
        """The looks of the weights of a source, by their place in its flat arrays."""
        return dict(self._of(source)) if self._looks else {}

    def _of(self, source: Source) -> Iterator[tuple[int, OwnLook]]:
        with self._lock:
            given = [(ref(), dict(own)) for ref, own in self._looks.values()]
        for block, own in given:
            for index, look in own.items() if block is not None else ():
                place = source.place_of(block.store, block.start + index)  # type: ignore[union-attr]
                if place is not None:
                    yield place, look


LOOKS = OwnLooks()
"""Those of this process: a weight looks the same in every window, picture and film."""
