"""From starting Python to the first cubes of each scene of the package, its kernels compiled before.

    python benchmarks/scenes_start.py [--rounds 5]

Fresh processes take turns; each builds a scene with its defaults and draws the window's first picture (1280 x 720)
into an offscreen framebuffer. A desktop adds what its window system takes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from _processes import SCALARVIZ, fresh, in_turns
from _timing import arguments, at_most, show_goals, write_report

from scalarviz.cli.main import scene_names

FIRST_PICTURE = (sys.executable, str(Path(__file__).parent / "_first_picture.py"))
SECONDS = 2.0
"""Until the first cubes, as was asked for."""
FEWEST = 8
"""Colours of a picture that shows something."""


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    fresh((*SCALARVIZ, "warmup"))
    commands = {name: (*FIRST_PICTURE, name) for name in scene_names()}
    with tempfile.TemporaryDirectory() as place:
        found = in_turns(commands, 1 if options.quick else options.rounds, {}, Path(place))
    for name, (_, ended) in found.items():
        if min(process.json()["colours"] for process in ended) < FEWEST:
            raise SystemExit(f"{name}: its first picture is empty")
    timings = {f"{name}: first cubes": timing for name, (timing, _) in found.items()}
    goals = {name: at_most(timing.median, SECONDS, "s") for name, timing in timings.items()}
    for name, timing in timings.items():
        print(f"{name:30} {timing}")
    show_goals(goals)
    if not options.quick:
        packages = ("numpy", "numba", "vispy")
        print("written", write_report("scenes_start", timings, packages, unit="one start", goals=goals))


if __name__ == "__main__":
    main()
