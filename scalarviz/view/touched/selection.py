"""`Selection`: which weights are selected, as spans of the flat arrays, and what they are called together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.edits.weights import Spans


@dataclass(frozen=True, slots=True)
class Selection:
    """Weights that are selected: one, or several.

    Attributes
    ----------
    main : int
        Flat index of the weight that was touched last; it is selected.
    spans : tuple of (int, int)
        First and count of each run of neighbours, in order, with gaps between them.
    words : str
        ``"row 2 of 0.weight"``, ``"3 weights"``.
    kind : str
        Which part of the outline they are (``"row"``); empty: they were picked one by one.
    """

    main: int
    spans: Spans
    words: str
    kind: str = ""

    @property
    def count(self) -> int:
        """How many weights."""
        return sum(count for _, count in self.spans)

    @property
    def single(self) -> bool:
        """Whether it is one weight."""
        return self.count == 1

    def __contains__(self, index: int) -> bool:
        return any(start <= index < start + count for start, count in self.spans)

    def of(self, flat: NDArray[Any]) -> NDArray[Any]:
        """The selected numbers of a flat array, in order (a copy)."""
        return np.concatenate([flat[start : start + count] for start, count in self.spans])

    def mask(self, first: int, size: int) -> NDArray[np.bool_]:
        """Which of the `size` weights from `first` on are selected."""
        found = np.zeros(size, bool)
        for start, count in self.spans:
            low, high = max(start - first, 0), min(start + count - first, size)
            if low < high:
                found[low:high] = True
        return found

    def toggled(self, index: int) -> Selection | None:
        """With one weight more, or without it; None where nothing is left."""
        picked = [(start, count) for start, count in self.spans if not start <= index < start + count]
        if index in self:
            start, count = next(span for span in self.spans if span[0] <= index < span[0] + span[1])
            picked += [(start, index - start), (index + 1, start + count - index - 1)]
        else:
            picked.append((index, 1))
        spans = joined([span for span in picked if span[1]])
        if not spans:
            return None
        count = sum(span[1] for span in spans)
        main = index if index not in self else self.main
        if main == index and index in self:  # what was touched last is gone
            main = spans[0][0]
        return Selection(main, spans, f"{count:,} weights")


def joined(spans: list[tuple[int, int]]) -> Spans:
    """Spans in order, neighbours as one; none may lie over another."""
    found: list[tuple[int, int]] = []
    for start, count in sorted(spans):
        if found and sum(found[-1]) == start:
            found[-1] = (found[-1][0], found[-1][1] + count)
        else:
            found.append((start, count))
    return tuple(found)
