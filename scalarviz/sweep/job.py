"""`Job`: one run of a sweep, as an executor gets it; `compute` trains it."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.cost import processor_type
from ..errors import DivergedError, ScalarvizError
from ..run.run import Run
from ..run.source import Moment, RunSource
from ..run.state import optimizer_state
from ..run.state import training_entries as said_of_run
from .build import Build, Built
from .result import Arrays, Label, Result, State, thinned


@dataclass(frozen=True, slots=True)
class Job:
    """All that a process needs to compute a run; it can be pickled."""

    number: int
    build: Build
    options: dict[str, Any]  # all given options, swept or not
    seed: int
    steps: int  # unless its scene computes another number
    keyframes: int = 0  # number of moments, evenly from start to end, whose weights are kept
    labels: dict[str, Label] = field(default_factory=dict)  # labels of the swept options
    tries: int = 1  # how many times it was begun, this time included

    def stops(self, steps: int) -> list[int]:
        """Return the steps after which weights are kept, rising; `steps` is the total."""
        if self.keyframes < 2:
            return [steps] * self.keyframes
        return sorted({round(steps * k / (self.keyframes - 1)) for k in range(self.keyframes)})


def compute(job: Job) -> Result:
    """Build a run, train it and evaluate it. Errors become a failed result; only the end of the process does not.

    The weights have the bits that the same run has alone.
    """
    began = time.perf_counter()
    try:
        built, keyframes = job.build.built(job.options, job.seed), dict[int, Arrays]()
        try:
            _train(job, built, keyframes)
        except DivergedError as diverged:
            return _looked_at(job, built, "diverged", diverged.fact, keyframes, began)
        return _looked_at(job, built, "done", "", keyframes, began)
    except (Exception, SystemExit) as failed:  # an error of a scene or function ends only its run
        return failure(job, error_words(failed), time.perf_counter() - began)


def failure(job: Job, error: str, seconds: float = 0.0) -> Result:
    """Return a failed result with its error."""
    return Result(
        job.number, job.labels, job.seed, "failed", seconds=seconds, processor=processor_type(), tries=job.tries,
        error=error,
    )  # fmt: skip


def _train(job: Job, built: Built, keyframes: dict[int, Arrays]) -> None:
    """Do all steps, or those up to a breakpoint, and keep weights on the way if asked for."""
    run, steps = built.run, built.steps or job.steps
    first, stops = run.steps, job.stops(steps)
    for stop in [*stops, steps]:
        if run.stopped_by is None:
            run.step(first + stop - run.steps)
        if stop in stops:
            keyframes[run.steps] = run.state_dict()


def error_words(error: BaseException) -> str:
    """Return an error in one line; for errors from outside the package, with the place where it was raised."""
    words = " ".join(str(error).split())
    if isinstance(error, ScalarvizError):
        return words
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {words}{place}"


def _looked_at(job: Job, built: Built, state: State, error: str, keyframes: dict[int, Arrays], began: float) -> Result:
    """Return the result of a run at its end."""
    run = built.run
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
        loss = float(RunSource(run).whole_loss())
    remembers = state == "done" and (run.optimizer.state or run.optimizer.lr_schedule is not None)
    state_of_rule, rule = (optimizer_state(run), said_of_run(run)) if remembers else ({}, "")
    return Result(
        job.number, job.labels, job.seed, state, run.steps, loss,
        _metrics(built, state), _reached(built, state), _curve(run), run.state_dict(), keyframes,
        time.perf_counter() - began, f"{run.engine.name}, {processor_type()}", job.tries, error, state_of_rule, rule,
    )  # fmt: skip


def _curve(run: Run) -> NDArray[np.float64]:
    """Return the losses of all steps, scaled to all samples: a sum over a batch is smaller by its share."""
    source = RunSource(run)
    facts = source.facts
    share = facts.batch_size / facts.samples if facts.reduction == "sum" else 1.0
    return thinned(run.history.step, np.asarray(run.history.loss) / share)


def _metrics(built: Built, state: State) -> dict[str, float]:
    """Return the numbers that the scene reports; empty if that fails for a diverged run."""
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            return built.metrics()
    except Exception:
        if state == "diverged":  # it was written for finite numbers
            return {}
        raise


def _reached(built: Built, state: State) -> bool | None:
    """Return whether the run reached the goal of its scene's story; None without a goal."""
    story = built.scene.story if built.scene is not None else None
    if story is None or story.reached is None:
        return None
    if state == "diverged":
        return False
    return bool(story.reached(Moment(built.run.frame(), RunSource(built.run))))
