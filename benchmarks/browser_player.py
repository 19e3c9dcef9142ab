"""How many frames a second the page of a recorded run draws in software.

    python benchmarks/browser_player.py [--seconds 4]

A headless Chromium whose WebGL is drawn by SwiftShader, on the processor: what a browser with a GPU draws is not
measured here. While something moves the page draws coarser, down to what holds twenty frames a second; the share of the
screen's pixels that it draws then stands in the report too.
"""

from __future__ import annotations

import importlib
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from _timing import Timing, arguments, timing_of, write_report

import scalarviz as sv

SCENES = {"rgb": ("rgb", {}), "rgb, 16,16": ("rgb", {"hidden": (16, 16)}), "digits": ("digits", {})}
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1280, "height": 720}
WATCH = """() => {
  window.times = []; window.shares = [];
  scalarviz.player.on("drawn", () => {
    times.push(performance.now());
    shares.push(scalarviz.player.canvas.width / scalarviz.player.canvas.clientWidth);
  });
}"""
PLAY = "() => { scalarviz.go(0); scalarviz.pace(60); scalarviz.play(); }"
TURN = """() => {
  const turn = () => {
    if (!window.turning) return;
    scalarviz.player.pose = { ...scalarviz.player.pose, az: scalarviz.player.pose.az + 1 };
    requestAnimationFrame(turn);
  };
  window.turning = true;
  turn();
}"""


def page_of(name: str, folder: str) -> Path:
    """The page of 300 steps of a scene, with gradients, updates and the sample's way."""
    base, options = SCENES[name]
    module = importlib.import_module(f"scalarviz.scenes.{base}")
    scene = module.build(module.Options(**options))
    with sv.Recording(scene.run, every=1, gradients=True, updates=True) as recording:
        scene.run.step(300)
    return Path(recording.save_html(Path(folder) / f"{base}-{len(name)}.html"))


def moving(page: Any, begin: str, end: str, seconds: float) -> tuple[list[float], float]:
    """Seconds between drawn frames while something moves, and the middle share of a pixel's side that is drawn."""
    page.evaluate(begin)
    page.wait_for_timeout(1500)  # it finds out how fine it may draw
    page.evaluate("() => { times.length = 0; shares.length = 0; }")
    page.wait_for_timeout(1000 * seconds)
    times, shares = page.evaluate("() => [times, shares]")
    page.evaluate(end)
    return [(b - a) / 1000 for a, b in pairwise(times)], sorted(shares)[len(shares) // 2]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    timings: dict[str, Timing] = {}
    sides: dict[str, float] = {}
    seconds = 1.0 if options.quick else options.seconds
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        for name in list(SCENES)[:1] if options.quick else SCENES:
            page = browser.new_page(viewport=SIZE)
            page.goto(f"{page_of(name, folder).as_uri()}#frame=0")
            page.wait_for_function("() => window.scalarviz")
            page.evaluate(WATCH)
            ends = {"plays": (PLAY, "() => scalarviz.stop()"), "is turned": (TURN, "() => { window.turning = false; }")}
            for what, (begin, end) in ends.items():
                gaps, side = moving(page, begin, end, seconds)
                timings[f"{name} {what}: from one frame to the next"] = timing_of(gaps)
                sides[f"{name} {what}"] = round(side, 2)
            page.close()
        browser.close()
    for name, timing in timings.items():
        print(f"{name:62} {timing}   {1 / timing.median:6.1f} a second")
    print("device pixels of a CSS pixel:", sides)
    if not options.quick:
        rates = {name: round(1 / timing.median, 1) for name, timing in timings.items()}
        print(
            "written",
            write_report("browser_player", timings, ("numpy", "numba", "playwright"), rates=rates, sides=sides),
        )


if __name__ == "__main__":
    main()
