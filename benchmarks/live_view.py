"""What watching costs: training speed and frame times of scenes drawn at 30 frames a second, offscreen.

    python benchmarks/live_view.py [--rounds 5] [--seconds 2]

Undrawn and drawn spells take turns, scene by scene. Drawn, a worker trains without a limit while this thread draws a
frame every 1/30 s into an offscreen framebuffer and waits for it, as a window would.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

from _timing import Timing, arguments, timing_of, write_report

from scalarviz.cli.main import scene_names
from scalarviz.run.scene import Scene
from scalarviz.run.scene_file import load_scene
from scalarviz.view.watch.live import LiveView
from scalarviz.view.window.unseen import Unseen

FRAME = 1 / 30
SIZE = (1280, 720)
KEPT, GAP = 0.6, 0.05
"""What is asked for: the share of the undrawn speed, and the seconds that 99 of 100 gaps between frames stay under."""


def built(name: str, **flags: Any) -> Callable[[], Scene]:
    """What makes a scene of the package with these flags, as the command line does."""
    loaded = load_scene(name)
    return lambda: loaded.build(loaded.options(**flags))


SCENES: dict[str, Callable[[], Scene]] = {name: built(name) for name in scene_names()}
SCENES["rgb --hidden 16,16"] = built("rgb", hidden=(16, 16))
"""All scenes of the package with their defaults, and a network of some hundred weights."""


def undrawn(build: Callable[[], Scene], seconds: float) -> float:
    """Steps a second of a run that nobody watches."""
    run = build().run
    run.step(100)
    first, start = run.steps, time.perf_counter()
    run.step(10**9, progress=lambda r: time.perf_counter() - start < seconds)
    return (run.steps - first) / (time.perf_counter() - start)


def drawn(build: Callable[[], Scene], seconds: float) -> tuple[float, list[float]]:
    """Steps a second while watched, and the gaps between frames."""
    host = Unseen(lambda size: LiveView(build(), size, steps=10**9, playing=True), SIZE)
    view = host.view
    assert isinstance(view, LiveView)
    for _ in range(10):
        view.send("faster")  # no limit
    frame(host)
    first, start = view.run.steps, time.perf_counter()
    due, shown = start, [start]
    while shown[-1] - start < seconds:
        frame(host)
        shown.append(time.perf_counter())
        due = max(due + FRAME, shown[-1])
        time.sleep(max(0.0, due - time.perf_counter()))
    speed = (view.run.steps - first) / (time.perf_counter() - start)
    view.close()
    return speed, [b - a for a, b in itertools.pairwise(shown)]


def frame(host: Unseen) -> None:
    """One tick and one picture."""
    host.pass_time(FRAME)
    host.picture()


def measure(build: Callable[[], Scene], rounds: int, seconds: float) -> tuple[Timing, dict[str, Any]]:
    """The gaps between frames of one scene; and its speeds, with and without somebody watching."""
    alone, watched, gaps = [], [], []
    for _ in range(rounds):
        alone.append(undrawn(build, seconds))
        speed, found = drawn(build, seconds)
        watched.append(speed)
        gaps += found
    share = statistics.median(w / a for w, a in zip(watched, alone, strict=True))
    slow = sorted(gaps)[int(0.99 * len(gaps))]
    figures = {"undrawn_steps_per_s": alone, "drawn_steps_per_s": watched, "share": share, "frame_gap_99_s": slow}
    return timing_of(gaps), figures


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each spell")
    options = parser.parse_args()
    rounds, seconds = (1, 0.5) if options.quick else (options.rounds, options.seconds)
    timings, scenes = {}, {}
    for name, build in SCENES.items():
        timing, found = measure(build, rounds, seconds)
        timings[f"{name}: gap between frames"], scenes[name] = timing, found
        undrawn_speed, drawn_speed = (statistics.median(found[f"{how}_steps_per_s"]) for how in ("undrawn", "drawn"))
        print(
            f"{name:20} undrawn {undrawn_speed:>10,.0f} steps/s, drawn {drawn_speed:>10,.0f}, {found['share']:.0%} kept"
        )
        print(f"{'':20} gap between frames {timing}, 99 of 100 under {1e3 * found['frame_gap_99_s']:.1f} ms")
        found["reached"] = found["share"] >= KEPT and found["frame_gap_99_s"] <= GAP
    if not options.quick:
        more = {"scenes": scenes, "asked": {"share": KEPT, "frame_gap_99_s": GAP}}
        print("written", write_report("live_view", timings, ("numpy", "numba", "vispy"), **more))


if __name__ == "__main__":
    main()
