"""`About`: what a sweep tries, as its file says it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from ..errors import FileFormatError
from .result import Label

MOST_WORDS = 1 << 24
"""Characters of it as JSON."""
MOST_RUNS = 10_000_000


@dataclass(frozen=True, slots=True)
class About:
    """What all runs of a sweep have in common, and which runs there are."""

    name: str  # the scene's ("xor"), its file's as it was named, or that of the function which builds a run
    build_text: str  # of the scene's file or the function; it is shown and compared, never run by whoever reads it
    grid: dict[str, list[Label]]
    seeds: list[int]
    steps: int  # of each run, where no option says otherwise
    total: int
    made: str = ""  # when it was begun and by which version
    fixed: dict[str, Label] = field(default_factory=dict)  # the other options that were given
    keyframes: int = 0  # how many are kept of each run
    __pydantic_config__: ClassVar[Mapping[str, object]] = {"strict": True, "extra": "forbid"}

    def place(self, number: int) -> tuple[dict[str, Label], int]:
        """Options and seed of a run by its number: the last option's value changes fastest."""
        options = dict[str, Label]()
        for name in reversed(self.grid):  # not listed: a file may promise any number of them
            number, at = divmod(number, len(self.grid[name]))
            options[name] = self.grid[name][at]
        return options, self.seeds[number]


def written(about: About) -> str:
    """As JSON."""
    return json.dumps(asdict(about))


def read_about(text: str) -> About:
    """What JSON says, checked; FileFormatError where it is not what a sweep says of itself."""
    from pydantic import TypeAdapter, ValidationError

    try:
        about = TypeAdapter(About).validate_json(text if len(text) <= MOST_WORDS else "")
    except ValidationError:
        raise FileFormatError("its description of the sweep cannot be read") from None
    counts = (*about.seeds, about.steps, about.total, about.keyframes)
    if not all(0 <= count < 1 << 64 for count in counts) or not all(about.grid.values()):
        raise FileFormatError("it has an impossible count, or an option without values")
    # counted, not listed: a file may promise any number of them
    if math.prod(map(len, about.grid.values())) * len(about.seeds) != about.total or about.total > MOST_RUNS:
        raise FileFormatError("its number of runs does not match its options and seeds")
    return about


def is_label(value: Any) -> bool:
    """Whether it is what is told of an option's value."""
    return value is None or isinstance(value, int | float | str | bool)


def alike(one: Any, other: Any) -> bool:
    """Whether two values, lists or dicts of them are equal; what is no number equals itself here."""
    return bool(one == other) or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
