"""How often the scene `texture` has been through its picture, and for how many steps ``--epochs`` asks.

An epoch is the pixels of the picture once: as many whole batches as they fill, the rest sits out. Places at random are
counted likewise, as many of them as there are pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from scalarviz.errors import InputError
from scalarviz.run import Frame, Moment
from scalarviz.run.edits import Edit, Several

from ._texture_live import Replaced, Studio

MOST_STEPS = 10**12


def steps_of(pixels: int, batch: int) -> int:
    """Steps of an epoch."""
    return max(1, pixels // batch)


def steps_in(epochs: float, pixels: int, batch: int) -> int:
    """Steps that so many epochs take, at least one.

    Raises
    ------
    InputError
        More than `MOST_STEPS`.
    """
    steps = max(1, round(epochs * steps_of(pixels, batch)))
    if steps > MOST_STEPS:
        raise InputError(f"--epochs {epochs:g} are {steps:,} steps; allowed: at most {MOST_STEPS:,}")
    return steps


def counting(studio: Studio, batch: int) -> Callable[[Moment], float]:
    """What says how many epochs of its picture are behind a moment, of a run that began with such a batch."""
    return partial(_epochs, studio, batch)


def _epochs(studio: Studio, batch: int, moment: Moment) -> float:
    frame, seen, since = moment.frame, 0.0, 0
    pixels = studio.pixels
    for step, edit in _done(frame):
        seen += (step - since) / steps_of(pixels, batch)
        since = step
        if isinstance(edit, Replaced) and not edit.transform:  # another picture: nobody has seen anything of it
            there, pixels, seen = pixels, len(edit.targets) if not studio.random else edit.targets.motif.pixels, 0.0
            batch = pixels if not studio.random and (batch == there or batch > pixels) else batch
        batch = getattr(edit, "batch_size", None) or batch
    return seen + (frame.step - since) / steps_of(pixels, batch)


def _done(frame: Frame) -> Iterator[tuple[int, Edit]]:
    """Every single edit before a frame, after its step."""
    for done in () if frame.past is None else frame.past.edits:
        if done.step < frame.step:
            edits = done.edit.edits if isinstance(done.edit, Several) else (done.edit,)
            yield from ((done.step, edit) for edit in edits)
