"""Frames that a live cell of a notebook gets and draws, and how long an edit takes there and back.

    python benchmarks/live_cell.py [--seconds 6]

JupyterLab, a kernel and a headless Chromium on the same machine. WebGL is drawn by SwiftShader, in software: what a
browser with a GPU draws is not measured here. Numbers are sent at most thirty times a second and never more than two
frames ahead of what is drawn, so that a browser that draws slowly also gets fewer.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from _lab import lab, run
from _timing import Timing, arguments, timing_of, write_report

CELLS = (
    "import importlib\nimport scalarviz as sv\n"
    "scene = importlib.import_module('scalarviz.scenes.rgb')\nscene = scene.build(scene.Options())\n"
    "sv.live(scene, size=({}, {}))",
    "import time\nuntil = time.time() + {}\nwhile time.time() < until:\n    sum(range(1000))",
)
SIZES = ((680, 510), (320, 240))
LOOK = "const cell = document.querySelector('.scalarviz-around').parentElement.scalarviz;"
COUNT = f"""() => {{
  {LOOK}
  window.received = [];
  window.drawn = [];
  const show = cell.show.bind(cell);
  cell.show = (...given) => {{ window.received.push(performance.now()); show(...given); }};
  cell.player.on("drawn", () => window.drawn.push(performance.now()));
}}"""
EDIT = f"""value => new Promise(done => {{
  {LOOK}
  const begun = performance.now();
  cell.say({{ kind: "set", index: 2, value }});
  const end = cell.player.on("drawn", frame => {{
    if (frame?.texels.weight[2] !== Math.fround(value)) return;
    end();
    done(performance.now() - begun);
  }});
}})"""


def gaps(page: Any, seconds: float) -> dict[str, list[float]]:
    """Seconds between one frame and the next in a while, of those received and of those drawn."""
    page.evaluate("window.received = []; window.drawn = []")
    page.wait_for_timeout(1000 * seconds)
    times = page.evaluate("({ received: window.received, drawn: window.drawn })")
    return {name: [(b - a) / 1000 for a, b in pairwise(one)] for name, one in times.items()}


def measure(size: tuple[int, int], seconds: float, edits: int) -> dict[str, Timing]:
    """Gaps between frames while it trains, the same beside a cell that computes, and edits at rest."""
    found = {}
    with lab((CELLS[0].format(*size), CELLS[1].format(seconds + 5))) as page:
        run(page, 0)
        page.wait_for_selector(".scalarviz-cell canvas", timeout=60_000)
        page.wait_for_function(f"(() => {{ {LOOK} return cell.answered > 0; }})()", timeout=60_000)
        page.evaluate(COUNT)
        times = [page.evaluate(EDIT, 0.001 * (k + 1)) / 1000 for k in range(edits)]
        found["an edit, until it is drawn"] = timing_of(times)
        page.click(".tools [data-name=toggle_run]")
        page.wait_for_timeout(2000)
        for name, times in gaps(page, seconds).items():
            found[f"from one frame {name} to the next"] = timing_of(times)
        run(page, 1)
        page.wait_for_timeout(500)
        for name, times in gaps(page, seconds).items():
            found[f"the same, {name}, beside a cell that computes"] = timing_of(times)
    return {f"{size[0]}x{size[1]}: {what}": timing for what, timing in found.items()}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    timings: dict[str, Timing] = {}
    for size in SIZES[1:] if options.quick else SIZES:
        timings |= measure(size, 2.0 if options.quick else options.seconds, 3 if options.quick else 25)
    for name, timing in timings.items():
        print(f"{name:62} {timing}   {1 / timing.median:6.1f} a second")
    if not options.quick:
        rates = {name: round(1 / timing.median, 1) for name, timing in timings.items()}
        print("written", write_report("live_cell", timings, ("numpy", "numba", "anywidget", "jupyterlab"), rates=rates))


if __name__ == "__main__":
    main()
