"""`Runs`: what the wall and the report show of a sweep: its results, its words, and how a run of it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from ...run.checkpoint import checkpoint_of, put_checkpoint, restore
from ...run.scene.scene import Scene
from ...sweep.groups import by_loss
from ...sweep.result import Result

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
