"""`gradient`: check slopes that a pupil wrote by hand, or the backward pass of a function of Values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from ..arguments import explained
from ..errors import ScalarvizError
from ..scalar import ops
from ..scalar.functions import function
from ..scalar.gradcheck import by_backward, repeatable
from ..scalar.value import Value
from .points import COUNT, Floats, SamplePoints, bounds_of, checked_options, near, sample_points
from .pupil_code import call_pupil, check_filled, inputs_of, matching, numbers_of, registered, title_of
from .report import CAUSE_TEXTS, SECONDS, CheckEnded, Report, run_check, wrong_report
from .walks import operations, partial_sums, shares, slopes_inside

AGAIN = 5
"""Points at which a function is called twice, to check that it is deterministic."""


@explained(name="check.gradient")
def gradient(
    fn: Any,
    of: Callable[..., Any] | str | None = None,
    *,
    between: tuple[float, float] = (-2.0, 2.0),
    tolerance: float = 1e-5,
    seed: int = 0,
    hint: str = "",
    seconds: float = SECONDS,
) -> Report:
    """Check slopes that were written by hand; without `of`, the gradients of a function of Values.

    Parameters
    ----------
    fn : callable
        With `of`: takes as many numbers as `of` and returns the slope with respect to each (a tuple, or one number).
        Without: a function of Values that returns a Value, as for :func:`scalarviz.gradcheck`.
    of : callable or str, optional
        The function to differentiate: a function of Values, or the name of an operation.
    between : (float, float)
        The range of each input.
    tolerance : float
        Largest accepted error, relative to ``max(1, |expected|)``.
    seed : int
        Seed of the 50 points.
    hint : str
        The author's hint, shown from the second failing call in a row.
    seconds : float
        The most time for the pupil's code. Only a loop inside a C function, such as ``sum(count())``, is not stopped.

    Returns
    -------
    Report

    Raises
    ------
    TypeMismatchError
        `fn` or `of` is no function of Values.
    InputError
        Hardly a point in `between` has a finite value and a slope.

    Examples
    --------
    >>> report = gradient(lambda x, y: (x, y), of=lambda x, y: x * y)
    >>> bool(report), report.cause
    (False, 'swapped')
    """
    hint, width = checked_options("check.gradient", hint, tolerance, seed)
    ends = bounds_of(between, "check.gradient")
    drawn = ends, width, seed
    return run_check("gradient", title_of(fn), hint, lambda: _gradient_report(fn, of, drawn), seconds=seconds)


def _gradient_report(fn: Any, of: Any, drawn: tuple[tuple[float, float], float, int]) -> Report:
    """Return the report on either form."""
    ends, tolerance, seed = drawn
    check_filled(fn)
    own = inputs_of(fn, "check.gradient: fn")
    if of is None:
        return _backward_report(fn, own, *drawn)
    whole, theirs = differentiated(of, "check.gradient")
    names = matching(own, theirs)
    there = sample_points(whole, len(theirs), ends, seed, "check.gradient")
    got = answers(fn, there.numbers, names)
    tried = Attempt(names, there, got, None, tolerance)
    return compared(title_of(fn), tried, from_graph(whole, tried))


def differentiated(of: Any, title: str) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """Return the function to differentiate, and the names of its inputs."""
    if isinstance(of, str):
        return function(of), ops.get(of).args
    name = registered(of)
    return (of, ops.get(name).args) if name else (repeatable(of), inputs_of(of, f"{title}: of"))


def answers(fn: Callable[..., Any], rows: Floats, names: Sequence[str]) -> Floats:
    """Return a pupil's results for each row, shape (rows, names); some rows are called twice."""
    found = [_answer(fn, row, names) for row in rows.tolist()]
    for row, before in zip(rows[:AGAIN].tolist(), found, strict=False):
        if not np.array_equal(_answer(fn, row, names), before, equal_nan=True):
            raise CheckEnded("random", f"a second call returns other numbers, {_point_words(names, row)}")
    return np.array(found)


def _answer(fn: Callable[..., Any], row: Sequence[float], names: Sequence[str]) -> tuple[float, ...]:
    return numbers_of(call_pupil(fn, row, _point_words(names, row)), names)


def _point_words(names: Sequence[str], row: Sequence[float]) -> str:
    """Return words for a point: ``at x = 0.5, y = -1``."""
    return "at " + ", ".join(f"{name} = {number:.4g}" for name, number in zip(names, row, strict=False))


def compared(title: str, tried: Attempt, guesses: Sequence[Guess] = ()) -> Report:
    """Return the report on slopes; `more` are lines at its end.

    `guesses` are mistakes in the first wrong input that need the function itself.
    """
    first = tried.first_wrong()
    if first is None:
        return Report(title, "right", (f"right at all {COUNT} points.",))
    k, at = first
    cause, details = find_cause(tried, k, guesses)
    got, expected = float(tried.got[at, k]), float(tried.expected[at, k])
    place = _point_words(tried.names, tried.there.numbers[at])
    up = "" if tried.upstream is None else f", {tried.above} = {tried.upstream[at]:.4g}"
    lines = (
        f"not yet: {tried.agreeing()} of {COUNT} points agree.",
        f"{place}{up}: slope with respect to {tried.names[k]}: you returned "
        f"{_shown(got, expected)}; expected {_shown(expected, got)}.",
    )  # fmt: skip
    return replace(wrong_report(title, lines, cause, details, tried.names[k], got, expected), given=tried.got)


def _shown(number: float, other: float) -> str:
    """Return `number` with enough digits to tell it from `other`."""
    return next((a for d in (4, 6, 9) if (a := f"{number:.{d}g}") != f"{other:.{d}g}"), repr(number))


def from_graph(whole: Callable[..., Any], tried: Attempt) -> list[Guess]:
    """Return the mistakes that only the function's own graph shows: a missing link, a path not counted."""
    first = tried.first_wrong()
    if first is None:
        return []
    k, graphs = first[0], []
    for row in tried.there.numbers.tolist():
        leaves = [Value(number) for number in row]
        graphs.append((whole(*leaves), leaves))
    up = np.ones(len(graphs)) if tried.upstream is None else tried.upstream
    found = []
    names = operations(graphs[0][0])
    for op in names if len(names) > 1 or tried.upstream is None else ():
        without = [sum(shares(root, leaves, op)[k]) for root, leaves in graphs]
        valued = [sum(shares(root, leaves, valued=op)[k]) for root, leaves in graphs]
        found.append(Guess("slope", np.array(without) * up, {"op": op}))
        found.append(Guess("taken", np.array(valued) * up, {"op": op}))
    inside = [slopes_inside(root, leaves[k]) for root, leaves in graphs]
    if len({len(nodes) for nodes in inside}) == 1:
        columns = [*zip(*inside, strict=True)][::-1]  # of equal slopes the innermost: the chain ended there
        ends = [Guess("inner", np.array([s for _, s in column]) * up, {"op": column[0][0]}) for column in columns]
        found = [*ends, *found]
    parts = [shares(root, leaves)[k] for root, leaves in graphs]
    if len({len(part) for part in parts}) == 1:
        details = {"name": tried.names[k], "uses": len(parts[0])}
        sums = zip(*(partial_sums(part) for part in parts), strict=True)
        found += [Guess("path", np.array(column) * up, details) for column in sums]
    for op in names if len(names) > 1 else ():
        other = [sum(shares(root, leaves, flipped=op)[k]) for root, leaves in graphs]
        found.append(Guess("flipped", np.array(other) * up, {"op": op}))
    return found


def _backward_report(
    fn: Callable[..., Any], names: tuple[str, ...], ends: tuple[float, float], tolerance: float, seed: int
) -> Report:
    """Compare backward with finite differences, as `gradcheck` does, at many points."""
    held = repeatable(fn)
    there = _points_of_function(held, names, ends, seed)
    got = np.array([by_backward(held, row, "check.gradient") for row in there.numbers.tolist()])
    tried = Attempt(names, there, got, None, tolerance)
    report = compared(title_of(fn), tried, from_graph(held, tried))
    if report.passed:
        return report
    for op in operations(held(*map(Value, there.numbers[0]))):
        if op in ops.TABLE and not _sound(ops.get(op)):
            return replace(report, cause="operation", looks=CAUSE_TEXTS["operation"].format(op=op))
    return report


def _points_of_function(
    held: Callable[..., Any], names: tuple[str, ...], ends: tuple[float, float], seed: int
) -> SamplePoints:
    """Return the points for a pupil's own function; its errors end the check with a report."""
    draw = np.random.default_rng(seed).uniform(*ends, len(names)).tolist()
    first, second = (call_pupil(held, [Value(x) for x in draw], _point_words(names, draw)) for _ in range(2))
    if first is None:
        raise CheckEnded("none", "it returned nothing: is a `return` missing?")
    if not isinstance(first, Value):
        raise CheckEnded("kind", f"Expected a Value; you returned {type(first).__name__}. Compute with the Values.")
    if first.data != second.data and first.data == first.data:
        raise CheckEnded("random", f"a second call returns another number, {_point_words(names, draw)}")
    return sample_points(held, len(names), ends, seed, "check.gradient")


RANGES = (-2.0, 2.0), (0.1, 2.0), (-0.9, 0.9), (1.1, 3.0)
"""Ranges to try in turn for an operation about which nothing else is known."""


def pulled(name: str, row: list[float]) -> list[float]:
    """Return the slope by which a node of the operation passes its gradient to each operand."""
    leaves = [Value(number) for number in row]
    node = function(name)(*leaves)
    return [*node.local_gradients]


@cache
def _sound(entry: ops.Op) -> bool:
    """Return whether an operation's derivatives agree with finite differences; True if they cannot be compared."""
    there = points_of_operation(entry.name)
    if there is None:
        return True
    found = np.array([pulled(entry.name, row) for row in there.numbers.tolist()])
    carry = [k for k, partial in enumerate(entry.partials) if partial is not None]
    return bool(np.allclose(found[:, carry], there.slopes[:, carry], rtol=1e-5, atol=1e-5))


def points_of_operation(name: str, seed: int = 0) -> SamplePoints | None:
    """Return points where the operation is finite, from the first range that has them, or None."""
    for between in RANGES:
        try:
            return sample_points(function(name), len(ops.get(name).args), between, seed, name)
        except ScalarvizError:
            continue
    return None


# ---- mistakes that give the same numbers as a pupil's function

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
    """Given and expected numbers: arrays of shape (points, inputs), or (points,) for `upstream`.

    `there`: the points, and the right slopes there. `got` are the results of the pupil's function. `upstream` is the
    upstream gradient of a rule, `above` the pupil's name for it.
    """

    names: tuple[str, ...]
    there: SamplePoints
    got: Floats
    upstream: Floats | None = None
    tolerance: float = 1e-5
    above: str = "upstream"

    @property
    def expected(self) -> Floats:
        """The right numbers."""
        return self.there.slopes if self.upstream is None else self.there.slopes * self.upstream[:, None]

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
        ratio = None if guess.cause in ("zero", "one") else _ratio(got, guess.numbers)
        if ratio is not None:
            both = {"name": f"{guess.details['name']} times {ratio:.4g}"} if guess.cause == "input" else guess.details
            return guess.cause, both
    return "", {}


def _swapped(tried: Attempt) -> bool:
    inputs = tried.got.shape[1]
    if not 1 < inputs <= 4:
        return False
    orders = [list(order) for order in permutations(range(inputs)) if order != tuple(range(inputs))]
    return any(bool(tried.same(tried.got, tried.expected[:, order]).all()) for order in orders)


def _simple(tried: Attempt, k: int) -> Iterator[Guess]:
    slope, expected = tried.there.slopes[:, k], tried.expected[:, k]
    yield Guess("zero", np.zeros_like(slope))
    yield Guess("sign", -expected)
    up = tried.upstream
    if up is not None:
        yield Guess("upstream", slope)
        yield Guess("local", up)
        yield Guess("twice", expected * up)
        yield Guess("added", slope + up)
        yield Guess("value", tried.there.values * up)
    for j, name in enumerate(tried.names):
        if j != k:
            yield Guess("other", tried.expected[:, j], {"name": name})
    yield Guess("value", tried.there.values)
    yield Guess("one", np.ones_like(slope))


def _with_inputs(tried: Attempt, k: int) -> Iterator[Guess]:
    """Yield one factor too many, or one missing: an input, or the result."""
    expected = tried.expected[:, k]
    factors = [*zip(tried.names, tried.there.numbers.T, strict=True), ("the result", tried.there.values)]
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
    for name, numbers in [*zip(tried.names, tried.there.numbers.T, strict=True), ("the result", tried.there.values)]:
        for side, there in (("positive", numbers > 0), ("negative", numbers < 0)):
            if there.sum() >= LEAST and (~there).sum() >= LEAST and right[there].all() and not right[~there].any():
                return "region", {"name": name, "side": side}
    return "", {}
