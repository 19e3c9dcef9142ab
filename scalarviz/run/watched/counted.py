"""`Counted`: the steps of a loop that somebody else wrote, as it tells them: numbers, losses, learning rates."""

from __future__ import annotations

import numpy as np

from ..frame import Curve
from ..history import History
from .told_number import told_number, told_step

ROOM = 1024
"""Losses that wait to be put into the curve, at most."""


class Counted:
    """What is known of the steps so far.

    Attributes
    ----------
    step : int
        That were done.
    loss, lr : float
        As they were last told; NaN before.
    calls : int
        How often somebody said that a step may be done.
    rounds : int
        How often the loop began again from an earlier step.
    ahead : bool
        Whether the last step was seen before anybody told of it.
    """

    def __init__(self) -> None:
        self.step = self.calls = self.rounds = 0
        self.loss = self.lr = float("nan")
        self.ahead = False
        self._silent = 0  # calls that said nothing, since the numbers were looked at
        self._history, self._written = History(), 0  # the last step of which a loss is known
        self._new: list[tuple[int, float, float]] = []  # not in it yet: a list takes a tenth of the time

    @property
    def any(self) -> bool:
        """Whether there was a step."""
        return self.step > 0

    @property
    def reached(self) -> int:
        """The step that was done last, if each call that said nothing turns out to have been one."""
        return self.step + self._silent

    def curve(self, step: int | None = None, first: int | None = None) -> Curve:
        """Steps of which a loss was told: all, up to `step`, or those after `first`."""
        self._take_in()
        return self._history.curve(step=step, first=first)

    def tell(
        self, *, said: bool, step: object = None, loss: object = None, lr: object = None, seen: bool = False
    ) -> None:  # fmt: skip
        """A step was done; where nothing is `said` of it, it is one if the numbers turn out to be others.

        `seen`: it is the step that was counted when it was looked at, `ahead` of this call.

        Raises
        ------
        InputError, TypeMismatchError
            No numbers; nothing is taken over then.
        """
        at = None if step is None else told_step(step)
        new_loss, new_lr = told_number("loss", loss), told_number("lr", lr)
        self.calls += 1
        self.ahead = False
        if not (said or any(one is not None for one in (at, new_loss, new_lr))):
            self._silent += 1
            return
        if at is not None and at < self.step:
            self.rounds += 1
            self._cut(max(at - 1, 0))
        self.step = self.step + self._silent + (not seen) if at is None else at
        self._silent = 0
        self.loss = self.loss if new_loss is None else new_loss
        self.lr = self.lr if new_lr is None else new_lr
        if new_loss is not None and self.step:
            self._write()

    def _write(self) -> None:
        """The loss of the step, into the curve; the last word on a step holds."""
        if self._written >= self.step:
            self._cut(self.step - 1)
        self._new.append((self.step, self.loss, self.lr))
        self._written = self.step
        if len(self._new) >= ROOM:
            self._take_in()

    def _take_in(self) -> None:
        """Put what is new into the history, steps that follow each other at once."""
        if self._new:
            step, loss, lr = np.array(self._new).T
            for run in np.split(np.arange(len(step)), np.flatnonzero(np.diff(step) != 1) + 1):
                self._history.extend(int(step[run[0]]) - 1, loss[run], lr[run])
            self._new.clear()

    def _cut(self, step: int) -> None:
        """Forget what comes after a step."""
        self._take_in()
        self._history.cut(step)
        self._written = min(self._written, step)

    def looked(self, *, changed: bool, told: bool) -> None:
        """The numbers were looked at: calls that said nothing were steps if they have `changed`.

        `told` says that steps were told since the look before; else the change itself is one.
        """
        if changed:
            self.ahead = not (self._silent or told)
            self.step += self._silent or (0 if told else 1)
        self._silent = 0
