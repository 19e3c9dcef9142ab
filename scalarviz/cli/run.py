"""One run from the command line: check, build, train (in a window or not), write, report."""

from __future__ import annotations

import json
import math
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SLOWER, DivergedError, ExpressionError, InputError, MissingDependencyError, ScalarvizError
from ..io import check_target
from ..io.weights import OPTIMIZER, checksum
from ..run.run import Run
from ..run.scene.scene import Scene
from ..run.scene.scene_file import WRITER, LoadedScene, settled
from ..run.state import optimizer_state
from .console import Progress, fail, number_of, say, tell
from .pictures import Outputs, check_look, check_moment, check_unused_flags, films_one_step, plan_outputs
from .recording import RunRecording, begin_recording, check_recording
from .stop import StopSignals
from .window import InWindow, wants_window

if TYPE_CHECKING:
    from ..run.panels import HeldOut, TestCurve


def run_scene(loaded: LoadedScene, options: Any) -> int:
    """Train a scene with its options; return the exit code.

    Errors that would prevent a file are reported before the training begins. Ctrl-C, SIGTERM and SIGHUP end the
    training after the current step, and all files are still written. After a second signal only the weights are.
    """
    if options.save:
        check_target(options.save)
    check_unused_flags(options)
    check_look(options)
    check_recording(options, alone=options.headless and not options.out)
    window = InWindow(options) if wants_window(options) else None
    outputs = plan_outputs(loaded.name, options) if window is None else None
    scene = built(loaded, options)
    options = settled(scene, options)
    set_breakpoints(scene, options.break_on)
    check_moment(options, scene.run.steps)
    if films_one_step(options) and options.at is not None:  # which ends the run
        options = options.model_copy(update={"steps": options.at - scene.run.steps})
    if window is not None:
        window.options = options
    with (
        StopSignals() as stop,
        RunRecording(scene.name, scene.run.n_weights, begin_recording(scene, options), options, stop) as taken,
    ):
        training = Training(loaded, scene, options, stop, taken, outputs)
        for line in [*scene.notes, _engine_line(loaded.name, scene, options.threads)]:
            say(line)
        try:
            code = training.train_and_write(window)
        except KeyboardInterrupt:
            code = training.hurried()
        taken.close()
        return taken.code(code)


def built(loaded: LoadedScene, options: Any) -> Scene:
    """Build the scene with some options."""
    scene = loaded.build_loaded(options)
    if options.load and scene.run.lr == 0:
        say(f"{scene.name}: the learning rate in {options.load} is 0, as its schedule has ended; no weight will change")
    return scene


def _engine_line(name: str, scene: Scene, threads: int | None = None) -> str:
    """Return the engine and its reason; also why it uses fewer threads than asked for."""
    run, why = scene.run, scene.run.engine.why
    if threads is not None and run.engine.threads < threads:
        more = "more are not faster, or not available" if run.engine.name == "numba" else "only numba takes more"
        why += f"; you asked for {threads} threads: {more}"
    return f"{name}: {run.engine} ({why})"


class Training:
    """One run from its first step to its last file; `outputs` are films and pictures, None with a window."""

    def __init__(
        self,
        loaded: LoadedScene,
        scene: Scene,
        options: Any,
        stop: StopSignals,
        taken: RunRecording,
        outputs: Outputs | None,
    ) -> None:
        self.loaded, self.scene, self.options = loaded, scene, options
        self.stop, self.recording, self.outputs = stop, taken, outputs
        self.began = _content(scene.run) if options.save else ()
        self.seconds, self.saved = 0.0, False
        self.written: list[Path] = []
        self.failures: list[str] = []

    def train_and_write(self, window: InWindow | None) -> int:
        """Train in the window, or without one if there is none; write all files; return the exit code."""
        try:
            error = self._without_window() if window is None else self._in_window(window)
        except MissingDependencyError as missing:  # of the window
            say(f"{self.scene.name}: no window can open: {missing}")
            error = self._without_window()
        if error is not None:
            with self.stop.protect_writing():
                return self._stopped_by(error)
        self._write()
        self._report()
        if self.stop:
            say(f"scalarviz: {self.stop.word}{'; the files are written' if self.written else ''}")
        at = None if window is not None else self.scene.run.stopped_by
        if at is not None:
            say(f"{self.scene.name}: stopped by {at}")
        for line in self.failures:
            fail(line)
        return 2 if self.failures else self.stop.code or (AT_A_BREAKPOINT if at is not None else 0)

    def hurried(self) -> int:
        """After a second signal: save the weights, print the files, and return the exit code."""
        if self.stop.cut and self.options.save and not self.saved:
            self.failures.append(f"{self.options.save} was not written, because a step was interrupted")
        else:
            self._save()
        self._say_files()
        say(f"scalarviz: {self.stop.word} again; nothing {'else ' if self.written else ''}was written")
        return self.stop.code

    def _in_window(self, window: InWindow) -> Exception | None:
        """Train in a window; return the error that stopped the training. MissingDependencyError: no window can open."""
        reason, start = window.probe.reason(), time.perf_counter()
        if self.stop:  # Ctrl-C in a terminal also ends the process that tries Qt
            return None
        if reason:
            raise MissingDependencyError(reason)
        error = window.train(self.scene, self.stop, self._stopped_by)
        self.seconds = time.perf_counter() - start
        return error

    def _without_window(self) -> Exception | None:
        """Train to the last step or a signal; save the weights before closing the film, which takes a while."""
        outputs = self.outputs = self.outputs or plan_outputs(self.loaded.name, self.options)
        for line in outputs.notes:
            say(line)
        scene, run, steps = self.scene, self.scene.run, self.options.steps
        start = time.perf_counter()

        def continue_run(run: Any) -> bool:
            bar.update(run.steps, f"loss {_loss(scene)[0]:.5f}")
            return not self.stop

        try:
            with (
                Progress(scene.name, run.steps, run.steps + steps) as bar,
                outputs.film(scene, steps, lambda: bool(self.stop)) as stops,
            ):
                try:
                    for step in stops:
                        with self.stop.protect_step():
                            run.step(step - run.steps, progress=continue_run)
                        if not continue_run(run) or run.stopped_by is not None:
                            break
                except KeyboardInterrupt:
                    if not self.stop.cut:
                        self._save()
                    raise
                self._save()
        except Exception as error:  # after any error, the weights so far are kept
            return error
        finally:
            self.seconds = time.perf_counter() - start
        return None

    def _stopped_by(self, error: Exception) -> int:
        """Report the error that stopped the training, save the weights if they are good, and return the exit code 2."""
        run, step, said = self.scene.run, self.scene.run.steps, str(error)
        if not isinstance(error, ScalarvizError):
            traceback.print_exception(error)  # a defect, of a scene or of ours
            said = f"training stopped after step {step:,}: {type(error).__name__}: {error}"
        elif isinstance(error, DivergedError):  # the error names its step
            if error.good is not None and hasattr(self.options, "lr") and run.lr:
                said = f"{error.fact}; {SLOWER}: --lr {run.lr / 10:.3g}"
        else:
            said = f"training stopped after step {step:,}: {error}"
        if not self.saved:
            self._save_weights(diverged=isinstance(error, DivergedError))
        if self.outputs is not None and isinstance(error, DivergedError):  # they show the run up to there
            self.written += self.outputs.pictures(self.scene)
            self.failures += self.outputs.failures
        self.recording.close()  # the process may end with its display
        self._say_files()
        return fail(said)

    def _save(self) -> None:
        """Write the weights, once, without interruption by a signal."""
        with self.stop.protect_writing():
            if not self.saved:
                self._save_weights()

    def _save_weights(self, diverged: bool = False) -> None:
        self.saved = True
        scene, path = self.scene, self.options.save
        if not path:
            return
        if path.exists() and _content(scene.run) == self.began:
            say(f"{scene.name}: {path} is unchanged: no step was done and nothing was edited")
            return
        if diverged or not np.isfinite(scene.run.values).all():
            was = "; the old file is unchanged" if path.exists() else ""
            say(f"{scene.name}: {path} was not written, because training diverged{was}")
            return
        try:
            scene.run.save(path, {WRITER: scene.name})
            self.written.append(path)
        except ScalarvizError as error:
            self.failures.append(str(error))
            self.written += _saved_elsewhere(scene, path.name)

    def _write(self) -> None:
        """Write all files, the weights first; one that fails does not stop the others."""
        self._save()
        if self.outputs is not None:
            self.written += self.outputs.pictures(self.scene)
            self.failures += self.outputs.failures
        try:
            self.written += self.loaded.finish(self.scene, self.options)
        except ScalarvizError as error:
            self.failures.append(str(error))

    def _say_files(self) -> None:
        """Print the written files, and the missing ones."""
        for path in self.written:
            say(f"wrote {path}")
        for line in self.failures:
            fail(line)

    def _report(self) -> None:
        """Print the results and the written files, and if asked for, one line of JSON."""
        run, name = self.scene.run, self.loaded.name
        rate = run._training.steps_per_second
        try:
            more = self.loaded.report(self.scene)
        except ScalarvizError as error:
            more = {}
            self.failures.append(str(error))
        told = "".join(f", {what} {_number_words(number)}" for what, number in more.items())
        paced = "" if math.isnan(rate) else f", {rate:,.0f} steps/s"  # none yet, or none since the engine changed
        loss, of = _loss(self.scene)
        lost = f", loss {loss:.5g} {of}" if len(run.history) else ""  # without steps, no loss is printed
        say(f"{name}: step {run.steps:,}{lost}{told}{paced}, {self.seconds:.1f} s in all")
        for path in self.written:
            say(f"wrote {path}")
        if not self.options.json_line:
            return
        line = {
            "scene": name,
            "steps": run.steps,
            "loss": number_of(loss),
            "loss_of": of.removeprefix("of "),
            "weights": run.n_weights,
            "engine": run.engine.name,
            "dtype": run.dtype,
            "seed": run.seed,
            "steps_per_s": number_of(rate, 1),
            "seconds": number_of(self.seconds, 3),
            **what_stopped(run),
            **{what: number_of(number) for what, number in more.items()},
        }
        try:
            tell(json.dumps(line, allow_nan=False))
        except InputError as error:
            self.failures.append(str(error))


def _saved_elsewhere(scene: Scene, name: str) -> list[Path]:
    """Save the weights in the system's temporary folder if their path cannot be written any more (a full disk)."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="scalarviz-"))
    except OSError:  # none, or full as well: the printed failure is complete
        return []
    try:
        scene.run.save(folder / name, {WRITER: scene.name})
    except ScalarvizError:
        with suppress(OSError):
            folder.rmdir()
        return []
    return [folder / name]


def _content(run: Run) -> tuple[object, ...]:
    """Return the content of a file of weights: equal tuples, equal files."""
    numbers = checksum({**run.state_dict(), **{f"{OPTIMIZER}{n}": a for n, a in optimizer_state(run).items()}})
    return run.steps, run.optimizer.hyperparameters(), numbers


def _loss(scene: Scene) -> tuple[float, str]:
    """Return the loss of the current weights, as pictures show it, and words for its samples."""
    from ..run.source import Moment, RunSource

    source = RunSource(scene.run)
    return Moment(scene.run.frame(), source).shown_loss(scene.whole_loss), source.facts.loss_of(scene.whole_loss)


def _tested(run: Run, tests: Sequence[TestCurve | HeldOut]) -> float:
    """Return the loss of the current weights on the first held-out data; NaN without any."""
    from ..run.source import Moment, RunSource

    moment = Moment(run.frame(), RunSource(run))
    inputs, targets = tests[0].of(moment)
    return moment.evaluate(inputs, targets) if len(inputs) else float("nan")


def _number_words(number: float) -> str:
    """Return a count in full, any other number in four digits."""
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}"


AT_A_BREAKPOINT = 3
"""Exit code of a run without a window that stopped at a breakpoint."""


def set_breakpoints(scene: Scene, conditions: Sequence[str]) -> None:
    """Set a breakpoint for each condition on what the header shows; an ExpressionError names the flag."""
    from ..run.panels import LossCurve

    run = scene.run
    tests = [panel.test for panel in scene.panels if isinstance(panel, LossCurve) and panel.test is not None]
    run._losses = {"loss": lambda: _loss(scene)[0]} | ({"test_loss": lambda: _tested(run, tests)} if tests else {})
    run._names = None
    for condition in conditions:
        try:
            run.break_on(condition)
        except ExpressionError as error:
            said = str(error).replace("break_on:", "--break:", 1)
            raise ExpressionError(said, error.text, error.place) from None


def what_stopped(run: Run) -> dict[str, object]:
    """Return, for ``--json``, the breakpoint that stopped the run (or None) and the hits of each; empty without any."""
    if not len(run.breakpoints):
        return {}
    hits = {point.text: point.hits for point in run.breakpoints}
    return {"stopped_by": None if run.stopped_by is None else str(run.stopped_by), "hits": hits}
