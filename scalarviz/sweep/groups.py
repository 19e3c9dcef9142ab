"""`Group`: runs that share the value of an option: how many reached the goal, and the quartiles of their loss."""

from __future__ import annotations

import csv
import io
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..contexts import Closing
from ..io.atomic import StrPath, write_bytes
from ..run.sources.recording.tables import clean
from .result import Result

if TYPE_CHECKING:
    from .job import Build


Quartiles = tuple[float, float, float]
"""A quarter of the numbers is below the first, half below the second, three quarters below the third."""


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that share the value of an option; `value` is None for all runs."""

    value: Any
    results: tuple[Result, ...]

    @property
    def losses(self) -> list[float]:
        """The loss of each run that has not failed; infinite if it diverged."""
        return [loss_of(result) for result in self.results if result.state != "failed"]

    @property
    def quartiles(self) -> Quartiles:
        """Quartiles of the losses."""
        return quartiles(self.losses)

    def of_metric(self, name: str) -> Quartiles:
        """Return the quartiles of a metric over the runs that are done and have it."""
        return quartiles([r.metrics[name] for r in self.results if r.state == "done" and name in r.metrics])

    @property
    def learnt(self) -> int | None:
        """Number of runs that reached the goal of their scene; None without a goal."""
        told = [r.reached for r in self.results if r.reached is not None]
        return sum(told) if told else None

    def count(self, state: str) -> int:
        """Return the number of runs that are ``"done"``, ``"diverged"`` or ``"failed"``."""
        return sum(result.state == state for result in self.results)


def groups(results: Iterable[Result], option: str = "") -> list[Group]:
    """Group runs by the values of an option, in order of first appearance; without `option`, all runs in one group."""
    return _grouped(results, lambda result: result.options.get(option) if option else None)


def _grouped(results: Iterable[Result], value_of: Callable[[Result], Any]) -> list[Group]:
    found: dict[str, tuple[Any, list[Result]]] = {}
    for result in results:
        value = value_of(result)
        found.setdefault(repr(value), (value, []))[1].append(result)
    return [Group(value, tuple(some)) for value, some in found.values()]


def swept(results: Sequence[Result]) -> list[str]:
    """Return the options with several values, in the order of the grid."""
    names = dict.fromkeys(name for result in results for name in result.options)
    return [name for name in names if len(groups(results, name)) > 1]


def metrics_of(results: Iterable[Result]) -> list[str]:
    """Return the names of all metrics, in order of first appearance."""
    return list(dict.fromkeys(name for result in results for name in result.metrics))


def loss_of(result: Result) -> float:
    """Return the loss of a run; infinite if it diverged or its loss is NaN."""
    return math.inf if result.state == "diverged" or math.isnan(result.loss) else result.loss


def by_loss(results: Iterable[Result]) -> list[Result]:
    """Sort runs from the lowest loss to the highest, then diverged, then failed; equal ones by number."""

    def key(result: Result) -> tuple[bool, float, int]:
        return result.state == "failed", loss_of(result), result.number

    return sorted(results, key=key)


def quartiles(numbers: Iterable[float]) -> Quartiles:
    """Return the quartiles of some numbers, interpolated as NumPy's ``linear``; infinite ones count.

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


MOST_LINES = 40
"""Most lines of a table in a terminal; with more combinations, each option gets its own lines."""

MOST_LETTERS = 100
"""Most characters of an option's value or a metric's name in a terminal."""


def write_table(path: StrPath, results: Iterable[Result]) -> None:
    """Write a CSV file with one line per run, by number: options, seed, loss, metrics and the rest."""
    rows = sorted(results, key=lambda result: result.number)
    options = list(dict.fromkeys(name for result in rows for name in result.options))
    metrics = metrics_of(rows)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    learnt = ["learnt"] if any(result.reached is not None for result in rows) else []
    writer.writerow(["number", *options, "seed", "state", "steps", "loss", *learnt, *metrics,
                     "seconds", "processor", "tries", "error"])  # fmt: skip
    for result in rows:
        writer.writerow([
            result.number, *(_cell(result.options.get(name)) for name in options), result.seed, result.state,
            result.steps, _cell(result.loss), *(_cell(result.reached) for _ in learnt),
            *(_cell(_count(result.metrics.get(name))) for name in metrics), f"{result.seconds:.6f}", result.processor,
            result.tries, result.error,
        ])  # fmt: skip
    write_bytes(path, text.getvalue().encode("utf-8", "backslashreplace"))  # names of files may not be valid text


def _cell(value: Any) -> Any:
    """Return a value as a cell: empty for None and NaN, 1 and 0 for booleans."""
    if isinstance(value, bool):
        return int(value)
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _count(number: float | None) -> Any:
    """Return a whole number as an int."""
    return int(number) if number is not None and number.is_integer() else number


def summary(results: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Summarise runs: return the headings of a table, and a line for each combination of the options.

    With more than `MOST_LINES` combinations there is a line for each value of each option.
    """
    names = swept(results)
    ordered = sorted(results, key=lambda result: result.number)
    combined = _grouped(ordered, lambda result: [result.options.get(name) for name in names])
    lines = [([_short_text(value) for value in group.value], group) for group in combined]
    heads = names
    if len(lines) > MOST_LINES:
        lines = [([name, _short_text(group.value)], group) for name in names for group in groups(results, name)]
        heads = ["option", "value"]
    metrics = metrics_of(results)
    whole = Group(None, tuple(results))
    more = [name for name, there in (("learnt", whole.learnt is not None), ("diverged", whole.count("diverged") > 0),
                                     ("failed", whole.count("failed") > 0)) if there]  # fmt: skip
    medians = [f"{clean(name, MOST_LETTERS)}, median" for name in metrics]
    heads = [*heads, "runs", *more, "loss: quarter", "median", "three quarters", *medians]
    return heads, [[*cells, *_numbers(group, more, metrics)] for cells, group in lines]


def _numbers(group: Group, more: Sequence[str], metrics: Sequence[str]) -> list[str]:
    counts = {"learnt": group.learnt, "diverged": group.count("diverged"), "failed": group.count("failed")}
    return [
        f"{len(group.results):,}", *("" if counts[name] is None else f"{counts[name]:,}" for name in more),
        *(_short_text(number) for number in group.quartiles),
        *(_short_text(group.of_metric(name)[1]) for name in metrics),
    ]  # fmt: skip


def _short_text(value: Any) -> str:
    """Return a value of an option, or a number, as a short text."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else clean(str(value), MOST_LETTERS)


class Left:
    """Estimates the seconds left from the runs that ended since `began`.

    `total` and `before` count all runs, and those done at `began`, a time of a clock in seconds.
    """

    def __init__(self, total: int, before: int, began: float) -> None:
        self._total, self._before, self._began = total, before, began

    def text(self, done: int, now: float) -> str:
        """Return ``3 min left``, by the same clock; empty without an estimate."""
        since = done - self._before
        if since <= 0 or done >= self._total:
            return ""
        return f"{_time((now - self._began) / since * (self._total - done))} left"


def _time(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


# ---- `StoredResults`: the base of a running sweep and of a results file, which is all that views need.

ALL = "all runs"
"""Title of all runs together."""


class StoredResults(Closing, ABC):
    """Results in a file, and the builder of their runs if it is known."""

    @abstractmethod
    def shown(self) -> tuple[StrPath, Build | None]:
        """Return the file and the builder of its runs; None: the package's scene that the file names, if any."""
