"""What drawing costs, offscreen at 1280 x 720 and 30 frames a second.

* ``live_view``: the training speed that every scene keeps while it is watched, and the gaps between frames. Undrawn and
  drawn spells take turns. Drawn, a worker trains without a limit while this thread draws a frame every 1/30 s and waits
  for it, as a window would.
* ``plane_map``: the maps of a plane and of neurons, as a share of a frame; pictures with and without them take turns.
  Every frame is one training step on, so that nothing can be taken from the frame before. Seconds are those of the
  thread that draws (the software renderer's own threads are not counted); words are written ten times a second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from _timing import Found, Timing, at_most, benchmark, main, timing_of, timings_of
from scalarviz.scenes import playground

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.cli.main import scene_names
from scalarviz.run.panels import NeuronMaps, PlaneMap
from scalarviz.run.scene.scene_file import load_scene
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.watch.live import LiveView
from scalarviz.view.workbench import Workbench

FRAME, SIZE = 1 / 30, (1280, 720)
Build = Callable[[], sv.Scene]


def built(name: str, **flags: Any) -> Build:
    """What makes a scene of the package with these flags, as the command line does."""
    loaded = load_scene(name)
    return lambda: loaded.build(loaded.options(**flags))


# ---- watched training

KEPT, GAP = 0.6, 0.05
"""What is asked for: the share of the undrawn speed, and the seconds that 99 of 100 gaps between frames stay under."""


@benchmark("numpy numba vispy")
def live_view(quick: bool) -> Found:
    rounds, seconds = (1, 0.5) if quick else (5, 2.0)
    timings, scenes = dict[str, Timing](), {}
    builds = {name: built(name) for name in scene_names()} | {"rgb --hidden 16,16": built("rgb", hidden=(16, 16))}
    for name, build in builds.items():
        alone, watched, gaps = [], [], []
        for _ in range(rounds):
            alone.append(undrawn(build, seconds))
            speed, found = drawn(build, seconds)
            watched.append(speed)
            gaps += found
        share = statistics.median(w / a for w, a in zip(watched, alone, strict=True))
        slow = sorted(gaps)[int(0.99 * len(gaps))]
        scenes[name] = {
            "undrawn_steps_per_s": alone, "drawn_steps_per_s": watched, "share": share, "frame_gap_99_s": slow,
            "reached": share >= KEPT and slow <= GAP,
        }  # fmt: skip
        timings[f"{name}: gap between frames"] = timing_of(gaps)
        speeds = f"{statistics.median(alone):>10,.0f} steps/s, drawn {statistics.median(watched):>10,.0f}"
        print(f"{name:20} {speeds}, {share:.0%} kept, 99 of 100 gaps under {1e3 * slow:.1f} ms", flush=True)
    return timings, {"scenes": scenes, "asked": {"share": KEPT, "frame_gap_99_s": GAP}}


def undrawn(build: Build, seconds: float) -> float:
    """Steps a second of a run that nobody watches."""
    run = build().run
    run.step(100)
    first, start = run.steps, time.perf_counter()
    run.step(10**9, progress=lambda r: time.perf_counter() - start < seconds)
    return (run.steps - first) / (time.perf_counter() - start)


def drawn(build: Build, seconds: float) -> tuple[float, list[float]]:
    """Steps a second while watched, and the gaps between frames."""
    with offscreen():
        view = LiveView(build(), SIZE, steps=10**9, playing=True)
    for _ in range(10):
        view.send("faster")  # no limit

    def frame() -> None:
        with offscreen():
            view.tick(FRAME)
        offscreen().render(view.draw, SIZE)

    frame()
    first, start = view.run.steps, time.perf_counter()
    due, shown = start, [start]
    while shown[-1] - start < seconds:
        frame()
        shown.append(time.perf_counter())
        due = max(due + FRAME, shown[-1])
        time.sleep(max(0.0, due - time.perf_counter()))
    speed = (view.run.steps - first) / (time.perf_counter() - start)
    view.close()
    return speed, [b - a for a, b in pairwise(shown)]


# ---- maps


def dear() -> sv.Scene:
    """A network whose map takes several frames."""
    scene = built("playground")()
    net = nn.Sequential(nn.Linear(2, 512, seed=1), nn.Tanh(), nn.Linear(512, 512, seed=2), nn.Tanh(),
                        nn.Linear(512, 1, seed=3))  # fmt: skip
    data = scene.run.samples()
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.01), data, batch_size=10, engine="numba")
    flat = next(panel for panel in scene.panels if isinstance(panel, PlaneMap))
    return sv.Scene("dear", run, panels=(replace(flat, points=None, edits=None), scene.panels[1]))


def eight() -> sv.Scene:
    """Two layers of eight, four features."""
    return playground.build(playground.Options(data="spiral", features="x,y,sinx,siny", hidden="8,8"))


@benchmark("numpy numba vispy")
def plane_map(quick: bool) -> Found:
    timings, goals = dict[str, Timing](), {}
    builds = {"playground": built("playground"), "playground --hidden 8,8": eight, "2-512-512-1": dear}
    for name, build in builds.items():
        scene = build()
        kinds = [kind for kind in (PlaneMap, NeuronMaps) if any(isinstance(p, kind) for p in scene.panels)]
        kept = {"all": scene.panels} | {
            f"without {kind.__name__}": tuple(p for p in scene.panels if not isinstance(p, kind)) for kind in kinds
        }
        times = dict(zip(kept, frames(scene, list(kept.values()), 20 if quick else 400), strict=True))
        scene.run.close()
        timings |= timings_of(times, f"{name}: ")
        for kind in kinds:
            costs = [a - b for a, b in zip(times["all"], times[f"without {kind.__name__}"], strict=True)]
            cost = max(100 * statistics.median(costs) / FRAME, 0.0)
            goals[f"{name}: {kind.__name__}, of a frame at 30 frames/s"] = at_most(cost, 10.0, "%")
    return timings, {"goals": goals}


def frames(scene: sv.Scene, panels: list[Any], count: int) -> list[list[float]]:
    """Seconds of the drawing thread for each of `count` frames, for the scene with each of these sets of panels."""
    found: list[list[float]] = [[] for _ in panels]
    scenes = [sv.Scene(scene.name, scene.run, panels=kept, input_names=scene.input_names) for kept in panels]
    with offscreen():
        benches = [Workbench(each, SIZE, keys=(("?", "all keys"),), text_hz=10.0) for each in scenes]
        for number in range(count + 40):
            scene.run.step(1)
            frame = benches[0].subject.frame()
            for bench, times in zip(benches, found, strict=True):
                start = time.thread_time()
                bench.update(frame, "", FRAME)
                offscreen().render(bench.draw, bench.size)
                if number >= 40:  # by then the map is as fine as it will be
                    times.append(time.thread_time() - start)
    return found


if __name__ == "__main__":
    main()
