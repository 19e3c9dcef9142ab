"""Check the options and seeds of a sweep before anything is computed, and list its jobs."""

from __future__ import annotations

import math
import pickle
import re
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checks import integer, mapping
from ..errors import InputError, TypeMismatchError, listing, shown, typed
from ..io.atomic import check_source
from ..run.scene.scene import extra_of, flag_of, sentence
from ..run.sources.recording.items import program_version
from .job import Build, FunctionBuild, Job, SceneBuild
from .result import Label
from .results import MOST_RUNS, About, is_label

if TYPE_CHECKING:
    from pydantic import ValidationError


OF_PICTURES = frozenset(
    {"headless", "at", "duration", "fps", "paused", "size", "theme", "presenter", "cmap", "every", "open", "json_line"}
    | {"story", "html_data"}
)
"""Options of every scene that change only its picture or its texts, not its run."""


class SweepPlan(NamedTuple):
    """A checked sweep; `combinations` has, per run of one seed: all given options, labels of swept ones, steps."""

    about: About
    build: Build
    combinations: list[tuple[dict[str, Any], dict[str, Label], int]]

    def job(self, number: int) -> Job:
        """Return the job of a run by its number."""
        seed, at = divmod(number, len(self.combinations))
        options, labels, steps = self.combinations[at]
        return Job(number, self.build, options, self.about.seeds[seed], steps, self.about.keyframes, labels)


def plan_of(
    build: Any, grid: Mapping[str, Any] | None, seeds: Any, steps: int | None, fixed: Mapping[str, Any], keyframes: int
) -> SweepPlan:
    """Return the checked plan; InputError or TypeMismatchError for anything that would stop every run."""
    made = _build(build)
    values = {
        _field(made, name): _values(made, given, name)
        for name, given in mapping({} if grid is None else grid, "sweep: grid").items()
    }
    fixed = {_field(made, name): value for name, value in mapping(fixed, "sweep: options").items()}
    if steps is not None:
        fixed["steps"] = integer("sweep: steps", steps, 1, 10**12)
    both = values.keys() & fixed.keys()
    if both:
        raise InputError(f"sweep: {listing(sorted(both))} is both in the grid and in the options; give it once")
    listed = _seeds(seeds)
    runs = len(listed) * math.prod(map(len, values.values()))
    if runs > MOST_RUNS:
        raise InputError(f"sweep: {runs:,} runs are too many; allowed are {MOST_RUNS:,}")
    combinations = []
    for chosen in product(*values.values()):
        given = dict(zip(values, chosen, strict=True))
        count, models = _checked(made, {**fixed, **given}, listed[0])
        labels = {name: _label(value, models.get(name)) for name, value in given.items()}
        combinations.append(({**fixed, **given}, labels, count))
    grid_told = {name: list(dict.fromkeys(labels[name] for _, labels, _ in combinations)) for name in values}
    for name, told in grid_told.items():
        if len(told) != len(values[name]):
            raise InputError(f"sweep: two values of {name} have the same text: {listing(map(shown, told))}")
    about = About(
        made.name, made.text, grid_told, listed, min(count for _, _, count in combinations), runs,
        f"{time.strftime('%Y-%m-%d %H:%M')}, scalarviz {program_version()}".rstrip(),
        {name: _label(value, None) for name, value in fixed.items() if name != "steps"},
        integer("sweep: keyframes", keyframes, 0, 10_000),
    )  # fmt: skip
    return SweepPlan(about, made, combinations)


def _build(build: Any) -> Build:
    """Return the builder of the runs."""
    if not isinstance(build, str):
        if not callable(build):
            raise TypeMismatchError(
                "sweep: build must be a function that returns a Run, a scene's name or a scene's file, got "
                f"{typed(build)}"
            )
        return FunctionBuild(build)
    if build.endswith(".py"):
        try:
            return SceneBuild(build, check_source(build, "scene file").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read {shown(build)}: {getattr(error, 'strerror', None) or error}") from None
    if build.isidentifier() and not build.startswith("_") and find_spec(f"scalarviz.scenes.{build}") is not None:
        return SceneBuild(build)
    raise InputError(
        f"sweep: there is no scene {shown(build)}; run `scalarviz scenes` for a list, or give a file that ends in .py"
    )


def check_sent(build: Build) -> None:
    """Raise InputError for a function that other processes cannot import: from a notebook, a prompt or a function."""
    if not isinstance(build, FunctionBuild):
        return
    why = ""
    try:
        pickle.dumps(build)
    except Exception as error:
        why = f"{error}"
    home = getattr(build.function, "__module__", "")
    if home == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
        why = "it was defined at a prompt or in a notebook"
    if why:
        raise InputError(
            f"sweep: {build.name} cannot be sent to other processes ({why}); define it in a file and import it, or "
            "use workers=0 to compute in this process"
        )


def _field(build: Build, name: str) -> str:
    """Return the option that a name means: a field, or its flag without dashes."""
    if isinstance(build, FunctionBuild):
        return name
    fields = sweepable(build.loaded.options)
    wanted = name.lstrip("-").replace("-", "_")
    for field, info in build.loaded.options.model_fields.items():
        if wanted in (field, flag_of(field, info).lstrip("-").replace("-", "_").lower()):
            if field in fields:
                return str(field)
            why = "every run would write the same file"
            if field in OF_PICTURES:
                why = "it concerns only pictures and messages"
            elif field == "seed":
                why = "use --seeds, or seeds= in Python"
            raise InputError(f"sweep: {shown(name)} is not allowed: {why}")
    raise InputError(f"sweep: scene {build.name!r} has no option {shown(name)}; allowed: {listing(fields)}")


def sweepable(options: Any) -> list[str]:
    """Return the fields of a scene's options that change a run."""
    return [
        name
        for name, field in options.model_fields.items()
        if name not in OF_PICTURES and name != "seed" and not extra_of(field).get("written")
    ]


def _values(build: Build, given: Any, name: str) -> list[Any]:
    """Return the values of a swept option. A scene parses texts itself; a function gets numbers if possible."""
    what = f"sweep: {name}"
    if isinstance(given, str):
        texts = values_of(given, what)
        values: list[Any] = list(texts if isinstance(build, SceneBuild) else map(plain_value, texts))
    elif isinstance(given, Iterable) and not isinstance(given, Mapping | bytes):
        values = [value.item() if isinstance(value, np.generic) else value for value in islice(given, MOST + 1)]
    else:
        raise TypeMismatchError(f"{what} needs a list of values, or a string such as '0.1 0.5 1', got {shown(given)}")
    if not 1 <= len(values) <= MOST:
        more = "more than " if len(values) > MOST else ""
        raise InputError(f"{what} has {more}{min(len(values), MOST):,} values; allowed are 1 to {MOST:,}")
    return values


def _seeds(given: Any) -> list[int]:
    if isinstance(given, str):
        return seeds_of(given)
    if isinstance(given, Sequence | range | np.ndarray) and not isinstance(given, bytes):
        seeds = [integer("sweep: a seed", seed, 0, 2**64 - 1) for seed in given]
        if not seeds or len(set(seeds)) < len(seeds):
            raise InputError(f"sweep: seeds must be a count or a list of different seeds, got {shown(given)}")
        return seeds
    return list(range(integer("sweep: seeds", given, 1, MOST)))


def _checked(build: Build, given: dict[str, Any], seed: int) -> tuple[int, dict[str, Any]]:
    """Return the number of steps of a run with these options, and the validated options."""
    if isinstance(build, FunctionBuild):
        build.check([name for name in given if name != "steps"])
        if "steps" not in given:
            raise InputError("sweep: the number of steps is missing; give it, such as steps=1000")
        return integer("sweep: steps", given["steps"], 1, 10**12), given
    from pydantic import ValidationError

    try:
        options = build.options(given, seed)
    except ValidationError as error:
        raise InputError(f"sweep: {sentence(build.loaded.options, error)}{_apart(error)}") from None
    return int(options.steps), {name: getattr(options, name) for name in given}


def _apart(error: ValidationError) -> str:
    """Return a hint for values that were separated by commas, or an empty text."""
    first = error.errors()[0]
    parts = [part.strip() for part in str(first["input"]).split(",")]
    if not first["loc"] or len(parts) < 2 or not all(isinstance(plain_value(part), int | float) for part in parts):
        return ""
    return f"; separate values with spaces: '{first['loc'][0]}={' '.join(parts)}'"


def _label(given: Any, made: Any) -> Label:
    """Return a label for a value: numbers and switches unchanged, everything else as typed."""
    if made is not None and is_label(made):
        return made  # type: ignore[no-any-return]
    if is_label(given):
        return given  # type: ignore[no-any-return]
    if isinstance(given, list | tuple):
        return ",".join(str(_label(one, None)) for one in given)
    return str(getattr(given, "__name__", given))


MOST = 10_000
"""Largest number of values of one option."""
_RANGE = re.compile(r"([^.:\s](?:[^:\s]*?[^.:\s])?)\.\.([^.:\s][^:\s]*?)(?::(log)?(\d{1,6}))?")
_DIGITS = 12
"""Significant digits of a value in a range: as a person would type it, not 0.30000000000000004."""


def values_of(text: str, what: str) -> list[str]:
    """Return the values in a text, as texts. InputError: a bad range or quotation, too many values, a duplicate."""
    values: list[str] = []
    for part in _parts(text, what):
        found = _RANGE.fullmatch(part)
        ends = (_number(found[1]), _number(found[2])) if found else (None, None)
        if found is None or ends[0] is None or ends[1] is None:
            values.append(part)
        else:
            values += _range(ends[0], ends[1], bool(found[3]), found[4], f"{what}: {shown(part)}")
        if len(values) > MOST:
            raise InputError(f"{what}: more than {MOST:,} values in {shown(text)}")
    seen: set[str] = set()
    twice = next((value for value in values if value in seen or seen.add(value)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise InputError(f"{what}: {shown(twice)} occurs twice in {shown(text)}")
    return values


def _parts(text: str, what: str) -> list[str]:
    """Split a text at blanks; quotation marks keep words together."""
    reader = shlex.shlex(text, posix=True, punctuation_chars=False)
    reader.whitespace_split, reader.escape, reader.commenters = True, "", ""
    try:
        return list(reader)
    except ValueError:
        raise InputError(f"{what}: a closing quotation mark is missing in {shown(text)}") from None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def plain_value(text: str) -> int | float | str:
    """Return the number in a text, or the text if there is none."""
    number = _number(text)
    if number is None:
        return text
    return int(text) if text.lstrip("+-").isdigit() else number


def _range(first: float, last: float, logs: bool, count: str | None, said: str) -> list[str]:
    """Return the values of a range, as texts."""
    if count is None:
        if first != int(first) or last != int(last):
            raise InputError(
                f"{said} has no count; write {said.rpartition(' ')[2][1:-1]}:5 for five evenly spaced values, :log5 "
                "for equal factors"
            )
        if not 0 <= last - first < MOST:
            raise InputError(f"{said} must go up and have at most {MOST:,} values")
        return [str(number) for number in range(int(first), int(last) + 1)]
    number = int(count)
    if not 2 <= number <= MOST:
        raise InputError(f"{said} must have 2 to {MOST:,} values, got {number:,}")
    if logs and not (first > 0 and last > 0):
        raise InputError(f"{said} must have numbers above 0 at both ends, because of :log")
    shares = (k / (number - 1) for k in range(number))
    if logs:
        found = [math.exp((1 - share) * math.log(first) + share * math.log(last)) for share in shares]
    else:
        found = [(1 - share) * first + share * last for share in shares]
    return [f"{value:.{_DIGITS}g}" for value in [first, *found[1:-1], last]]


def seeds_of(text: str) -> list[int]:
    """Return seeds: ``20`` is the first twenty; ``5..9`` and ``0 7 42`` list them."""
    values = values_of(text, "--seeds")
    if not values or not all(value.isascii() and value.isdigit() and int(value) < 1 << 64 for value in values):
        raise InputError(f"--seeds must be a count, such as 20, or a list, such as 5..9 or '0 7 42', got {shown(text)}")
    if len(values) > 1 or ".." in text:
        return [int(value) for value in values]
    if not 1 <= int(values[0]) <= MOST:
        raise InputError(f"--seeds: allowed are 1 to {MOST:,} seeds, got {shown(text)}; for one seed N write N..N")
    return list(range(int(values[0])))
