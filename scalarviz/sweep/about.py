"""`About`: what a sweep tries, as its file says it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ..errors import FileFormatError
from .result import Label

MOST_WORDS = 1 << 24
"""Characters of it as JSON."""
MOST_RUNS = 10_000_000


@dataclass(frozen=True, slots=True)
class About:
    """What all runs of a sweep have in common, and which runs there are.

    Attributes
    ----------
    name : str
        The scene's (``"xor"``), its file's as it was named, or that of the function which builds a run.
    build_text : str
        The text of the scene's file, or of the function; empty for scenes of the package. It is shown and compared,
        never run by whoever reads it.
    grid : dict of str to list
        The values of the options that are swept.
    seeds : list of int
    steps : int
        Of each run, where no option says otherwise.
    total : int
        How many runs there are.
    made : str
        When it was begun and by which version.
    fixed : dict of str to Label
        The other options that were given.
    keyframes : int
        How many are kept of each run.
    """

    name: str
    build_text: str
    grid: dict[str, list[Label]]
    seeds: list[int]
    steps: int
    total: int
    made: str = ""
    fixed: dict[str, Label] = field(default_factory=dict)
    keyframes: int = 0

    def place(self, number: int) -> tuple[dict[str, Label], int]:
        """Options and seed of a run, by its number: of a seed's runs the last option's value changes fastest."""
        options = dict[str, Label]()
        for name in reversed(self.grid):  # not listed: a file may promise any number of them
            number, at = divmod(number, len(self.grid[name]))
            options[name] = self.grid[name][at]
        return options, self.seeds[number]


def written(about: About) -> str:
    """As JSON."""
    return json.dumps(asdict(about))


def read_about(text: str) -> About:
    """What JSON says, checked.

    Raises
    ------
    FileFormatError
        It is not what a sweep says of itself.
    """
    try:
        said = json.loads(text) if len(text) <= MOST_WORDS else None
    except (ValueError, RecursionError):
        said = None
    names = {part.name for part in fields(About)}
    if not isinstance(said, dict) or set(said) != names or not all(map(_fits, said, said.values())):
        raise FileFormatError("what it says of its sweep cannot be read")
    about = About(**said)
    # counted, not listed: a file may promise any number of them
    if math.prod(map(len, about.grid.values())) * len(about.seeds) != about.total or about.total > MOST_RUNS:
        raise FileFormatError("it says a number of runs that is not that of its options and seeds")
    return about


def _fits(name: str, value: Any) -> bool:
    """Whether a part is of the kind that it should be."""
    if name in ("name", "build_text", "made"):
        return isinstance(value, str)
    if name in ("steps", "total", "keyframes"):
        return _whole(value)
    if name == "seeds":
        return isinstance(value, list) and all(map(_whole, value))
    if name == "fixed":
        return isinstance(value, dict) and all(map(is_label, value.values()))
    return isinstance(value, dict) and all(
        isinstance(values, list) and values and all(map(is_label, values)) for values in value.values()
    )


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64


def is_label(value: Any) -> bool:
    """Whether it is what is told of an option's value."""
    return value is None or isinstance(value, int | float | str | bool)


def alike(one: Any, other: Any) -> bool:
    """Whether two values, lists or dicts of them are equal; what is no number equals itself here."""
    return bool(one == other) or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
