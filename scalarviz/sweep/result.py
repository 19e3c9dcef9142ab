"""`Result`: the outcome of one run of a sweep."""

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
"""Most points of a curve."""
SHOWN_POINTS = 10
"""Points of a curve in a printed result."""
NO_CURVE: NDArray[np.float64] = np.zeros((0, 2))
Label = int | float | str | bool | None
"""The label of an option's value: a number, a word, or whether it is on."""


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One run of a sweep, as it ended.

    Attributes
    ----------
    number : int
        Number of the run in its sweep, from 0: all options of the first seed, then all of the second, ...
    options : dict of str to int, float, str, bool or None
        Its values of the swept options; values that are not numbers are the text that was given.
    seed : int
    state : {"done", "diverged", "failed"}
        A diverged run has steps, a curve and weights up to its last good step; a failed run has only its `error`.
    steps : int
        Number of steps done.
    loss : float
        Loss of all samples at the final weights; NaN without one.
    metrics : dict of str to float
        The numbers that the scene reports.
    reached : bool or None
        Whether the run reached the goal of its scene's story; None without a goal.
    curve : ndarray, shape (K, 2)
        Steps and losses: all of them up to 200 steps; otherwise the means of 200 equal stretches, each with its last
        step. A loss that sums over its batch is scaled to all samples, as `loss` is.
    weights : dict of str to ndarray
        Final weights. From a file, read them with :meth:`Results.weights`.
    keyframes : dict of int to dict of str to ndarray
        Weights after some of the steps, if asked for. From a file, read them with :meth:`Results.keyframes`.
    seconds : float
        Duration of the run, including building and evaluating it.
    optimizer : dict of str to ndarray
        The optimiser's final state, by ``"<state>.<tensor>"``. From a file, read it with :meth:`Results.rule`.
    rule : str
        Other settings that training on needs, as a file of weights stores them.
    processor : str
        Engine and type of processor. Equal ones give equal bits.
    tries : int
        How many times the run was begun: more than 1 if a process died.
    error : str
        Why it diverged or failed, in one line; empty otherwise.
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
        """Return all that is known of the run: the last points of its curve, names and shapes of its arrays."""
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
    """Return a curve (K, 2) of at most `MOST_POINTS` points from all losses (N,) and their steps (N,).

    With more steps, each point is the mean of a stretch at its last step, because losses of single samples jump.
    """
    count = len(step)
    if count <= MOST_POINTS:
        return np.column_stack([step, loss]).astype(np.float64)
    bounds = np.linspace(0, count, MOST_POINTS + 1).round().astype(np.int64)
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
        means = np.add.reduceat(loss, bounds[:-1]) / np.diff(bounds)
    return np.column_stack([step[bounds[1:] - 1], means]).astype(np.float64)
