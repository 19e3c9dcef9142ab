"""`Runs`: what wall and report show of a sweep: its results, how a run of it is built, how a file is read, words."""

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
from ...sweep.about import About
from ...sweep.build import Build, SceneBuild
from ...sweep.groups import Group, swept
from ...sweep.result import Result
from ...sweep.results import Results
from ..ink.text import loss_text, rate_text
from ..ink.theme import Theme
from .scene_entry import DOT

Standing = Scene | Mapping[str, NDArray[Any]]
"""A run that can be drawn: a scene, or arrays by their names."""


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The runs of a sweep."""

    title: str  # what the sweep is of, in words
    results: tuple[Result, ...]  # without their weights
    build: Callable[[Result], Scene] | None  # the scene of a run before its first step; may be called in any thread
    weights: Callable[[int], Mapping[str, NDArray[Any]]]  # of a run at its end, by name
    total: int  # how many runs there will be
    # arrays of the optimiser of a run at its end, and how it trained; empty where it needs neither to train on
    rule: Callable[[int], tuple[Mapping[str, NDArray[Any]], str]] = lambda number: ({}, "")
    growing: bool = False  # whether a sweep computes more of them now

    def standing(self, result: Result) -> Standing:
        """A run where it ended: its scene, else its weights; one that diverged is a scene at its beginning."""
        if self.build is None:
            return dict(self.weights(result.number))
        scene = self.build(result)
        if result.state == "done":
            put_at_end(scene, self.weights(result.number), *self.rule(result.number), result.steps)
        return scene


def put_at_end(
    scene: Scene, weights: Mapping[str, NDArray[Any]], state: Mapping[str, NDArray[Any]], rule: str, steps: int
) -> None:
    """Let a scene's run stand after so many steps, with these weights, to train on as the one that had them."""
    if rule:
        put_checkpoint(scene.run, replace(checkpoint_of(dict(weights), dict(state), rule), steps=steps))
    else:
        restore(scene.run, dict(weights), {}, steps)


def let_go(standing: Standing) -> None:
    """A run that was drawn is not needed any more."""
    if isinstance(standing, Scene):
        standing.run.close()


def check_plain(entrance: Callable[..., object], **given: Any) -> None:
    """Refuse arguments of `entrance` that concern the cubes of one run, if they differ from their defaults."""
    usual = inspect.signature(entrance).parameters
    said = [name for name, value in given.items() if value != usual[name].default]
    if said:
        raise InputError(
            f"{entrance.__name__}: {listing(said)} works for a single run only; leave it out for the runs of a sweep"
        )


# ---- The runs of a file of results. What builds them is found here; it is not run itself.

MOST = 10_000
"""Results of a file that are shown."""
_NAME = re.compile("[a-z][a-z0-9_]*")


def runs_of(path: StrPath, build: Build | None = None) -> Runs:
    """The runs in a file of results.

    Without `build` the scene of the package builds them that the file names; the text of a scene in it is not run.
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
    """What a sweep is called: the scene, and what its runs have in common."""
    return ", ".join(filter(None, (Path(about.name).stem, options_text(about.fixed))))


def build_of(about: About) -> SceneBuild | None:
    """What builds the runs of a file, if that is a scene of the package: nothing that a file holds is ever run."""
    if about.build_text or not _NAME.fullmatch(about.name) or find_spec(f"scalarviz.scenes.{about.name}") is None:
        return None
    return SceneBuild(about.name)


def scene_file(path: StrPath, about: About) -> SceneBuild:
    """A scene's file as what builds the runs of a file of results: its owner says that it may be run."""
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
            if given["steps"] == fields["steps"].default:  # nobody gave it: epochs may be given in its place
                del given["steps"]
        else:
            given.pop("steps")
        try:
            built = build.built(given, result.seed)
        except ValueError as error:  # pydantic's, of options that the scene of today has no more
            raise InputError(f"{about.name}, run {result.number:,}: {' '.join(str(error).split())[:300]}") from None
        return built.scene if built.scene is not None else Scene(Path(about.name).stem, built.run)

    return making


# ---- What is said of runs: their options, how they ended, how many learnt.

LEARNT, STUCK, ENDED, DIVERGED, FAILED = "learnt", "stuck", "done", "diverged", "failed"
ENDINGS = {
    LEARNT: "Runs that learnt", STUCK: "Runs that are stuck", ENDED: "All runs", DIVERGED: "Runs that diverged",
    FAILED: "Runs that failed",
}  # fmt: skip
"""How a run may have ended, and a heading; `ENDED`: its scene does not say what it should reach."""


def ending_of(result: Result) -> str:
    """One of `ENDINGS`."""
    if result.state != "done":
        return result.state
    return ENDED if result.reached is None else LEARNT if result.reached else STUCK


def ending_colour(ending: str, theme: Theme) -> str:
    """Blue what learnt, orange what is stuck, as in the map of weights; grey the rest."""
    return {LEARNT: theme.weight[4], STUCK: theme.weight[0], ENDED: theme.text2}.get(ending, theme.text3)


def value_text(value: Any) -> str:
    """A value of an option, as it is typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return rate_text(value) if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return ",".join(map(value_text, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def options_text(options: Mapping[str, Any], names: Sequence[str] | None = None) -> str:
    """``lr 0.1, hidden 16,16``: all options, or those of some names."""
    shown = options if names is None else {name: options[name] for name in names if name in options}
    return ", ".join(f"{name} {value_text(value)}" for name, value in shown.items())


def counts_text(group: Group) -> str:
    """``11 of 20 learnt, 1 diverged``, or how many runs there are."""
    count, learnt = len(group.results), group.learnt
    said = [f"{count:,} run{'' if count == 1 else 's'}" if learnt is None else f"{learnt:,} of {count:,} {LEARNT}"]
    said += [f"{n:,} {state}" for state in (DIVERGED, FAILED) if (n := group.count(state))]
    return ", ".join(said)


def number_text(number: float) -> str:
    """A loss; what is infinite has diverged."""
    return DIVERGED if number == math.inf else loss_text(number)


def run_text(result: Result, results: Sequence[Result]) -> str:
    """A run among others: what sets it apart, its seed, how it ended."""
    said = [f"run {result.number:,}", options_text(result.options, swept(results)), f"seed {result.seed:,}"]
    if result.state == "done":
        said += [f"loss {loss_text(result.loss)}", *([] if result.reached is None else [ending_of(result)])]
    else:
        said.append(f"{result.state} after step {result.steps:,}" + (f": {result.error}" if result.error else ""))
    return DOT.join(filter(None, said))
