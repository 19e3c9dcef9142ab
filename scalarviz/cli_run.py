"""One run from the command line: refuse, build, train, write, report."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cli_console import Progress, fail, say
from .cli_pictures import Outputs, plan_outputs
from .cli_scene import LoadedScene
from .io import check_target

if TYPE_CHECKING:
    from .run.scene import Scene

INTERRUPTED = 130


def run_scene(loaded: LoadedScene, options: Any) -> int:
    """Train a scene as its options say; returns the exit code.

    Everything that would stop a file from being written afterwards is said before the training begins. Ctrl-C ends the
    training at the next boundary of a step; what was asked for is written all the same.
    """
    if options.save:
        check_target(options.save)
    outputs = plan_outputs(loaded.name, options)
    scene: Scene = loaded.module.build(options)
    if options.load:
        scene.run.load(options.load)
    for line in [*scene.notes, *outputs.notes, _engine_line(loaded.name, scene)]:
        say(line)
    start = time.perf_counter()
    with _stop_on_interrupt() as stopped:
        _train(scene, options.steps, outputs, stopped)
    seconds = time.perf_counter() - start
    written = _write(loaded, scene, options, outputs)
    _report(loaded.name, scene, seconds, options.json_line, written)
    if stopped.is_set():
        say("scalarviz: interrupted; the files were written")
        return INTERRUPTED
    return fail(outputs.refused) if outputs.refused else 0


def _engine_line(name: str, scene: Scene) -> str:
    """Which engine and why; also why nothing moves for a while."""
    from .engine.cpu import cache_is_warm

    run = scene.run
    compiling = run.engine.name == "numba" and not cache_is_warm(run.dtype, ())
    return f"{name}: {run.engine} ({run.engine.why}{'; compiling its kernels, once' if compiling else ''})"


@contextmanager
def _stop_on_interrupt() -> Iterator[threading.Event]:
    """The first Ctrl-C sets the event, so that no step is cut in two; the second one interrupts at once."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped  # signals belong to the main thread
        return

    def stop(number: int, frame: Any) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    former = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, former)


def _train(scene: Scene, steps: int, outputs: Outputs, stopped: threading.Event) -> None:
    run = scene.run
    last = run.steps + steps

    def goes_on(run: Any) -> bool:
        bar.update(run.steps, f"loss {run.loss:.5f}")
        return not stopped.is_set()

    with Progress(scene.name, run.steps, last) as bar, outputs.film(scene, steps) as stops:
        for step in stops:
            run.step(step - run.steps, progress=goes_on)
            if not goes_on(run):
                break


def _write(loaded: LoadedScene, scene: Scene, options: Any, outputs: Outputs) -> list[Path]:
    """Write what was asked for, the weights first; returns the files."""
    written = []
    if options.save:
        scene.run.save(options.save)
        written.append(options.save)
    written += outputs.pictures(scene)
    finish = getattr(loaded.module, "finish", None)
    if finish is not None:
        written += finish(scene, options)
    return written


def _report(name: str, scene: Scene, seconds: float, as_json: bool, written: list[Path]) -> None:
    run = scene.run
    rate = run.steps_per_second
    say(f"{name}: step {run.steps:,}, loss {run.loss:.5g}, {rate:,.0f} steps/s, {seconds:.1f} s in all")
    for path in written:
        say(f"wrote {path}")
    if as_json:
        line = {
            "scene": name,
            "steps": run.steps,
            "loss": _number(run.loss),
            "weights": run.n_weights,
            "engine": run.engine.name,
            "dtype": run.dtype,
            "seed": run.seed,
            "steps_per_s": _number(rate, 1),
            "seconds": _number(seconds, 3),
        }
        print(json.dumps(line, allow_nan=False), flush=True)


def _number(value: float, digits: int | None = None) -> float | None:
    """JSON has no NaN."""
    if not math.isfinite(value):
        return None
    return float(value) if digits is None else round(float(value), digits)
