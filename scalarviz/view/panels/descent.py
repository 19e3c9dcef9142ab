"""What the loss over one weight or two is made of: where the weights are and were, and the loss at other places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ...run.source import Source
from ..draw.text import rate_text, short

Floats = NDArray[np.float64]
Span = tuple[float, float]
INNER = 0.92
"""Of the half of a span, beyond which it grows."""
_DOUBLINGS = 120
_LAST_DIGITS = 64
"""Of so many machine epsilons is the difference of two losses, or a move, that says nothing of uphill and downhill."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where some weights are, and what the step did that was done last.

    Attributes
    ----------
    here : ndarray, shape (n,)
    before : ndarray or None
        Where they were before that step; None where that is not known, or they were changed by hand since.
    gradient : ndarray or None
        There; None where none was computed.
    lr : float
        Of that step.
    fineness : float
        Of the numbers that the network computes with: the machine epsilon of their dtype.
    """

    here: Floats
    before: Floats | None = None
    gradient: Floats | None = None
    lr: float = float("nan")
    fineness: float = float(np.finfo(np.float64).eps)


def place_of(frame: Frame, weights: Sequence[int]) -> Place:
    """The place of the weights at the flat numbers `weights`, of a frame between steps."""
    own = np.array(weights)
    here = np.asarray(frame.values[own], np.float64)
    if frame.edited or frame.step == 0 or not frame.computed[own].all():
        return Place(here)
    update, gradient = (np.asarray(flat[own], np.float64) for flat in (frame.update, frame.gradient))
    with np.errstate(invalid="ignore"):  # of a weight that is lost nothing is known of before either
        before = here - update
    return Place(here, before, gradient, frame.lr, float(np.finfo(frame.values.dtype).eps))


def grown(span: Span, places: ArrayLike) -> Span:
    """`span` doubled about its middle until all finite places are well inside."""
    middle, half = (span[0] + span[1]) / 2, (span[1] - span[0]) / 2
    found = np.asarray(places, np.float64).ravel()
    found = found[np.isfinite(found)]
    far = float(np.abs(found - middle).max(initial=0.0)) / INNER
    times = 0 if far <= half else min(int(np.ceil(np.log2(far / half))), _DOUBLINGS)
    return middle - half * 2.0**times, middle + half * 2.0**times


class Losses:
    """The loss at other values of some weights, kept until the others, the samples or the places change."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._found: Floats = np.zeros(0)

    def at(
        self, source: Source, values: NDArray[np.floating], weights: Sequence[int], places: Floats, data: Data
    ) -> Floats:
        """The losses at places (N, n) of the weights, shape (N,); infinite where they are beyond the dtype."""
        others = np.array(values)
        others[list(weights)] = 0
        key = (others.tobytes(), places.tobytes(), *(part.tobytes() for part in data))
        if key != self._key:
            self._key, self._found = key, losses(source, values, weights, places, data)
        return self._found


Data = tuple[NDArray[np.floating], NDArray[np.floating]]


At = Callable[[Floats], Floats]
"""The loss at places (N, n), shape (N,)."""


def losses(source: Source, values: NDArray[np.floating], weights: Sequence[int], places: Floats, data: Data) -> Floats:
    """The same, always worked out."""
    changed, found = np.array(values), np.empty(len(places))
    for number, place in enumerate(places):
        changed[list(weights)] = place
        found[number] = source.evaluate(*data, changed)
    return found


def steepness(losses_at: At, place: Place) -> tuple[float, float, float]:
    """Loss before the step, loss after it, and the rate from which on it would have been higher after it (or NaN).

    The loss along the step is taken as a parabola through its two ends and its middle, which for a squared error of
    sums it is.
    """
    assert place.before is not None
    start, half, end = losses_at(np.array([place.before, (place.before + place.here) / 2, place.here])).tolist()
    slope, bend = -3 * start + 4 * half - end, 2 * start - 4 * half + 2 * end
    with np.errstate(all="ignore"):
        limit = float(place.lr * np.divide(-slope, bend)) if bend > 0 and slope < 0 else float("nan")
    return float(start), float(end), limit


def verdict(place: Place, names: Sequence[str], told: tuple[float, float, float]) -> tuple[str, str, bool]:
    """Two lines on the step that was done, and whether it went wrong."""
    assert place.before is not None
    assert place.gradient is not None
    start, end, limit = told
    step = place.here - place.before
    if not np.isfinite([start, end]).all():
        return "the loss is beyond all numbers", "R begins again; try a smaller rate", True
    if len(names) == 1:
        slope, moved = short(float(place.gradient[0]), signed=True), short(float(step[0]), signed=True)
        asked = -place.lr * place.gradient[0]
        plain = bool(np.isclose(asked, step[0], rtol=1e-2, atol=1e-12))
        first = f"\N{MINUS SIGN}{rate_text(place.lr)} × slope {slope} = {moved}" if plain else f"moved by {moved}"
    else:
        moves = ", ".join(f"{name} {short(float(by), signed=True)}" for name, by in zip(names, step, strict=True))
        first = f"moved by {moves}"
    if _is_lost_in_the_last_digits(place, step, start, end):
        return first, "too small a move to change the loss" if step.any() else "it stays where it is", False
    if end > start:
        since = f", as from lr {rate_text(float(f'{limit:.2g}'))} on" if np.isfinite(limit) else ""
        return first, f"too far: it ends higher{since}", True
    if np.isfinite(limit) and place.lr > limit / 2 * 1.001:
        return first, "downhill, past the lowest point", False
    return first, "downhill", False


def _is_lost_in_the_last_digits(place: Place, step: Floats, start: float, end: float) -> bool:
    """Whether what the loss did in a step is no more than what rounding does to it."""
    few = _LAST_DIGITS * place.fineness
    return bool(abs(end - start) <= few * max(abs(start), abs(end)) or (abs(step) <= few * abs(place.here)).all())
