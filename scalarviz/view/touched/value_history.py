"""`ValueHistory`: how one weight moved since it was selected."""

from __future__ import annotations

POINTS = 400
"""Values that are kept at most."""


class ValueHistory:
    """Values of one weight since it was selected, thinned so that any length fits."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.values: list[float] = []
        self._every = 1

    def add(self, step: int, value: float) -> None:
        """The value after `step`; an edit at the same step replaces, a step back cuts."""
        while self.steps and self.steps[-1] > step:
            self.steps.pop()
            self.values.pop()
        if len(self.steps) > 1 and self.steps[-1] == step:
            self.values[-1] = value
        elif len(self.steps) > 1 and step - self.steps[-2] < self._every:
            self.steps[-1], self.values[-1] = step, value  # the end always stands at the present step
        elif not self.steps or self.steps[-1] != step or self.values[-1] != value:
            self.steps.append(step)
            self.values.append(value)
        if len(self.steps) > POINTS:
            self.steps, self.values = self.steps[:-1:2] + self.steps[-1:], self.values[:-1:2] + self.values[-1:]
            self._every = max(self._every * 2, (self.steps[-1] - self.steps[0]) // POINTS)
