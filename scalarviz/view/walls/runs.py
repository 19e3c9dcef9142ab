"""`Runs`: what the wall and the report show of a sweep: its results, its words, and how a run of it is built."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from ...run.scene.scene import Scene
from ...run.state import checkpoint_of, put_checkpoint, restore
from ...sweep.groups import Group, by_loss, swept
from ...sweep.result import Result
from ..ink.text import loss_text, rate_text, short
from ..ink.theme import Theme

Standing = Scene | Mapping[str, NDArray[Any]]
"""A run that can be drawn: a scene, or arrays by their names."""


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The runs of a sweep.

    Attributes
    ----------
    title : str
        What the sweep is of, in words.
    results : tuple of Result
        Without their weights.
    build : callable or None
        ``build(result)``: the scene of a run as it was before its first step. May be called in any thread. None: nobody
        here can build one, and of runs there are only their weights.
    weights : callable
        ``weights(number)``: the weights of a run at its end, by name.
    total : int
        How many runs there will be.
    rule : callable
        ``rule(number)``: the arrays of the optimiser of a run at its end, and how it trained; empty where it needs
        neither to train on.
    growing : bool
        Whether a sweep computes more of them now.
    """

    title: str
    results: tuple[Result, ...]
    build: Callable[[Result], Scene] | None
    weights: Callable[[int], Mapping[str, NDArray[Any]]]
    total: int
    rule: Callable[[int], tuple[Mapping[str, NDArray[Any]], str]] = lambda number: ({}, "")
    growing: bool = False

    def standing(self, result: Result) -> Standing:
        """A run where it ended: its scene, else its weights; one that diverged is a scene at its beginning."""
        if self.build is None:
            return dict(self.weights(result.number))
        scene = self.build(result)
        if result.state == "done":
            stand(scene, self.weights(result.number), *self.rule(result.number), result.steps)
        return scene


def stand(
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


def picked(results: Sequence[Result]) -> list[tuple[str, Result]]:
    """The best, the median and the worst of the runs that are done; fewer where there are fewer."""
    done = [result for result in by_loss(results) if result.state == "done"]
    places = {"best": 0, "median": (len(done) - 1) // 2, "worst": len(done) - 1}
    found: dict[int, str] = {}
    for name, place in places.items():
        if 0 <= place < len(done):
            found.setdefault(place, name)
    return [(name, done[place]) for place, name in found.items()]


# ---- What is said of runs: their options, how they ended, how many learnt.

DOT = "  \N{MIDDLE DOT}  "
LEARNT, STUCK, ENDED, DIVERGED, FAILED = "learnt", "stuck", "done", "diverged", "failed"
ENDINGS = (LEARNT, STUCK, ENDED, DIVERGED, FAILED)
"""How a run may have ended; `ENDED`: its scene does not say what it should reach."""


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


def quartiles_text(group: Group) -> str:
    """``loss: median 0.0012, half of them 0.0010 to 0.2500``."""
    low, middle, high = (number_text(number) for number in group.quartiles)
    return f"loss: median {middle}, half of the runs {low} to {high}"


def number_text(number: float) -> str:
    """A loss; what is infinite has diverged."""
    return DIVERGED if number == math.inf else loss_text(number)


def metric_text(number: float) -> str:
    """What a scene reports of a run: ``4`` where it is whole, as a count of right samples is, else ``0.97``."""
    return f"{int(number):,}" if abs(number) < 1e6 and float(number).is_integer() else short(number)


def run_text(result: Result, results: Sequence[Result]) -> str:
    """A run among others: what sets it apart, its seed, how it ended."""
    said = [f"run {result.number:,}", options_text(result.options, swept(results)), f"seed {result.seed:,}"]
    if result.state == "done":
        said += [f"loss {loss_text(result.loss)}", *([] if result.reached is None else [ending_of(result)])]
    else:
        said.append(f"{result.state} after step {result.steps:,}" + (f": {result.error}" if result.error else ""))
    return DOT.join(filter(None, said))
