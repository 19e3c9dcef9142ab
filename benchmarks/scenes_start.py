"""From starting Python to the first cubes of each scene of the package, its kernels compiled before.

    python benchmarks/scenes_start.py [--rounds 5]

Fresh processes take turns; each builds a scene with its defaults and draws the window's first picture (1280 x 720)
into an offscreen framebuffer; so does the wall of all scenes. A desktop adds what its window system takes. Beside them
the libraries alone (`_bare_picture`), and two scenes with ``PYTHONDONTWRITEBYTECODE=1``, where every source is compiled
at every start. What the processor worked stands beside the wall time, since a busy machine shows less there.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from _processes import HERE, NO_BYTECODE, SCALARVIZ, Ended, fresh, in_turns
from _timing import arguments, at_most, show_goals, write_report

from scalarviz.cli.main import scene_names

FIRST_PICTURE = (sys.executable, str(HERE / "_first_picture.py"))
BARE = "numpy, numba, vispy alone: first picture"
WALL = "wall of all scenes: first picture"
ANEW = ("xor", "microgpt")
SECONDS = 2.0
"""Until the first cubes, as was asked for."""
FEWEST = 8
"""Colours of a picture that shows something."""


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    fresh((*SCALARVIZ, "warmup"))
    asked = {f"{name}: first cubes": (*FIRST_PICTURE, name) for name in scene_names()}
    asked[WALL] = *FIRST_PICTURE, "wall"
    anew = {f"{name}: first cubes, no bytecode kept": (*FIRST_PICTURE, name) for name in ANEW}
    bare = {BARE: (sys.executable, str(HERE / "_bare_picture.py"))}
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        environments = {what: {NO_BYTECODE: "1", "PYTHONPYCACHEPREFIX": str(place / "none")} for what in anew}
        environments[BARE] = {"NUMBA_CACHE_DIR": str(place / "numba")}
        found = in_turns({**asked, **anew, **bare}, 1 if options.quick else options.rounds, environments, place)
    for what, (_, ended) in found.items():
        if min(process.json()["colours"] for process in ended) < FEWEST:
            raise SystemExit(f"{what}: the picture is empty")
    timings = {what: timing for what, (timing, _) in found.items()}
    worked = {what: _worked(ended) for what, (_, ended) in found.items()}
    goals = {what: at_most(timings[what].median, SECONDS, "s") for what in asked}
    for what, timing in timings.items():
        print(f"{what:42} {timing}, the processor {worked[what]:.2f} s")
    show_goals(goals)
    if not options.quick:
        packages = ("numpy", "numba", "vispy")
        more = {"unit": "one start", "processor_seconds": worked, "goals": goals}
        print("written", write_report("scenes_start", timings, packages, **more))


def _worked(ended: list[Ended]) -> float:
    """The median of what the processor worked until the line."""
    return round(statistics.median(process.json()["processor"] for process in ended), 3)


if __name__ == "__main__":
    main()
