"""Make ``scenes/pictures/``: of every scene a film of six seconds and a still, of some also of one step, and a sheet.

Usage: ``python .ci/make_gallery.py [SCENE ...]``; default: all scenes of the package. What is not named stays as it is.
A film is the whole run of a scene with its defaults, paced as the program paces it; the still shows the cubes at its
end beside what they learnt. The film of a step is what ``--story step`` makes, and that of the README what
``--story short`` makes, without some of its sentences.
``docs/scenes.md`` shows the films: this writes their table. The stills are installed, since the window that
``scalarviz`` opens shows them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from animated_webp import Picture, smallest
from PIL import Image

from scalarviz.cli.scene_files import scene_names
from scalarviz.run.core.frame import Frame
from scalarviz.run.scene.scene import Scene
from scalarviz.run.scene.scene_file import load_scene
from scalarviz.run.sources.played import rehearse
from scalarviz.view.ink.painter import Painter as Ink
from scalarviz.view.ink.sketch import Sketch
from scalarviz.view.ink.theme import get_theme
from scalarviz.view.out.canvas import Canvas
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.render import Reel, film_of_step
from scalarviz.view.short_film import SECONDS as BEATS
from scalarviz.view.short_film import ShortFilm, Stage
from scalarviz.view.walls.scene_wall import LEARNT, STILL, beginning
from scalarviz.view.watch.playback import pace

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "scenes.md"
BEGIN, END = "<!-- gallery: made by make gallery -->", "<!-- end of the gallery -->"
PICTURES = ROOT / "scenes" / "pictures"
STILLS, STEPS = PICTURES / "stills", PICTURES / "steps"
SHEET = PICTURES / "all.webp"
LAID_OUT, SIZE = (960, 540), (640, 360)
"""Pixels for which the window is laid out (smaller ones have no panels), and those of films."""
SECONDS, FPS = 6, 5
OPENED, AT = ("rgb", "digits", "microgpt"), 300
"""Scenes whose step is filmed, and after how many steps."""
LAID_OUT_STEP, STEP_SIZE = (1280, 720), (800, 450)
"""The same of films of a step, in which more is written."""
README, README_SIZE, README_FPS = "rgb", (640, 320), 10
"""The scene of the README's film, with its pixels and pictures a second."""
LAST = 1500
"""Milliseconds for which the end is shown besides."""
MOST = 3_000_000
"""Bytes of the folder in all; tests/house looks at it."""
STEP_FPS = 2
"""Pictures a second of films of a step: two or three of each micro-step that can be read."""
FILM, STEP_FILM = 215_000, 290_000
"""Bytes of a film of a run at most, and of that of a step: nine and three have room."""
OWN = {README: 900_000, "texture": 262_000}
"""The same of films with more."""
QUALITIES = (75, 60, 48, 40, 34, 28, 23)
COLUMNS = 3


def draw(name: str) -> tuple[list[Picture], Picture]:
    """The frames of a scene's film, uint8 (H, W, 3) each, and its still."""
    loaded = load_scene(name)
    options = loaded.options(size=LAID_OUT)
    scene = loaded.build(options)
    run, canvas = scene.run, Canvas(scene, options.size, "dark")
    engine, frames, known = str(run.engine), list[Picture](), rehearse(run, options.steps)
    canvas.bench.colouring.least = 0.0 if known is None else known.extent
    if name == README:
        return draw_short(scene, options.steps), canvas.tile(STILL)
    for step in pace(options.steps, SECONDS, FPS, known):
        if step > run.steps:
            run.step(int(step) - run.steps)
        frames.append(_small(canvas.picture(engine, 1 / FPS)))
    return frames, canvas.tile(STILL)


class Kept(Reel):
    """A film of which the pictures are kept, and no file is written; of the sentences only those that are not left out.

    `left_out` are places of sentences, counted from 0.
    """

    def __init__(self, canvas: Canvas, fps: int, size: tuple[int, int], left_out: Sequence[int] = ()) -> None:
        super().__init__([], canvas, fps)
        self.canvas, self.pictures = canvas, list[Picture]()
        self._size, self._left_out, self._said = size, left_out, list[str]()

    def add(self, pace_text: str, frame: Frame | None = None, *, exact: bool = False) -> bool:
        """One more picture."""
        self.frames += 1
        self._said += [pace_text] * (self._said[-1:] != [pace_text])
        if len(self._said) - 1 not in self._left_out:
            self.pictures.append(_small(self.canvas.picture(pace_text, 1 / self.fps, frame), self._size))
        return True


def draw_short(scene: Scene, steps: int) -> list[Picture]:
    """The frames of the README's film: one weight forward, back and moved, the training, and the result."""
    stage, run = Stage(scene, README_SIZE, get_theme("dark")), scene.run
    reel, film, known = Kept(stage, README_FPS, README_SIZE, (0, 1, 3)), ShortFilm(stage, run, scene.story), None
    film.opening(reel, bool)
    known = rehearse(run, steps)
    stage.bench.colouring.least = 0.0 if known is None else known.extent
    for step in pace(steps, BEATS["run"], README_FPS, known, rest=0.0):
        if step > run.steps:
            run.step(int(step) - run.steps)
        reel.add(film.words())
    film.ending(reel)
    return reel.pictures


def draw_step(name: str) -> list[Picture]:
    """The frames of the film of a step, uint8 (H, W, 3) each."""
    loaded = load_scene(name)
    options = loaded.options(size=LAID_OUT_STEP)
    scene = loaded.build(options)
    scene.run.step(AT)
    reel = Kept(Canvas(scene, options.size, "dark"), STEP_FPS, STEP_SIZE)
    film_of_step(reel, reel.canvas)
    return reel.pictures


def _small(picture: Picture, size: tuple[int, int] = SIZE) -> Picture:
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))


def sheet(names: list[str]) -> Picture:
    """All stills with their names and purposes, uint8 (H, W, 3)."""
    theme, gap, line = get_theme("dark"), 16, 48
    wide, high = STILL[0] // 2, STILL[1] // 2
    rows = -(-len(names) // COLUMNS)
    size = COLUMNS * (wide + gap) + gap, rows * (high + line + gap) + gap
    sketch = Sketch()
    for number, name in enumerate(names):
        x, y = gap + number % COLUMNS * (wide + gap), gap + number // COLUMNS * (high + line + gap)
        still = Image.open(STILLS / f"{name}.webp").convert("RGB").resize((wide, high), Image.Resampling.LANCZOS)
        sketch.rect(x - 1, y - 1, wide + 2, high + 2, fill=theme.border)
        sketch.image((x, y, wide, high), np.asarray(still))
        sketch.text(x, y + high + 21, name, 17, theme.text1, bold=True)
        sketch.text(x, y + high + 41, beginning(load_scene(name).summary, wide, LEARNT), LEARNT, theme.text2)
    with offscreen() as screen:
        ink = Ink(size)
        return screen.render(
            lambda viewport: (ink.background(theme.background, theme.glow), ink.draw([sketch]))[0], size
        )


def table(names: list[str]) -> str:
    """The films as the page shows them, two in a row, the command under each; those of steps come last."""
    rows, short = [], " --story short --out short.mp4"
    shown = [(f"scalarviz {name}{short * (name == README)}", f"{name}.webp") for name in names]
    if len(shown) % 2:
        shown.append(("", ""))
    shown += [(f"scalarviz {name} --story step --at {AT} --out step.mp4", f"steps/{name}.webp") for name in OPENED]
    for start in range(0, len(shown), 2):
        pair = shown[start : start + 2]
        films = [f"![{command}](../scenes/pictures/{file})" if file else "" for command, file in pair]
        commands = [f"`{command}`" if command else "" for command, _ in pair]
        rows += [f"| {' | '.join([*cells, ''][:2])} |" for cells in (films, commands)]
    return "\n".join([rows[0], "|---|---|", *rows[1:]])


def films() -> list[str]:
    """The scenes of which there is a film."""
    return [name for name in scene_names() if (PICTURES / f"{name}.webp").exists()]


def with_films(page: str) -> str:
    """The page's text with the films that there are."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table(films())}\n{END}{rest.partition(END)[2]}"


def main(asked: list[str]) -> int:
    """Draw the scenes that are asked for, and the sheet; the exit code."""
    scenes = scene_names()
    if unknown := [name for name in asked if name not in scenes]:
        print(f"no scene {unknown[0]!r}; there are {', '.join(scenes)}", file=sys.stderr)
        return 2
    for folder in (STILLS, STEPS):
        folder.mkdir(parents=True, exist_ok=True)
    for name in asked or scenes:
        frames, still = draw(name)
        shown = [round(1000 / (README_FPS if name == README else FPS))] * (len(frames) - 1) + [LAST]
        film = smallest(frames, shown, OWN.get(name, FILM), QUALITIES)
        (PICTURES / f"{name}.webp").write_bytes(film)
        if name in OPENED:
            opened = draw_step(name)
            step = smallest(opened, [round(1000 / STEP_FPS)] * (len(opened) - 1) + [LAST], STEP_FILM, QUALITIES)
            (STEPS / f"{name}.webp").write_bytes(step)
            print(f"{name}: step {len(step):,} bytes, {len(opened) / STEP_FPS:.1f} s")
        Image.fromarray(still).save(STILLS / f"{name}.webp", quality=80, method=6)
        print(f"{name}: film {len(film):,} bytes, still {(STILLS / f'{name}.webp').stat().st_size:,} bytes")
    Image.fromarray(sheet(films())).save(SHEET, quality=80, method=6)
    PAGE.write_text(with_films(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    total = sum(path.stat().st_size for path in PICTURES.rglob("*.webp"))
    print(f"in all {total:,} bytes; allowed: {MOST:,}")
    return 0 if total <= MOST else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
