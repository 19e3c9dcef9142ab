"""What watching costs: training speed and frame times of the rgb scene drawn at 30 frames a second, offscreen.

    python benchmarks/live_view.py

Undrawn and drawn spells take turns. Drawn, a worker trains without a limit while this thread draws a frame every 1/30 s
into an offscreen framebuffer and waits for it, as a window would.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time

from _timing import Timing, write_report
from scalarviz.scenes import rgb

from scalarviz.view.live import LiveView
from scalarviz.view.offscreen import offscreen

FRAME = 1 / 30
SIZE = (1280, 720)


def undrawn(seconds: float) -> float:
    """Steps a second of a run that nobody watches."""
    run = rgb.build(rgb.Options()).run
    run.step(1000)
    first, start = run.steps, time.perf_counter()
    run.step(10**9, progress=lambda r: time.perf_counter() - start < seconds)
    return (run.steps - first) / (time.perf_counter() - start)


def drawn(seconds: float) -> tuple[float, list[float]]:
    """Steps a second while watched, and the gaps between frames."""
    with offscreen():
        view = LiveView(rgb.build(rgb.Options()), SIZE, steps=10**9, playing=True)
    for _ in range(10):
        view.faster()  # no limit
    frame(view, FRAME)
    first, start = view.run.steps, time.perf_counter()
    due, shown = start, [start]
    while shown[-1] - start < seconds:
        frame(view, FRAME)
        shown.append(time.perf_counter())
        due = max(due + FRAME, shown[-1])
        time.sleep(max(0.0, due - time.perf_counter()))
    speed = (view.run.steps - first) / (time.perf_counter() - start)
    view.close()
    return speed, [b - a for a, b in itertools.pairwise(shown)]


def frame(view: LiveView, seconds: float) -> None:
    """One tick and one picture."""
    with offscreen():
        view.tick(seconds)
    offscreen().render(view.draw, SIZE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    alone, watched, gaps = [], [], []
    for _ in range(options.rounds):
        alone.append(undrawn(options.seconds))
        speed, found = drawn(options.seconds)
        watched.append(speed)
        gaps += found
    share = statistics.median(w / a for w, a in zip(watched, alone, strict=True))
    gaps.sort()
    slow = gaps[int(0.99 * len(gaps))]
    print(f"undrawn {statistics.median(alone):>12,.0f} steps/s")
    print(f"drawn   {statistics.median(watched):>12,.0f} steps/s, {share:.0%} of it")
    print(
        f"frames  {len(gaps)}: median gap {1e3 * statistics.median(gaps):.1f} ms, 99 of 100 under {1e3 * slow:.1f} ms"
    )
    quartiles = statistics.quantiles(gaps, n=4)
    timing = Timing(statistics.median(gaps), quartiles[0], quartiles[2], len(gaps))
    figures = {"undrawn_steps_per_s": alone, "drawn_steps_per_s": watched, "share": share, "frame_gap_99_s": slow}
    write_report("live_view", {"gap between frames": timing}, ("numpy", "numba", "vispy"), **figures)


if __name__ == "__main__":
    main()
