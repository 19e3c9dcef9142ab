"""`Result`: what one run of a sweep came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
State = Literal["done", "diverged", "failed"]
STATES: tuple[State, ...] = ("done", "diverged", "failed")
MOST_POINTS = 200
"""Points of a curve."""
SHOWN_POINTS = 10
"""Points that a printed result tells."""
NO_CURVE: NDArray[np.float64] = np.zeros((0, 2))
Label = int | float | str | bool | None
"""What is told of an option's value: a number, a word, whether it is on."""


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One run of a sweep, as it ended.

    Attributes
    ----------
    number : int
        Of the run in its sweep, from 0: all options of the first seed, then all of the second one ...
    options : dict of str to int, float, str, bool or None
        Its values of those that are swept; what is no number is told as the text that was given.
    seed : int
    state : {"done", "diverged", "failed"}
        A diverged one has steps, a curve and weights up to there; a failed one nothing but its `error`.
    steps : int
        That were done.
    loss : float
        Of all samples, at the weights at the end; NaN where there is none.
    metrics : dict of str to float
        What the scene reports of itself.
    reached : bool or None
        Whether it learnt what its scene's story says; None where that says nothing of it.
    curve : ndarray, shape (K, 2)
        Steps and losses: all of up to 200 steps, else the means of 200 equal stretches, each with its last step. A loss
        that sums over its batch is told as if the batch were all samples, as `loss` is.
    weights : dict of str to ndarray
        At the end; read from a file where they are asked for (:meth:`Results.weights`).
    keyframes : dict of int to dict of str to ndarray
        Weights after some of the steps, where these were asked for; read from a file likewise.
    seconds : float
        That the run took, building and looking at it included.
    optimizer : dict of str to ndarray
        Its optimiser's state at the end, by ``"<state>.<tensor>"``; read from a file likewise.
    rule : str
        How it trained, as a file of weights says it, where the state alone does not: what is needed to train on.
    processor : str
        What computed: engine and type of processor. Equal ones give equal bits.
    tries : int
        How many times it was begun: more than 1 where a process died.
    error : str
        Why it diverged or failed, one line; else empty.
    """

    number: int
    options: dict[str, Label]
    seed: int
    state: State
    steps: int = 0
    loss: float = float("nan")
    metrics: dict[str, float] = field(default_factory=dict)
    reached: bool | None = None
    curve: NDArray[np.float64] = field(default_factory=lambda: NO_CURVE)
    weights: Arrays = field(default_factory=dict)
    keyframes: Mapping[int, Arrays] = field(default_factory=dict)
    seconds: float = 0.0
    processor: str = ""
    tries: int = 1
    error: str = ""
    optimizer: Arrays = field(default_factory=dict)
    rule: str = ""

    def __repr__(self) -> str:
        """All that is known of the run; of its curve the last points, of arrays their names and shapes."""
        said = []
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "curve":
                points = ", ".join(f"{step:g}: {loss:.4g}" for step, loss in value[-SHOWN_POINTS:])
                value = f"<{len(value)} points, the last: {points}>" if len(value) else None
            elif one.name in ("weights", "optimizer"):
                value = f"<{', '.join(f'{name} {array.shape}' for name, array in value.items())}>" if value else None
            elif one.name == "keyframes":
                value = f"<weights after steps {', '.join(map(str, value))}>" if value else None
            elif one.name == "rule":
                continue
            else:
                value = repr(value)
            if value is not None:
                said.append(f"{one.name}={value}")
        return f"Result({', '.join(said)})"


def thinned(step: NDArray[np.int64], loss: NDArray[np.float64]) -> NDArray[np.float64]:
    """A curve (K, 2) of at most `MOST_POINTS` points out of all losses (N,) and their steps (N,).

    Of more, each point is the mean of a stretch at the stretch's last step: single samples' losses jump.
    """
    count = len(step)
    if count <= MOST_POINTS:
        return np.column_stack([step, loss]).astype(np.float64)
    bounds = np.linspace(0, count, MOST_POINTS + 1).round().astype(np.int64)
    with np.errstate(invalid="ignore", over="ignore"):  # of a diverged run
        means = np.add.reduceat(loss, bounds[:-1]) / np.diff(bounds)
    return np.column_stack([step[bounds[1:] - 1], means]).astype(np.float64)
