"""`Job`: one run of a sweep, as an executor gets it; `compute` trains it.

Its run is built, also in another process, by a scene's name, by a scene's text, or by a function.
"""

from __future__ import annotations

import inspect
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, get_origin

import numpy as np
from numpy.typing import NDArray

from ..engine.cost import processor_type
from ..errors import DivergedError, InputError, ScalarvizError, TypeMismatchError, shown
from ..run.run import Run
from ..run.scene.scene import Scene
from ..run.scene.scene_file import LoadedScene, load_scene, scene_of_text, settled
from ..run.source import Moment, RunSource
from ..run.state import optimizer_state
from ..run.state import training_entries as said_of_run
from .result import Arrays, Label, Result, State, thinned


@dataclass(frozen=True, slots=True)
class Built:
    """A run that is ready to train, and its scene, if any."""

    run: Run
    scene: Scene | None = None
    loaded: LoadedScene | None = None
    steps: int | None = None  # if the scene computed another number, as from epochs

    def metrics(self) -> dict[str, float]:
        """Return the numbers that the scene reports."""
        if self.loaded is None or self.scene is None:
            return {}
        return {name: float(number) for name, number in self.loaded.report(self.scene).items()}


@dataclass(frozen=True, slots=True)
class SceneBuild:
    """A scene of the package, or of a file, with its own flags."""

    name: str
    text: str = ""  # the text of the file when the sweep began

    @property
    def loaded(self) -> LoadedScene:
        """The scene's module; loaded once per process."""
        return _loaded(self.name, self.text)

    def options(self, given: Mapping[str, Any], seed: int) -> Any:
        """Return the model of its options; one thread by default, since many runs share the processors."""
        model = self.loaded.options
        for name, value in given.items():  # an option that may be repeated, such as --pair, gets one value
            if isinstance(value, str) and get_origin(model.model_fields[name].annotation) is list:
                given = {**given, name: [value]}
        return model(**{"threads": 1, **given, "seed": seed})

    def built(self, given: Mapping[str, Any], seed: int) -> Built:
        """Build the scene with some options, ready to train."""
        options, loaded = self.options(given, seed), self.loaded
        scene = loaded.build_loaded(options)
        for condition in options.break_on:
            scene.run.break_on(condition)
        made = settled(scene, options)
        return Built(scene.run, scene, loaded, None if made.steps == options.steps else int(made.steps))


@lru_cache(maxsize=8)
def _loaded(name: str, text: str) -> LoadedScene:
    return scene_of_text(name, text) if text else load_scene(name)


@dataclass(frozen=True, slots=True)
class FunctionBuild:
    """A function that returns a Run or a Scene: ``function(seed=0, **options)``."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """Qualified name of the function."""
        return str(getattr(self.function, "__qualname__", type(self.function).__qualname__))

    @property
    def text(self) -> str:
        """Source of the function, or an empty text."""
        try:
            return inspect.getsource(self.function)
        except (OSError, TypeError):
            return ""

    def built(self, given: Mapping[str, Any], seed: int) -> Built:
        """Call the function with some options; TypeMismatchError if it returns neither a Run nor a Scene."""
        made = self.function(seed=seed, **{name: value for name, value in given.items() if name != "steps"})
        if isinstance(made, Scene):
            return Built(made.run, made)
        if isinstance(made, Run):
            return Built(made)
        raise TypeMismatchError(f"{self.name}(seed={seed}, ...) must return a Run or a Scene, got {shown(made)}")

    def check(self, names: list[str]) -> None:
        """Raise InputError if the function does not take the seed, or one of the options `names`."""
        try:
            taken = inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # a function without a signature
            return
        if "seed" in names:
            raise InputError(f"sweep: {self.name}() gets the seed from seeds=; leave out the option 'seed'")
        anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values())
        for name in ("seed", *names):
            if name not in taken and not anything:
                raise InputError(
                    f"sweep: {self.name}() takes no {name}=; the sweep calls {self.name}(seed=0"
                    f"{''.join(f', {n}=...' for n in names)}), which must return a Run"
                )


Build = SceneBuild | FunctionBuild


# ---- one run, and how it is computed


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
