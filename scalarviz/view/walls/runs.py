"""`Runs`: the results of a sweep for wall and report, with the way to rebuild its runs, and their words."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ...errors import InputError, listing, shown
from ...io.atomic import StrPath, path_text
from ...run.scene.scene import Scene
from ...run.state import checkpoint_of, put_checkpoint, restore
from ...sweep.groups import Group, swept
from ...sweep.job import Build, SceneBuild
from ...sweep.result import Result
from ...sweep.results import About, Results
from ..ink.text import DOT, loss_text, rate_text
from ..ink.theme import Theme

Standing = Scene | Mapping[str, NDArray[Any]]
"""A run that can be drawn: a scene, or arrays by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The runs of a sweep."""

    title: str  # the subject of the sweep, in words
    results: tuple[Result, ...]  # without weights
    build: Callable[[Result], Scene] | None  # builds a run's scene before its first step, in any thread
    weights: Callable[[int], Mapping[str, NDArray[Any]]]  # final weights of a run, by name
    total: int  # number of planned runs
    # a run's final optimiser state and how it trained; empty if neither is needed to train on
    rule: Callable[[int], tuple[Mapping[str, NDArray[Any]], str]] = lambda number: ({}, "")
    growing: bool = False  # whether a sweep is computing more of them

    def standing(self, result: Result) -> Standing:
        """Return a run after its last step: its scene, or its weights; a diverged run as its scene at step 0."""
        if self.build is None:
            return dict(self.weights(result.number))
        scene = self.build(result)
        if result.state == "done":
            put_at_end(scene, self.weights(result.number), *self.rule(result.number), result.steps)
        return scene


def put_at_end(
    scene: Scene, weights: Mapping[str, NDArray[Any]], state: Mapping[str, NDArray[Any]], rule: str, steps: int
) -> None:
    """Set a scene's run to these weights and this step, so that it trains on like the original."""
    if rule:
        put_checkpoint(scene.run, replace(checkpoint_of(dict(weights), dict(state), rule), steps=steps))
    else:
        restore(scene.run, dict(weights), {}, steps)


def let_go(standing: Standing) -> None:
    """Close a run that was drawn."""
    if isinstance(standing, Scene):
        standing.run.close()


def check_plain(entrance: Callable[..., object], **given: Any) -> None:
    """Raise InputError for arguments of `entrance` for a single run's cubes that differ from their defaults."""
    usual = inspect.signature(entrance).parameters
    said = [name for name, value in given.items() if value != usual[name].default]
    if said:
        raise InputError(f"{entrance.__name__}: a sweep takes no {listing(said)}; only a single run does")


# ---- The runs of a results file. Code in the file is never executed.

MOST = 10_000
"""Most results shown of a file."""
_NAME = re.compile("[a-z][a-z0-9_]*")


def runs_of(path: StrPath, build: Build | None = None) -> Runs:
    """Return the runs in a results file.

    Without `build`, the package's scene with the name in the file rebuilds them; scene code in the file is not
    executed.
    """
    with Results.read(path) as read:
        about, results, growing = read.about, tuple(islice(read.results(), MOST)), read.written

    def weights(number: int) -> dict[str, NDArray[Any]]:
        with Results.read(path) as read:
            return read.weights(number)

    def rule(number: int) -> tuple[dict[str, NDArray[Any]], str]:
        with Results.read(path) as read:
            return read.rule(number)

    found = build or build_of(about)
    making = None if found is None else _making(found, about)
    some = f"the first {MOST:,} results" if len(results) == MOST < about.total else ""
    return Runs(", ".join(filter(None, (title_of(about), some))), results, making, weights, about.total, rule, growing)


def title_of(about: About) -> str:
    """Return the name of a sweep: its scene and the options that all runs share."""
    return ", ".join(filter(None, (Path(about.name).stem, options_text(about.fixed))))


def build_of(about: About) -> SceneBuild | None:
    """Return what rebuilds a file's runs, if that is a scene of the package; code in a file is never executed."""
    if about.build_text or not _NAME.fullmatch(about.name) or find_spec(f"scalarviz.scenes.{about.name}") is None:
        return None
    return SceneBuild(about.name)


def scene_file(path: StrPath, about: About) -> SceneBuild:
    """Return a scene's file as the builder of a results file's runs; naming it allows its execution."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read the scene {path_text(path)}: {why}") from None
    if text != about.build_text:
        was = f"another version of {shown(about.name)}" if about.build_text else f"the scene {shown(about.name)}"
        raise InputError(f"{path_text(path)} did not build these runs; {was} did. Give that version of the file")
    return SceneBuild(about.name, text)


def _making(build: Build, about: About) -> Callable[[Result], Scene]:
    def making(result: Result) -> Scene:
        given = {"steps": about.steps, **about.fixed, **result.options}
        if isinstance(build, SceneBuild):
            fields = build.loaded.options.model_fields
            written = {name for name, field in fields.items() if dict(field.json_schema_extra or {}).get("written")}
            given = {name: value for name, value in given.items() if name in fields and name not in written}
            if given["steps"] == fields["steps"].default:  # not given: epochs may replace it
                del given["steps"]
        else:
            given.pop("steps")
        try:
            built = build.built(given, result.seed)
        except ValueError as error:  # from pydantic, for options that the scene no longer has
            raise InputError(f"{about.name}, run {result.number:,}: {' '.join(str(error).split())[:300]}") from None
        return built.scene if built.scene is not None else Scene(Path(about.name).stem, built.run)

    return making


# ---- Words about runs: options, endings, counts.

LEARNT, STUCK, ENDED, DIVERGED, FAILED = "learnt", "stuck", "done", "diverged", "failed"
ENDINGS = {
    LEARNT: "Runs that learnt", STUCK: "Runs that are stuck", ENDED: "All runs", DIVERGED: "Runs that diverged",
    FAILED: "Runs that failed",
}  # fmt: skip
"""The endings of runs, with headings; `ENDED`: the scene defines no goal."""


def ending_of(result: Result) -> str:
    """Return a key of `ENDINGS`."""
    if result.state != "done":
        return result.state
    return ENDED if result.reached is None else LEARNT if result.reached else STUCK


def ending_colour(ending: str, theme: Theme) -> str:
    """Return blue for learnt and orange for stuck, as in the weights' colour map; grey for the others."""
    return {LEARNT: theme.weight[4], STUCK: theme.weight[0], ENDED: theme.text2}.get(ending, theme.text3)


def value_text(value: Any) -> str:
    """Return an option's value as it is typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return rate_text(value) if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return ",".join(map(value_text, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def options_text(options: Mapping[str, Any], names: Sequence[str] | None = None) -> str:
    """Return ``lr 0.1, hidden 16,16``: all options, or those with some names."""
    shown = options if names is None else {name: options[name] for name in names if name in options}
    return ", ".join(f"{name} {value_text(value)}" for name, value in shown.items())


def counts_text(group: Group) -> str:
    """Return ``11 of 20 learnt, 1 diverged``, or the number of runs."""
    count, learnt = len(group.results), group.learnt
    said = [f"{count:,} run{'' if count == 1 else 's'}" if learnt is None else f"{learnt:,} of {count:,} {LEARNT}"]
    said += [f"{n:,} {state}" for state in (DIVERGED, FAILED) if (n := group.count(state))]
    return ", ".join(said)


def number_text(number: float) -> str:
    """Return a loss as text; infinity means diverged."""
    return DIVERGED if number == math.inf else loss_text(number)


def run_text(result: Result, results: Sequence[Result]) -> str:
    """Return a run's line: what differs from other runs, its seed, its ending."""
    said = [f"run {result.number:,}", options_text(result.options, swept(results)), f"seed {result.seed:,}"]
    if result.state == "done":
        said += [f"loss {loss_text(result.loss)}", *([] if result.reached is None else [ending_of(result)])]
    else:
        said.append(f"{result.state} after step {result.steps:,}" + (f": {result.error}" if result.error else ""))
    return DOT.join(filter(None, said))
