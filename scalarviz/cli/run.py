"""One run from the command line: refuse, build, train (in a window or not), write, report."""

from __future__ import annotations

import json
import math
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SLOWER, DivergedError, ExpressionError, InputError, MissingDependencyError, ScalarvizError
from ..io import check_target
from ..io.weights import OPTIMIZER, checksum
from ..run.checkpoint import optimizer_state
from ..run.scene.scene_file import WRITER, LoadedScene, settled
from .console import Progress, fail, number_of, say, tell
from .pictures import Outputs, check_heard, check_look, check_moment, plan_outputs
from .recording import Taken, check_recording
from .stop import Stop
from .window import InWindow, wants_window

if TYPE_CHECKING:
    from ..run.run import Run
    from ..run.scene.scene import Scene


@dataclass(slots=True)
class Ending:
    """What a run left.

    Attributes
    ----------
    began : tuple
        What a file of weights would have held at the start (:func:`_content`); empty where none is to be written.
    seconds : float
    error : Exception or None
        What stopped the training.
    saved : bool
        Whether the weights had their turn.
    outputs : Outputs or None
        The film and the pictures; None after a window.
    written : list of Path
    failures : list of str
        Why something is missing that was asked for.
    recording : Taken or None
    """

    began: tuple[object, ...] = ()
    seconds: float = 0.0
    error: Exception | None = None
    saved: bool = False
    outputs: Outputs | None = None
    written: list[Path] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    recording: Taken | None = None

    def tell(self) -> None:
        """Say what was written, and what is missing."""
        for path in self.written:
            say(f"wrote {path}")
        for line in self.failures:
            fail(line)


def run_scene(loaded: LoadedScene, options: Any) -> int:
    """Train a scene as its options say; returns the exit code.

    Everything that would stop a file from being written afterwards is said before the training begins. Ctrl-C, SIGTERM
    and SIGHUP end the training at the next boundary of a step; what was asked for is written all the same. After a
    second one it is only the weights.
    """
    if options.save:
        check_target(options.save)
    check_heard(options)
    check_look(options)
    check_recording(options)
    window = InWindow(options) if wants_window(options) else None
    outputs = plan_outputs(loaded.name, options) if window is None else None
    scene = built(loaded, options)
    options = settled(scene, options)
    set_breakpoints(scene.run, options.break_on)
    check_moment(options, scene.run.steps)
    if window is not None:
        window.options = options
    ending = Ending(outputs=outputs, began=_content(scene.run) if options.save else ())
    with Stop() as stop, Taken(scene, options, stop) as taken:
        ending.recording = taken
        for line in [*scene.notes, _engine_line(loaded.name, scene, options.threads)]:
            say(line)
        try:
            code = _train_and_write(loaded, scene, options, window, stop, ending)
        except KeyboardInterrupt:
            code = _hurried(scene, options, stop, ending)
        taken.close()
        return taken.code(code)


def built(loaded: LoadedScene, options: Any) -> Scene:
    """The scene of some options, as it begins."""
    scene = loaded.begun(options)
    if options.load and scene.run.lr == 0:
        say(f"{scene.name}: the learning rate in {options.load} is 0, its schedule has ended: nothing will move")
    return scene


def _train_and_write(
    loaded: LoadedScene, scene: Scene, options: Any, window: InWindow | None, stop: Stop, ending: Ending
) -> int:
    if window is None or not _in_window(window, scene, options, stop, ending):
        ending.outputs = ending.outputs or plan_outputs(loaded.name, options)
        _without_window(scene, options, ending.outputs, stop, ending)
    if ending.error is not None:
        with stop.held():
            return _stopped_by(ending.error, scene, options, ending)
    _write(loaded, scene, options, stop, ending)
    _report(loaded, scene, options.json_line, ending)
    if stop:
        say(f"scalarviz: {stop.word}{'; the files were written' if ending.written else ''}")
    at = None if window is not None else scene.run.stopped_by
    if at is not None:
        say(f"{scene.name}: stopped by {at}")
    for line in ending.failures:
        fail(line)
    return 2 if ending.failures else stop.code or (AT_A_BREAKPOINT if at is not None else 0)


def _hurried(scene: Scene, options: Any, stop: Stop, ending: Ending) -> int:
    """After a second signal: the weights, a line that says what is there, and the exit code."""
    if stop.cut and options.save and not ending.saved:
        ending.failures.append(f"{options.save} was not written, since a step was interrupted")
    else:
        _save(scene, options, stop, ending)
    ending.tell()
    say(f"scalarviz: {stop.word} again; nothing {'else ' if ending.written else ''}was written")
    return stop.code


def _engine_line(name: str, scene: Scene, threads: int | None = None) -> str:
    """Which engine and why; also why there are fewer threads than asked for."""
    run, why = scene.run, scene.run.engine.why
    if threads is not None and run.engine.threads < threads:
        more = "more do not pay or are not there" if run.engine.name == "numba" else "only numba takes more"
        why += f"; of {threads} threads asked for, {more}"
    return f"{name}: {run.engine} ({why})"


def _in_window(window: InWindow, scene: Scene, options: Any, stop: Stop, ending: Ending) -> bool:
    """Train in a window; False (and a line that says why) if there can be none."""
    reason = window.refusal()
    if stop:  # Ctrl-C in a terminal ends the process that was to find out, too
        return True
    start = time.perf_counter()
    if not reason:
        try:
            ending.error = window.train(scene, stop, lambda lost: _stopped_by(lost, scene, options, ending))
            ending.seconds = time.perf_counter() - start
            return True
        except MissingDependencyError as missing:
            reason = str(missing)
    say(f"{scene.name}: a film and a picture instead of a window: {reason}")
    return False


def _without_window(scene: Scene, options: Any, outputs: Outputs, stop: Stop, ending: Ending) -> None:
    for line in outputs.notes:
        say(line)
    start = time.perf_counter()
    try:
        _train(scene, options.steps, outputs, stop, lambda: _save(scene, options, stop, ending))
    except Exception as stopped_by:  # whatever it is, what was learnt until then is kept
        ending.error = stopped_by
    ending.seconds = time.perf_counter() - start


def _train(scene: Scene, steps: int, outputs: Outputs, stop: Stop, save: Callable[[], None]) -> None:
    """Train to the last step or a signal, and save before the film is closed, which takes a while."""
    run = scene.run
    last = run.steps + steps

    def goes_on(run: Any) -> bool:
        bar.update(run.steps, f"loss {_loss(scene):.5f}")
        return not stop

    with Progress(scene.name, run.steps, last) as bar, outputs.film(scene, steps, lambda: bool(stop)) as stops:
        try:
            for step in stops:
                with stop.whole():
                    run.step(step - run.steps, progress=goes_on)
                if not goes_on(run) or run.stopped_by is not None:
                    break
        except KeyboardInterrupt:
            if not stop.cut:
                save()
            raise
        save()


def _stopped_by(error: Exception, scene: Scene, options: Any, ending: Ending) -> int:
    """Say what stopped the training and at which step, and keep the weights if they are worth it; the exit code 2."""
    step, said = scene.run.steps, str(error)
    if not isinstance(error, ScalarvizError):
        traceback.print_exception(error)  # a defect, of a scene or of ours
        said = f"training stopped after step {step:,}: {type(error).__name__}: {error}"
    elif isinstance(error, DivergedError):  # which names its step
        if error.good is not None and hasattr(options, "lr") and scene.run.lr:
            said = f"{error.fact}; {SLOWER} of it, as --lr {scene.run.lr / 10:.3g}"
    else:
        said = f"training stopped after step {step:,}: {error}"
    if not ending.saved:
        _keep(scene, options, ending, diverged=isinstance(error, DivergedError))
    if ending.recording is not None:  # the process may end with its display
        ending.recording.close()
    ending.tell()
    return fail(said)


def _save(scene: Scene, options: Any, stop: Stop, ending: Ending) -> None:
    """Write the weights, once, and let no signal interrupt that."""
    with stop.held():
        if not ending.saved:
            _keep(scene, options, ending)


def _keep(scene: Scene, options: Any, ending: Ending, diverged: bool = False) -> None:
    ending.saved = True
    if not options.save:
        return
    if options.save.exists() and _content(scene.run) == ending.began:
        say(f"{scene.name}: {options.save} is as it was, since no step was done and nothing was edited")
        return
    if diverged or not np.isfinite(scene.run.values).all():
        was = "; the file is as it was" if options.save.exists() else ""
        say(f"{scene.name}: {options.save} was not written, since the training diverged{was}")
        return
    try:
        scene.run.save(options.save, {WRITER: scene.name})
        ending.written.append(options.save)
    except ScalarvizError as error:
        ending.failures.append(str(error))
        ending.written += _saved_elsewhere(scene, options.save.name)


def _saved_elsewhere(scene: Scene, name: str) -> list[Path]:
    """Where a name cannot be written any more (a full disk): the weights in the system's folder for such files."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="scalarviz-"))
    except OSError:  # there is none, or it is full as well: the failure that is told already is the whole truth
        return []
    try:
        scene.run.save(folder / name, {WRITER: scene.name})
    except ScalarvizError:
        with suppress(OSError):
            folder.rmdir()
        return []
    return [folder / name]


def _content(run: Run) -> tuple[object, ...]:
    """What a file of weights holds of a run: equal tuples, equal files."""
    numbers = checksum({**run.state_dict(), **{f"{OPTIMIZER}{n}": a for n, a in optimizer_state(run).items()}})
    return run.steps, run.optimizer.hyperparameters(), numbers


def _write(loaded: LoadedScene, scene: Scene, options: Any, stop: Stop, ending: Ending) -> None:
    """Write what was asked for, the weights first; what cannot be written keeps nothing else from it."""
    _save(scene, options, stop, ending)
    if ending.outputs is not None:
        ending.written += ending.outputs.pictures(scene)
        ending.failures += ending.outputs.failures
    try:
        ending.written += loaded.finish(scene, options)
    except ScalarvizError as error:
        ending.failures.append(str(error))


def _report(loaded: LoadedScene, scene: Scene, as_json: bool, ending: Ending) -> None:
    run, name = scene.run, loaded.name
    rate = run._training.steps_per_second
    try:
        more = loaded.report(scene)
    except ScalarvizError as error:
        more = {}
        ending.failures.append(str(error))
    told = "".join(f", {what} {_said(number)}" for what, number in more.items())
    paced = "" if math.isnan(rate) else f", {rate:,.0f} steps/s"  # none yet, or none since another engine took over
    lost = f", loss {_loss(scene):.5g}" if len(run.history) else ""  # none of these numbers yet: NaN would be a lie
    say(f"{name}: step {run.steps:,}{lost}{told}{paced}, {ending.seconds:.1f} s in all")
    for path in ending.written:
        say(f"wrote {path}")
    if as_json:
        line = {
            "scene": name,
            "steps": run.steps,
            "loss": number_of(_loss(scene)),
            "weights": run.n_weights,
            "engine": run.engine.name,
            "dtype": run.dtype,
            "seed": run.seed,
            "steps_per_s": number_of(rate, 1),
            "seconds": number_of(ending.seconds, 3),
            **what_stopped(run),
            **{what: number_of(number) for what, number in more.items()},
        }
        try:
            tell(json.dumps(line, allow_nan=False))
        except InputError as error:
            ending.failures.append(str(error))


def _loss(scene: Scene) -> float:
    """What is told as the loss: of the last step, or of all samples."""
    from ..run.sources.run_source import RunSource

    return RunSource(scene.run).whole_loss() if scene.whole_loss else scene.run.loss


def _said(number: float) -> str:
    """A count in full, any other number in four digits."""
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}"


AT_A_BREAKPOINT = 3
"""The exit code of a run without a window that a breakpoint stopped."""


def set_breakpoints(run: Run, conditions: Sequence[str]) -> None:
    """Set one for each condition.

    Raises
    ------
    ExpressionError
        One cannot be read; the message names the flag.
    """
    for condition in conditions:
        try:
            run.break_on(condition)
        except ExpressionError as error:
            said = str(error).replace("break_on:", "--break:", 1)
            raise ExpressionError(said, error.text, error.place) from None


def what_stopped(run: Run) -> dict[str, object]:
    """For ``--json``, where there are breakpoints: what stopped the run (None: nothing), and how often each was hit."""
    if not len(run.breakpoints):
        return {}
    hits = {point.text: point.hits for point in run.breakpoints}
    return {"stopped_by": None if run.stopped_by is None else str(run.stopped_by), "hits": hits}
