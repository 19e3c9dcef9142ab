"""`Rate`: how often something happens, measured: frames a second, steps a second."""

from __future__ import annotations

import time


class Rate:
    """Events a second, or a counter's increase, over the last half second."""

    def __init__(self) -> None:
        self._marks: list[tuple[float, float]] = []
        self._count = 0.0

    def mark(self, value: float | None = None) -> None:
        """One more event, or the counter stands at `value`."""
        self._count = self._count + 1 if value is None else value
        now = time.perf_counter()
        self._marks.append((now, self._count))
        while len(self._marks) > 2 and now - self._marks[0][0] > 0.5:
            self._marks.pop(0)

    @property
    def value(self) -> float:
        """The rate, 0 before the second event."""
        if len(self._marks) < 2:
            return 0.0
        (start, first), (end, last) = self._marks[0], self._marks[-1]
        return max(0.0, (last - first) / max(end - start, 1e-9))
