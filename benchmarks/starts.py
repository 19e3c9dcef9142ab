"""What a fresh process takes, from the start of Python: time until something is there, compile times, and memory.

* ``startup``: to the first trained step of 3-16-16-3 (Adam, 1,024 samples), to the help, to a picture; beside PyTorch
  and JAX. "Empty cache" is somebody's very first start: the kernels that the network needs compile first.
* ``scenes_start``: to the first picture (1280 x 720, offscreen) of each scene and of the wall of all; the libraries
  alone; two scenes with ``PYTHONDONTWRITEBYTECODE=1``, where every source is compiled at every start. A desktop adds
  what its window system takes. The processor's seconds stand beside: a busy machine shows less there.
* ``compile_times``: `scalarviz warmup` fills an empty cache once, on all cores. From then on a new shape and a new
  expression must neither run the compiler nor add a file. JAX and PyTorch compile each network anew: what is compared
  is the time from the module being imported to the first trained step. PyTorch's first and later processes differ.
* ``memory``: the peak of processes that train, as the system counts it. Ten million weights are a layer of 3162 x 3162
  with bias, three steps of Adam on 64 samples. Bytes of one weight are those that Python's own count grows by.
"""

from __future__ import annotations

import importlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from _timing import (
    NO_BYTECODE,
    SCALARVIZ,
    Ended,
    Timing,
    at_most,
    benchmark,
    child,
    command_of,
    fresh,
    fresh_in_turns,
    main,
    pin_threads,
    say,
    timing_of,
    timings_of,
)  # fmt: skip

SMALL, LARGE, SIZE = "3-16-16-3", "ten million weights", (1280, 720)
IMPORTED = {
    "import scalarviz": (sys.executable, "-c", "import scalarviz; scalarviz.Run"),  # names are loaded when used
    "import torch": (sys.executable, "-c", "import torch"),
    "import jax": (sys.executable, "-c", "import jax"),
}
NOTHING = {"python -c pass": (sys.executable, "-c", "pass")}


# ---- a first step


@child
def first_step(who: str, workload: str, steps: str = "1") -> None:
    """Train; the line comes after the first step."""
    pin_threads()
    start = time.perf_counter()
    import _contestants as by
    from _workloads import named

    importlib.import_module({"scalarviz": "scalarviz.run.run", "JAX": "jax.numpy"}.get(who, "torch"))
    work, imported, engine = named(workload), time.perf_counter(), who
    if who == "scalarviz":
        run = by.build(work, "auto")
        some, engine = by.steps_of(run), run.engine.name
    else:
        some = by.jax_steps(work) if who == "JAX" else by.torch_steps(work, compiled=who == "compiled")
    some(1)
    say(engine=engine, imported=imported - start, trained=time.perf_counter() - imported)
    if int(steps) > 1:
        some(int(steps) - 1)


WARM, COLD = "scalarviz: first trained step, warm cache", "scalarviz: first trained step, empty cache"
PICTURE = "scalarviz rgb --headless --steps 100 --out x.png"
SECONDS_ASKED = {WARM: 1.0, "scalarviz --help": 0.4, PICTURE: 2.5}


@benchmark("numpy numba torch jax vispy", "one start")
def startup(quick: bool) -> tuple[dict[str, Timing], dict[str, Any]]:
    fresh((*SCALARVIZ, "warmup"))
    commands = {
        **NOTHING, **IMPORTED, "scalarviz --help": (*SCALARVIZ, "--help"),
        WARM: command_of(first_step, "scalarviz", SMALL),
        PICTURE: (*SCALARVIZ, *PICTURE.split()[1:]),
        "PyTorch: first trained step": command_of(first_step, "PyTorch", SMALL),
        "JAX: first trained step, jit": command_of(first_step, "JAX", SMALL),
    }  # fmt: skip
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory() as name:
        found = fresh_in_turns(commands, rounds, {}, Path(name))
        empty = [{"SCALARVIZ_CACHE_DIR": f"{name}/{k}"} for k in range(rounds)]
        found[COLD] = [fresh(commands[WARM], around) for around in empty]
    if trained := {ended.json()["engine"] for ended in found[WARM] + found[COLD]} - {"numba"}:
        raise SystemExit(f"the first step was trained by {', '.join(trained)}, not by numba")
    timings = seconds_of(found)
    return timings, {"goals": {name: at_most(timings[name].median, s, "s") for name, s in SECONDS_ASKED.items()}}


def seconds_of(found: Mapping[str, list[Ended]]) -> dict[str, Timing]:
    return timings_of({name: [one.seconds for one in ended] for name, ended in found.items()})


# ---- first pictures


@child
def scenes() -> None:
    """Names of the package's scenes, in a process of their own: this one has to stay small."""
    from scalarviz.cli.main import scene_names

    say(names=list(scene_names()))


@child
def first_picture(name: str) -> None:
    """Draw the first picture of a scene, or of the wall of all, as its window would, and read it back."""
    from scalarviz.view.window.unseen import Unseen

    if name == "wall":
        from scalarviz.cli.rooms import rooms

        found = rooms()
        make, close = found.wall, found.close
    else:
        from scalarviz.run.scene.scene_file import load_scene
        from scalarviz.view.watch.live import LiveView

        loaded = load_scene(name)
        scene = loaded.build(loaded.options())
        make, close = (lambda size: LiveView(scene, size, wait=None)), (lambda: None)
    host = Unseen(make, SIZE)
    host.pass_time(1 / 60)
    say_picture(host.picture())
    host.view.close()
    close()


@child
def bare_picture() -> None:
    """The least that a picture beside compiled training can take: the libraries, one function and one shader."""
    os.environ.setdefault("EGL_PLATFORM", "surfaceless")
    import numba
    import numpy as np
    from vispy import app, gloo

    @numba.njit(cache=True)
    def trained(weights, steps):  # type: ignore[no-untyped-def] # out of its cache, NUMBA_CACHE_DIR
        for _ in range(steps):
            for k in range(len(weights)):
                weights[k] -= 0.1 * weights[k]

    trained(np.ones(12, np.float32), 3)
    canvas = app.Canvas(app=app.Application("egl"), size=(16, 16), show=False, autoswap=False)
    canvas.set_current()
    gloo.gl.use_gl("gl2")
    program = gloo.Program(
        "attribute vec2 at; varying vec2 v; void main() { v = at; gl_Position = vec4(at, 0.0, 1.0); }",
        "varying vec2 v; void main() { gl_FragColor = vec4(v, 0.5, 1.0); }",
    )
    program["at"] = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)
    with gloo.FrameBuffer(gloo.Texture2D((*SIZE[::-1], 4)), gloo.RenderBuffer(SIZE[::-1])):
        gloo.set_viewport(0, 0, *SIZE)
        program.draw("triangle_strip")
        say_picture(gloo.read_pixels(alpha=False))


def say_picture(picture: Any) -> None:
    """How many colours it has, and what the processor worked until now."""
    import numpy as np

    spent = os.times()
    colours = len(np.unique(picture.reshape(-1, picture.shape[-1])[::97], axis=0))
    say(colours=colours, processor=spent.user + spent.system)


BARE, WALL = "numpy, numba, vispy alone: first picture", "wall of all scenes: first picture"


@benchmark("numpy numba vispy", "one start")
def scenes_start(quick: bool) -> tuple[dict[str, Timing], dict[str, Any]]:
    fresh((*SCALARVIZ, "warmup"))
    names = fresh(command_of(scenes)).json()["names"]
    asked = {f"{name}: first cubes": command_of(first_picture, name) for name in names}
    asked[WALL] = command_of(first_picture, "wall")
    anew = {f"{name}: first cubes, no bytecode kept": command_of(first_picture, name) for name in ("xor", "microgpt")}
    with tempfile.TemporaryDirectory() as place:
        environments = {what: {NO_BYTECODE: "1", "PYTHONPYCACHEPREFIX": f"{place}/none"} for what in anew}
        environments[BARE] = {"NUMBA_CACHE_DIR": f"{place}/numba"}
        commands = {**asked, **anew, BARE: command_of(bare_picture)}
        found = fresh_in_turns(commands, 1 if quick else 5, environments, Path(place))
    for what, ended in found.items():
        if min(process.json()["colours"] for process in ended) < 8:
            raise SystemExit(f"{what}: the picture is empty")
    worked = {
        what: round(statistics.median(process.json()["processor"] for process in ended), 3)
        for what, ended in found.items()
    }
    timings = seconds_of(found)
    goals = {what: at_most(timings[what].median, 2.0, "s") for what in asked}
    return timings, {"processor_seconds": worked, "goals": goals}


# ---- compile times


@child
def kernels() -> None:
    """Load every kernel of float32 from the cache."""
    from scalarviz.engine.cpu.loader import MAKERS
    from scalarviz.engine.cpu.wire import KERNELS
    from scalarviz.scalar.ops import TABLE

    start = time.perf_counter()
    for kind, names in {"kernel": KERNELS, "rows": tuple(TABLE)}.items():
        for name in names:
            MAKERS[kind](name, "float32")
    say(seconds=time.perf_counter() - start)


@child
def new() -> None:
    """A shape and an expression that nobody had before, in a process that has trained: what compiles, and seconds."""
    import _contestants as by
    import numba.core.event as events
    from _workloads import Workload, named

    from scalarviz.engine.cpu import units as cache
    from scalarviz.engine.cpu.loader import warmup

    def timed(build: Callable[[], Any]) -> dict[str, float]:
        start = time.perf_counter()
        run = build()
        built = time.perf_counter()
        run.step(1)
        return {"record, lower, encode": built - start, "first step": time.perf_counter() - built}

    warmup(("float32",))
    by.build(named(SMALL), "numba").step(1)
    files = set(cache.folder().rglob("*"))
    with events.install_recorder("numba:run_pass") as passes:
        shape = timed(lambda: by.build(Workload("", (5, 7, 11, 2), "relu", "sigmoid", "Adam", 333), "numba"))
        expression = timed(_new_expression)
    added = len(set(cache.folder().rglob("*")) - files)
    say(compiled=len(passes.buffer) + added, **{"new shape": shape, "new expression": expression})


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


@benchmark("numpy numba llvmlite torch jax jaxlib", "once")
def compile_times(quick: bool) -> tuple[dict[str, Timing], dict[str, Any]]:
    rounds, first, missing = 1 if quick else 3, f"{SMALL} to the first step: ", {}
    compiled, linear = "PyTorch compiled", "nn.Linear(1024, 1024): "
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name, "kernels")
        around = {"SCALARVIZ_CACHE_DIR": str(cache), "TORCHINDUCTOR_CACHE_DIR": str(Path(name, "inductor"))}
        times = {"scalarviz warmup, empty cache": [fresh((*SCALARVIZ, "warmup"), around).seconds]}
        sizes = [path.stat().st_size for path in cache.rglob("*") if path.is_file()]
        peers = {"scalarviz": "scalarviz", "PyTorch eager": "PyTorch", "JAX jit": "JAX"}
        try:
            ended = fresh(command_of(first_step, "compiled", SMALL), around)
            times[f"{first}{compiled}, empty cache"] = [ended.json()["trained"]]
            peers[f"{compiled}, from its cache"] = "compiled"
        except SystemExit as error:  # no C++ compiler
            missing[compiled] = " ".join(str(error).strip().splitlines()[-2:])
        asked = {f: [fresh(command_of(f), around).json() for _ in range(rounds)] for f in (kernels, new, large)}
        commands = {who: command_of(first_step, peer, SMALL) for who, peer in peers.items()}
        found = fresh_in_turns(commands, rounds, dict.fromkeys(commands, around), Path(name))
    times["all kernels of float32, from the cache"] = [said["seconds"] for said in asked[kernels]]
    for what in ("new shape", "new expression"):
        for part in asked[new][0][what]:
            times[f"{what}: {part}"] = [said[what][part] for said in asked[new]]
    for part in ("record", "lower"):
        times[linear + part] = [said[part] for said in asked[large]]
    times |= {first + who: [one.json()["trained"] for one in ended] for who, ended in found.items()}
    both = statistics.median(said["record"] + said["lower"] for said in asked[large])
    goals = {
        f"{linear}record and lower": at_most(both, 1.0, "s"),
        "new shape and new expression": at_most(max(said["compiled"] for said in asked[new]), 0, "compilations"),
    }
    more = {"cache": {"files": len(sizes), "bytes": sum(sizes)}, "not_measured": missing, "goals": goals}
    return timings_of(times), more


# ---- memory


@child
def bytes_each() -> None:
    """Bytes of one weight or value, in objects and as part of a layer, by Python's own count."""
    import tracemalloc

    import scalarviz as sv
    from scalarviz import nn

    count = 20_000

    def touched() -> Any:
        layer = nn.Linear(count // 100, 100, seed=0)
        return layer, [weight for row in layer.weight for weight in row]

    makers: dict[str, Callable[[], object]] = {
        "Value (a number)": lambda: [sv.Value(0.5) for _ in range(count)],
        "Weight made by hand": lambda: [sv.Weight(0.5) for _ in range(count)],
        "weight of nn.Linear, nobody looks at it": lambda: nn.Linear(count // 100, 100, seed=0),
        "weight of nn.Linear, each held as an object": touched,
    }
    try:
        from micrograd.engine import Value
    except ImportError:
        pass
    else:
        makers["micrograd's Value"] = lambda: [Value(0.5) for _ in range(count)]
    found = {}
    for name, make in makers.items():
        make()  # what is imported and cached on the way does not count
        tracemalloc.start()
        kept = make()
        found[name] = tracemalloc.get_traced_memory()[0] / count
        tracemalloc.stop()
        del kept
    say(**found)


@benchmark("numpy numba torch jax micrograd", "to the first step")
def memory(quick: bool) -> tuple[dict[str, Timing], dict[str, Any]]:
    fresh((*SCALARVIZ, "warmup"))
    commands = {**NOTHING, **IMPORTED, "scalarviz rgb --headless": (*SCALARVIZ, *PICTURE.split()[1:])}
    for workload in (SMALL,) if quick else (SMALL, LARGE):
        for name, who in {"scalarviz": "scalarviz", "PyTorch eager": "PyTorch", "JAX jit": "JAX"}.items():
            commands[f"{workload}: {name}"] = command_of(first_step, who, workload, 3)
    with tempfile.TemporaryDirectory() as place:
        found = {name: fresh(command, folder=Path(place)) for name, command in commands.items()}
    peaks, each = {name: e.peak for name, e in found.items()}, fresh(command_of(bytes_each)).json()
    for name, peak in peaks.items():
        print(f"  {name:40} {peak / 1e9:8.3f} GB at its peak")
    for name, size in each.items():
        print(f"  {name:45} {size:8.0f} bytes each")
    ours = f"{LARGE}: scalarviz"
    goals = {ours: at_most(peaks[ours] / 1e9, 4, "GB")} if ours in peaks else {}
    timings = {name: timing_of([ended.seconds]) for name, ended in found.items()}
    return timings, {"peak_bytes": peaks, "bytes_each": each, "goals": goals}


if __name__ == "__main__":
    main()
