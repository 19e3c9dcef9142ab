"""What the scene `rgb` says of its task: a sentence before the first step, one that is measured after the last."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.data import hex_colour
from scalarviz.run import Moment, Story

from ._rgb_task import Task

if TYPE_CHECKING:
    from .rgb import Options

MEASURED = 4096  # samples, evenly spread, at which the error is measured at the end
SHORT = 24  # characters of a file's name that a sentence can take
AIMS = {
    "invert": "turn every colour into its opposite",
    "rotate": "pass red, green and blue on in a circle",
    "gray": "take the colour out of every colour",
    "sepia": "make every colour as brown as an old photo",
    "warm": "make every colour warmer",
}


def story_of(options: Options, task: Task) -> Story:
    """The story of a task and a network."""
    layers = len(options.hidden) + 1
    weights = _count((3, *options.hidden, 3))
    headline = f"{weights:,} weights in {layers} layers." if layers > 1 else ""
    single = not (options.pair or options.source or options.hidden)
    claim = _CLAIMS.get(options.target, _error) if single else _error
    return Story(f"They should {_aim(options, task)}.", headline, claim)


def _count(sizes: tuple[int, ...]) -> int:
    return sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))


def _aim(options: Options, task: Task) -> str:
    if options.pair:
        if len(task.inputs) > 1:
            return f"learn {len(task.inputs):,} pairs of colours"
        return f"turn {hex_colour(task.inputs[0])} into {hex_colour(task.targets[0])}"
    if options.source and options.graded:
        names = options.source.name, options.graded.name
        if all(len(name) <= SHORT for name in names):
            return f"turn {names[0]} into {names[1]}"
        return "turn the first picture into the second"
    return AIMS[options.target]


def _inverts(moment: Moment) -> str:
    """Of a single layer: on the diagonal stands the most negative weight of each row."""
    rows = moment.tensor("0.weight")
    falls = np.array_equal(rows.argmin(axis=1), np.arange(3)) and bool((np.diag(rows) < 0).all())
    return "Each output now falls when its own colour rises." if falls else _error(moment)


def _rotates(moment: Moment) -> str:
    """Of a single layer: each row's largest weight is that of the colour after its own."""
    rows = moment.tensor("0.weight")
    largest = rows.argmax(axis=1)
    rises = np.array_equal(largest, [1, 2, 0]) and bool((rows[np.arange(3), largest] > 0).all())
    return "Each output now rises with the next colour." if rises else _error(moment)


def _error(moment: Moment) -> str:
    """How far what is learnt from is from what it should be."""
    inputs, targets = moment.source.samples()
    some = slice(None, None, max(1, len(inputs) // MEASURED))
    away = float(np.abs(moment.predict(inputs[some]) - targets[some]).mean())
    if not np.isfinite(away):
        return ""
    one, mean = ("The", "") if len(inputs) == 1 else ("A", ", on average")
    return f"{one} colour is now {100 * away:.1f} % off{mean}."


_CLAIMS = {"invert": _inverts, "rotate": _rotates}
"""What can be read off the weights of a single layer."""
