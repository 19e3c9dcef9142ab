"""What a fresh process takes, from the start of Python: time until something is there, compile times, and memory.

* ``startup``: to the first trained step of 3-16-16-3 (Adam, 1,024 samples), to the help, to a picture; beside PyTorch
  and JAX.
* ``scenes_start``: to the first picture (1280 x 720, offscreen) of each scene and of the wall of all. A desktop adds
  what its window system takes.
* ``compile_times``: once the cache is full a new shape and a new expression must neither run the compiler nor add a
  file; and what recording and lowering a large layer takes.
* ``memory``: the peak of processes that train, as the system counts it. Ten million weights are a layer of 3162 x 3162
  with bias, three steps of Adam on 64 samples.
"""

from __future__ import annotations

import importlib
import statistics
import time
from typing import Any

from _timing import (
    SCALARVIZ,
    Found,
    at_most,
    benchmark,
    child,
    command_of,
    fresh,
    fresh_in_turns,
    main,
    pin_threads,
    say,
    seconds_of,
    timings_of,
)  # fmt: skip

SMALL, LARGE = "3-16-16-3", "ten million weights"


# ---- a first step


@child
def first_step(who: str, workload: str, steps: str = "1") -> None:
    """Train; the line comes after the first step."""
    pin_threads()
    import _contestants as by
    from _workloads import named

    importlib.import_module({"scalarviz": "scalarviz.run.run", "JAX": "jax.numpy"}.get(who, "torch"))
    work, engine = named(workload), who
    if who == "scalarviz":
        run = by.build(work, "auto")
        some, engine = by.steps_of(run), run.engine.name
    else:
        some = by.jax_steps(work) if who == "JAX" else by.torch_steps(work)
    some(1)
    say(engine=engine)
    if int(steps) > 1:
        some(int(steps) - 1)


WARM = "scalarviz: first trained step, warm cache"
PICTURE = "scalarviz rgb --headless --steps 100 --out x.png"
SECONDS_ASKED = {WARM: 1.0, "scalarviz --help": 0.4, PICTURE: 2.5}


@benchmark("numpy numba torch jax vispy", "one start")
def startup(quick: bool) -> Found:
    fresh((*SCALARVIZ, "warmup"))
    commands = {
        "scalarviz --help": (*SCALARVIZ, "--help"),
        WARM: command_of(first_step, "scalarviz", SMALL),
        PICTURE: (*SCALARVIZ, *PICTURE.split()[1:]),
        "PyTorch: first trained step": command_of(first_step, "PyTorch", SMALL),
        "JAX: first trained step, jit": command_of(first_step, "JAX", SMALL),
    }
    found = fresh_in_turns(commands, 1 if quick else 5)
    if trained := {ended.json()["engine"] for ended in found[WARM]} - {"numba"}:
        raise SystemExit(f"the first step was trained by {', '.join(trained)}, not by numba")
    timings = seconds_of(found)
    return timings, {"goals": {name: at_most(timings[name].median, s, "s") for name, s in SECONDS_ASKED.items()}}


# ---- first pictures


@child
def scenes() -> None:
    """Names of the package's scenes, in a process of their own: this one has to stay small."""
    from scalarviz.cli.main import scene_names

    say(names=list(scene_names()))


@child
def first_picture(name: str) -> None:
    """Draw the first picture of a scene, or of the wall of all, as its window would; say how many colours it has."""
    import numpy as np

    from scalarviz.view.out.offscreen import offscreen

    size = 1280, 720
    with offscreen():
        if name == "wall":
            from scalarviz.cli.tour import make_scene_wall

            view: Any = make_scene_wall().appear(size)
        else:
            from scalarviz.run.scene.scene_file import load_scene
            from scalarviz.view.watch.live import LiveView

            loaded = load_scene(name)
            view = LiveView(loaded.build(loaded.options()), size, wait=None)
            view.tick(1 / 60)
    picture = offscreen().render(view.draw, size)
    say(colours=len(np.unique(picture.reshape(-1, picture.shape[-1])[::97], axis=0)))
    view.close()


@benchmark("numpy numba vispy", "one start")
def scenes_start(quick: bool) -> Found:
    fresh((*SCALARVIZ, "warmup"))
    names = fresh(command_of(scenes)).json()["names"]
    commands = {f"{name}: first cubes": command_of(first_picture, name) for name in names}
    commands["wall of all scenes: first picture"] = command_of(first_picture, "wall")
    found = fresh_in_turns(commands, 1 if quick else 5)
    for what, ended in found.items():
        if min(process.json()["colours"] for process in ended) < 8:
            raise SystemExit(f"{what}: the picture is empty")
    timings = seconds_of(found)
    return timings, {"goals": {what: at_most(timing.median, 2.0, "s") for what, timing in timings.items()}}


# ---- compile times


@child
def new() -> None:
    """A shape and an expression that nobody had before, in a process that has trained: say what compiles."""
    import _contestants as by
    import numba.core.event as events
    from _workloads import Workload, named

    from scalarviz.engine.cpu import units as cache
    from scalarviz.engine.cpu.loader import warmup

    warmup(("float32",))
    by.build(named(SMALL), "numba").step(1)
    files = set(cache.folder().rglob("*"))
    with events.install_recorder("numba:run_pass") as passes:
        by.build(Workload("", (5, 7, 11, 2), "relu", "sigmoid", "Adam", 333), "numba").step(1)
        _new_expression().step(1)
    added = len(set(cache.folder().rglob("*")) - files)
    say(compiled=len(passes.buffer) + added)


def _new_expression() -> Any:
    import numpy as np

    import scalarviz as sv
    from scalarviz import Run, nn, optim

    weights = [sv.Weight(w) for w in (0.3, -0.2, 0.7)]
    a, b, c = weights

    def expression(x: Any) -> Any:
        return [((a * x[0]).softplus() * (b * x[1]).cos() + (c * x[0] * x[1]).tanh() ** 2 + (x[1] - a).exp()).log()]

    x = np.random.default_rng(0).random((100, 2))
    return Run(expression, nn.MSELoss(), optim.SGD(weights, lr=0.01), (x, x[:, :1]), engine="numba")


@child
def large() -> None:
    """Record and lower ``nn.Linear(1024, 1024)``."""
    from scalarviz import nn
    from scalarviz.tape import lower, trace

    layer, loss = nn.Linear(1024, 1024, seed=0), nn.MSELoss()
    start = time.perf_counter()
    tape = trace(layer, 1024, 1024, loss=loss)
    recorded = time.perf_counter()
    lower(tape.only(loss=True))
    say(record=recorded - start, lower=time.perf_counter() - recorded)


@benchmark("numpy numba llvmlite", "once")
def compile_times(quick: bool) -> Found:
    fresh((*SCALARVIZ, "warmup"))
    linear, said = "nn.Linear(1024, 1024): ", [fresh(command_of(large)).json() for _ in range(1 if quick else 3)]
    times = {linear + part: [one[part] for one in said] for part in ("record", "lower")}
    both = statistics.median(one["record"] + one["lower"] for one in said)
    goals = {
        f"{linear}record and lower": at_most(both, 1.0, "s"),
        "new shape and new expression": at_most(fresh(command_of(new)).json()["compiled"], 0, "compilations"),
    }
    return timings_of(times), {"goals": goals}


# ---- memory


@benchmark("numpy numba torch", "to the first step")
def memory(quick: bool) -> Found:
    fresh((*SCALARVIZ, "warmup"))
    size, peers = SMALL if quick else LARGE, {"scalarviz": "scalarviz", "PyTorch eager": "PyTorch"}
    found = {f"{size}: {name}": fresh(command_of(first_step, who, size, 3)) for name, who in peers.items()}
    peaks = {name: ended.peak for name, ended in found.items()}
    for name, peak in peaks.items():
        print(f"  {name:40} {peak / 1e9:8.3f} GB at its peak")
    ours = f"{size}: scalarviz"
    timings = seconds_of({name: [ended] for name, ended in found.items()})
    return timings, {"peak_bytes": peaks, "goals": {ours: at_most(peaks[ours] / 1e9, 4, "GB")}}


if __name__ == "__main__":
    main()
