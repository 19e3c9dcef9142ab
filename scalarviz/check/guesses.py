"""Find the mistake that gives the same numbers as a pupil's function, by making mistakes and comparing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from .points import Floats, near

LEAST = 5
"""The fewest points on either side of 0 that make a region."""


@dataclass(frozen=True, slots=True)
class Guess:
    """The numbers (points,) of one mistake; `details` fill in its words."""

    cause: str
    numbers: Floats
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Given and expected numbers: arrays of shape (points, inputs), or (points,) for `values` and `upstream`.

    `got` are the results of the pupil's function. `upstream` is the upstream gradient of a rule, `above` the pupil's
    name for it.
    """

    names: tuple[str, ...]
    numbers: Floats
    slopes: Floats
    values: Floats
    got: Floats
    upstream: Floats | None = None
    tolerance: float = 1e-5
    above: str = "upstream"

    @property
    def expected(self) -> Floats:
        """The right numbers."""
        return self.slopes if self.upstream is None else self.slopes * self.upstream[:, None]

    def same(self, a: Floats, b: Floats) -> Any:
        """Return where two arrays agree within the tolerance."""
        return near(a, b, self.tolerance)

    def first_wrong(self) -> tuple[int, int] | None:
        """Return the first input that differs, and the first point where it does."""
        wrong = ~self.same(self.got, self.expected)
        columns = np.flatnonzero(wrong.any(axis=0))
        return None if not len(columns) else (int(columns[0]), int(np.argmax(wrong[:, columns[0]])))

    def agreeing(self) -> int:
        """Return the number of points at which all is right."""
        return int(self.same(self.got, self.expected).all(axis=1).sum())


def find_cause(tried: Attempt, k: int, more: Sequence[Guess] = ()) -> tuple[str, dict[str, Any]]:
    """Return the cause that explains input `k`, with its details; ("", {}) if none does."""
    got = tried.got[:, k]
    if np.isnan(got).any():
        return "nan", {}
    if _swapped(tried):
        return "swapped", {}
    simple = [*_simple(tried, k), *more]
    for guess in simple:
        if tried.same(got, guess.numbers).all():
            return guess.cause, guess.details
    factor = _ratio(got, tried.expected[:, k])
    if factor is not None:
        return "factor", {"factor": f"{factor:.4g}"}
    for guess in _with_inputs(tried, k):
        if tried.same(got, guess.numbers).all():
            return guess.cause, guess.details
    region = _region(tried, k)
    if region[0]:
        return region
    for guess in [*_with_inputs(tried, k), *simple]:  # two at once, one of them a factor or the sign
        if guess.cause not in ("zero", "one") and _ratio(got, guess.numbers) is not None:
            return guess.cause, guess.details
    return "", {}


def _swapped(tried: Attempt) -> bool:
    inputs = tried.got.shape[1]
    if not 1 < inputs <= 4:
        return False
    orders = [list(order) for order in permutations(range(inputs)) if order != tuple(range(inputs))]
    return any(bool(tried.same(tried.got, tried.expected[:, order]).all()) for order in orders)


def _simple(tried: Attempt, k: int) -> Iterator[Guess]:
    slope, expected = tried.slopes[:, k], tried.expected[:, k]
    yield Guess("zero", np.zeros_like(slope))
    yield Guess("sign", -expected)
    up = tried.upstream
    if up is not None:
        yield Guess("upstream", slope)
        yield Guess("local", up)
        yield Guess("twice", expected * up)
        yield Guess("added", slope + up)
        yield Guess("value", tried.values * up)
    for j, name in enumerate(tried.names):
        if j != k:
            yield Guess("other", tried.expected[:, j], {"name": name})
    yield Guess("value", tried.values)
    yield Guess("one", np.ones_like(slope))


def _with_inputs(tried: Attempt, k: int) -> Iterator[Guess]:
    """Yield one factor too many, or one missing: an input, or the result."""
    expected = tried.expected[:, k]
    factors = [*zip(tried.names, tried.numbers.T, strict=True), ("the result", tried.values)]
    with np.errstate(all="ignore"):
        for name, factor in factors:
            yield Guess("input", expected * factor, {"name": name})
            yield Guess("missing", expected / factor, {"name": name})


def _ratio(got: Floats, of: Floats) -> float | None:
    """Return the ratio of `got` to `of`, if it is the same everywhere and neither 0 nor 1."""
    large = np.abs(of) > 1e-6
    if not large.any() or not np.allclose(got[~large], 0, atol=1e-5):
        return None
    ratios = got[large] / of[large]
    middle = float(np.median(ratios))
    if not np.isfinite(middle) or abs(middle) < 1e-6 or not np.allclose(ratios, middle, rtol=1e-4, atol=0):
        return None
    return middle


def _region(tried: Attempt, k: int) -> tuple[str, dict[str, Any]]:
    """Find an input or result whose sign separates right from wrong points."""
    right = tried.same(tried.got[:, k], tried.expected[:, k])
    for name, numbers in [*zip(tried.names, tried.numbers.T, strict=True), ("the result", tried.values)]:
        for side, there in (("positive", numbers > 0), ("negative", numbers < 0)):
            if there.sum() >= LEAST and (~there).sum() >= LEAST and right[there].all() and not right[~there].any():
                return "region", {"name": name, "side": side}
    return "", {}
