"""`About`: the description of a sweep in its file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from ..errors import FileFormatError
from .result import Label

MOST_WORDS = 1 << 24
"""Most characters of the description as JSON."""
MOST_RUNS = 10_000_000


@dataclass(frozen=True, slots=True)
class About:
    """Facts that all runs of a sweep share, and the list of runs."""

    name: str  # name of the scene ("xor"), of its file, or of the function that builds a run
    build_text: str  # text of the scene's file or the function; it is shown and compared, never executed
    grid: dict[str, list[Label]]
    seeds: list[int]
    steps: int  # steps of each run, unless an option changes them
    total: int
    made: str = ""  # when it was begun, and by which version
    fixed: dict[str, Label] = field(default_factory=dict)  # the other given options
    keyframes: int = 0  # number of keyframes per run
    __pydantic_config__: ClassVar[Mapping[str, object]] = {"strict": True, "extra": "forbid"}

    def place(self, number: int) -> tuple[dict[str, Label], int]:
        """Return options and seed of a run by its number: the last option's value changes fastest."""
        options = dict[str, Label]()
        for name in reversed(self.grid):  # not listed: a file may claim any number of them
            number, at = divmod(number, len(self.grid[name]))
            options[name] = self.grid[name][at]
        return options, self.seeds[number]


def written(about: About) -> str:
    """Return the description as JSON."""
    return json.dumps(asdict(about))


def read_about(text: str) -> About:
    """Read and check a description; FileFormatError if it is not valid."""
    from pydantic import TypeAdapter, ValidationError

    try:
        about = TypeAdapter(About).validate_json(text if len(text) <= MOST_WORDS else "")
    except ValidationError:
        raise FileFormatError("its description of the sweep cannot be read") from None
    counts = (*about.seeds, about.steps, about.total, about.keyframes)
    if not all(0 <= count < 1 << 64 for count in counts) or not all(about.grid.values()):
        raise FileFormatError("it has an impossible count, or an option without values")
    # counted, not listed: a file may claim any number of them
    if math.prod(map(len, about.grid.values())) * len(about.seeds) != about.total or about.total > MOST_RUNS:
        raise FileFormatError("its number of runs does not match its options and seeds")
    return about


def is_label(value: Any) -> bool:
    """Return whether a value can be a label."""
    return value is None or isinstance(value, int | float | str | bool)


def alike(one: Any, other: Any) -> bool:
    """Return whether two values, or lists or dicts of them, are equal; NaN equals NaN here."""
    return bool(one == other) or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
