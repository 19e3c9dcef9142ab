"""`Group`: the runs that share the value of an option, in numbers: how many learnt, and the quartiles of their loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .result import Result

Quartiles = tuple[float, float, float]
"""A quarter of the numbers is below the first, half of them below the second, three quarters below the third."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some runs.

    Attributes
    ----------
    value : object
        Of the option that they share; None for those of all.
    results : tuple of Result
    """

    value: Any
    results: tuple[Result, ...]

    @property
    def losses(self) -> list[float]:
        """The loss of each run that came to an end; infinite where it diverged."""
        return [loss_of(result) for result in self.results if result.state != "failed"]

    @property
    def quartiles(self) -> Quartiles:
        """Of the losses."""
        return quartiles(self.losses)

    def of_metric(self, name: str) -> Quartiles:
        """The quartiles of a metric, of the runs that are done and have it."""
        return quartiles([r.metrics[name] for r in self.results if r.state == "done" and name in r.metrics])

    @property
    def learnt(self) -> int | None:
        """How many reached what their scene is about; None where nobody can say."""
        told = [r.reached for r in self.results if r.reached is not None]
        return sum(told) if told else None

    def count(self, state: str) -> int:
        """How many are ``"done"``, ``"diverged"``, ``"failed"``."""
        return sum(result.state == state for result in self.results)


def groups(results: Iterable[Result], option: str = "") -> list[Group]:
    """The runs by the values of an option, in the order in which these first come; without one, all as one group."""
    found: dict[str, tuple[Any, list[Result]]] = {}
    for result in results:
        value = result.options.get(option) if option else None
        found.setdefault(repr(value), (value, []))[1].append(result)
    return [Group(value, tuple(some)) for value, some in found.values()]


def swept(results: Sequence[Result]) -> list[str]:
    """The options of which there are several values, in the order of the grid."""
    names = dict.fromkeys(name for result in results for name in result.options)
    return [name for name in names if len(groups(results, name)) > 1]


def metrics_of(results: Iterable[Result]) -> list[str]:
    """The names of all metrics, in the order in which they come first."""
    return list(dict.fromkeys(name for result in results for name in result.metrics))


def loss_of(result: Result) -> float:
    """Its loss; infinite where it diverged, or where the loss is no number."""
    return math.inf if result.state == "diverged" or math.isnan(result.loss) else result.loss


def by_loss(results: Iterable[Result]) -> list[Result]:
    """From the lowest loss to the highest, then the diverged, then the failed; equal ones by their number."""

    def key(result: Result) -> tuple[bool, float, int]:
        return result.state == "failed", loss_of(result), result.number

    return sorted(results, key=key)


def quartiles(numbers: Iterable[float]) -> Quartiles:
    """The quartiles of some numbers, between two of them in proportion, as NumPy's ``linear``; infinite ones count.

    Without numbers they are NaN.
    """
    ordered = sorted(numbers)
    share: Callable[[float], float] = lambda part: _between(ordered, part * (len(ordered) - 1))  # noqa: E731
    return (share(0.25), share(0.5), share(0.75)) if ordered else (math.nan, math.nan, math.nan)


def _between(ordered: Sequence[float], place: float) -> float:
    below, part = int(place), place - int(place)
    if part == 0:
        return ordered[below]
    low, high = ordered[below], ordered[below + 1]
    return low + part * (high - low) if math.isfinite(high) else high
