"""Results as a table: a line a run for other programs, and what to show of many runs in a terminal."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..io.atomic import StrPath, write_bytes
from ..run.sources.recording.file import clean
from .groups import Group, groups, metrics_of, swept
from .result import Result

MOST_LINES = 40
"""Lines of a table in a terminal: of more combinations each option is told by itself."""

MOST_LETTERS = 100
"""Of a value of an option, or of the name of a metric, in a terminal."""


def write_table(path: StrPath, results: Iterable[Result]) -> None:
    """Write a CSV file: number, options, seed, loss, metrics and the rest of each run, by number.

    Raises
    ------
    InputError
        It cannot be written.
    """
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
    write_bytes(path, text.getvalue().encode("utf-8", "backslashreplace"))  # names of files may be no text


def _cell(value: Any) -> Any:
    """Empty where there is nothing to say, and for what is no number; 1 and 0 for yes and no."""
    if isinstance(value, bool):
        return int(value)
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _count(number: float | None) -> Any:
    """A metric that counts as the whole number that it is."""
    return int(number) if number is not None and number.is_integer() else number


def summary(results: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """What many runs came to: the heads of the columns, and a line for each combination of the options.

    Of more than `MOST_LINES` combinations a line for each value of each option.
    """
    names = swept(results)
    lines = [([_told(group.value.get(name)) for name in names], group) for group in _combined(results, names)]
    heads = names
    if len(lines) > MOST_LINES:
        lines = [([name, _told(group.value)], group) for name in names for group in groups(results, name)]
        heads = ["option", "value"]
    metrics = metrics_of(results)
    whole = Group(None, tuple(results))
    more = [name for name, there in (("learnt", whole.learnt is not None), ("diverged", whole.count("diverged") > 0),
                                     ("failed", whole.count("failed") > 0)) if there]  # fmt: skip
    heads = [
        *heads,
        "runs",
        *more,
        "loss: quarter",
        "median",
        "three quarters",
        *(f"{clean(name, MOST_LETTERS)}, median" for name in metrics),
    ]
    return heads, [[*cells, *_numbers(group, more, metrics)] for cells, group in lines]


def _combined(results: Sequence[Result], names: Sequence[str]) -> list[Group]:
    """The runs by the values of all swept options, in the order in which these come first."""
    found: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.number):
        found.setdefault(repr([result.options.get(name) for name in names]), []).append(result)
    return [Group(some[0].options, tuple(some)) for some in found.values()]


def _numbers(group: Group, more: Sequence[str], metrics: Sequence[str]) -> list[str]:
    counts = {"learnt": group.learnt, "diverged": group.count("diverged"), "failed": group.count("failed")}
    return [
        f"{len(group.results):,}", *("" if counts[name] is None else f"{counts[name]:,}" for name in more),
        *(_told(number) for number in group.quartiles), *(_told(group.of_metric(name)[1]) for name in metrics),
    ]  # fmt: skip


def _told(value: Any) -> str:
    """A value of an option, or a number, in few letters."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else clean(str(value), MOST_LETTERS)
