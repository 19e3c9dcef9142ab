"""What the map of a plane costs a frame, as a share of 1/30 s: pictures with it and without it take turns.

    python benchmarks/plane_map.py [--frames 400]

Every frame is one training step on, so that nothing can be taken from the frame before. Seconds are those of the thread
that draws (the software renderer's own threads are not counted), for words that are written ten times a second, as in
a window.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from _timing import arguments, at_most, show_goals, timing_of, write_report
from scalarviz.scenes import playground

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.panels import NeuronMaps, Panel, PlaneMap
from scalarviz.view.window.offscreen import offscreen
from scalarviz.view.workbench import Workbench

FRAME, SIZE = 1 / 30, (1280, 720)
MOST = 10.0
"""Per cent of a frame that is asked for."""


def small() -> sv.Scene:
    """The scene as it is."""
    return playground.build(playground.Options())


def eight() -> sv.Scene:
    """Two layers of eight, four features."""
    return playground.build(playground.Options(data="spiral", features="x,y,sinx,siny", hidden="8,8"))


def dear() -> sv.Scene:
    """A network whose map takes several frames."""
    scene = small()
    net = nn.Sequential(nn.Linear(2, 512, seed=1), nn.Tanh(), nn.Linear(512, 512, seed=2), nn.Tanh(),
                        nn.Linear(512, 1, seed=3))  # fmt: skip
    data = scene.run.samples()
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.01), data, batch_size=10, engine="numba")
    flat = next(panel for panel in scene.panels if isinstance(panel, PlaneMap))
    return sv.Scene("dear", run, panels=(replace(flat, points=None, edits=None), scene.panels[1]))


SCENES: dict[str, Callable[[], sv.Scene]] = {
    "playground": small,
    "playground --hidden 8,8": eight,
    "2-512-512-1": dear,
}


def without(scene: sv.Scene, kind: type[Panel]) -> sv.Scene:
    """The same scene without the panels of a kind."""
    panels = tuple(panel for panel in scene.panels if not isinstance(panel, kind))
    return sv.Scene(scene.name, scene.run, panels=panels, input_names=scene.input_names)


def frames(benches: Sequence[Workbench], run: sv.Run, count: int) -> list[list[float]]:
    """Seconds of the drawing thread for each of `count` frames, for each picture."""
    found: list[list[float]] = [[] for _ in benches]
    for number in range(count + 40):
        run.step(1)
        frame = benches[0].subject.frame()
        for bench, times in zip(benches, found, strict=True):
            start = time.thread_time()
            bench.update(frame, "", FRAME)
            offscreen().render(bench.draw, bench.size)
            if number >= 40:  # by then the map is as fine as it will be
                times.append(time.thread_time() - start)
    return found


def measure(build: Callable[[], sv.Scene], count: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds a frame with everything and without each kind of map, and what each kind costs in per cent."""
    scene = build()
    kinds = [kind for kind in (PlaneMap, NeuronMaps) if any(isinstance(p, kind) for p in scene.panels)]
    scenes = [sv.Scene(scene.name, scene.run, panels=scene.panels, input_names=scene.input_names)]
    scenes += [without(scene, kind) for kind in kinds]
    keys = (("?", "all keys"),)
    with offscreen():
        benches = [Workbench(each, SIZE, keys=keys, text_hz=10.0) for each in scenes]
        whole, *others = frames(benches, scene.run, count)
    scene.run.close()
    times = {"all": whole}
    costs: dict[str, float] = {}
    for kind, other in zip(kinds, others, strict=True):
        times[f"without {kind.__name__}"] = other
        costs[kind.__name__] = 100 * statistics.median(a - b for a, b in zip(whole, other, strict=True)) / FRAME
    return times, costs


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--frames", type=int, default=400)
    options = parser.parse_args()
    timings, goals = {}, dict[str, Any]()
    for name, build in SCENES.items():
        times, costs = measure(build, 20 if options.quick else options.frames)
        for what, found in times.items():
            timings[f"{name}: {what}"] = timing_of(found)
            print(f"{name + ': ' + what:45} {timings[f'{name}: {what}']}")
        for kind, cost in costs.items():
            goals[f"{name}: {kind}, of a frame at 30 frames/s"] = at_most(max(cost, 0.0), MOST, "%")
    show_goals(goals)
    if not options.quick:
        print("written", write_report("plane_map", timings, ("numpy", "numba", "vispy"), goals=goals))


if __name__ == "__main__":
    main()
