"""The gallery: small films and stills of the scenes, shown by docs/scenes.md; the writer of films, read by Pillow."""

import runpy
import sys
from pathlib import Path

import pytest
from PIL import Image

from kit.commands import SCENES, make_scene
from scalarviz.view.out.canvas import Canvas
from scalarviz.view.short_film import Stage
from scalarviz.view.watch.microsteps import PASS

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "scenes" / "pictures"


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(ROOT / ".ci"))
    try:
        return runpy.run_path(str(ROOT / ".ci" / "make_gallery.py"), run_name="gallery")
    finally:
        sys.path.pop(0)


def test_the_folder_is_small(script):
    files = [path for path in PICTURES.rglob("*") if path.is_file()]
    assert files
    assert {path.suffix for path in files} == {".webp"}
    assert sum(path.stat().st_size for path in files) <= script["MOST"] <= 3_000_000


@pytest.mark.ci
def test_each_scene_has_a_still_and_a_film_of_six_seconds(script):
    names = script["films"]()
    assert sorted(names) == sorted(SCENES), "a scene without a film: make gallery SCENES=its-name"
    assert {path.stem for path in script["STILLS"].glob("*.webp")} == set(names)
    for name in names:
        with Image.open(PICTURES / f"{name}.webp") as film:
            shown = []
            for number in range(film.n_frames):
                film.seek(number)
                film.load()
                shown.append(film.info["duration"])
            short = name == script["README"]
            assert film.size == script["README_SIZE" if short else "SIZE"]
        least, most = (10_000, 15_000) if short else (6000, 6000 + script["LAST"])
        assert least <= sum(shown) <= most
        with Image.open(script["STILLS"] / f"{name}.webp") as still:
            assert still.size == script["STILL"]


@pytest.mark.ci
def test_films_of_a_step_last_as_long_as_the_step_plays(script):
    assert {path.stem for path in script["STEPS"].glob("*.webp")} == set(script["OPENED"])
    for name in script["OPENED"]:
        with Image.open(script["STEPS"] / f"{name}.webp") as film:
            assert film.size == script["STEP_SIZE"]
            assert film.n_frames / script["STEP_FPS"] <= PASS + 0.5


@pytest.mark.ci
@pytest.mark.parametrize("name", [name for name in SCENES if make_scene(name).run.n_weights < 100])
def test_no_film_or_still_has_a_clipped_cube_while_cubes_are_few(name, script, monkeypatch):
    """The range of a film's colours is that of the whole film."""
    clipped, ranges, update = [], [], Canvas.update

    def look(canvas, words, seconds=None, frame=None):
        update(canvas, words, seconds, frame)
        colouring = canvas.bench.colouring
        if colouring.quantity == "weight":
            clipped.append(float((abs(colouring.drawn) > (1 + 2e-5) * colouring.range.high).mean()))
            ranges.append(colouring.range.high)

    def undrawn(canvas, words="", seconds=None, frame=None):
        canvas.update("", seconds, frame)
        return script["np"].zeros((canvas.size[1], canvas.size[0], 3), "uint8")

    monkeypatch.setattr(Canvas, "update", look)
    for kind in (Canvas, Stage):
        monkeypatch.setattr(kind, "picture", undrawn)
    script["draw"](name)
    assert not any(clipped)
    assert ranges
    assert name == script["README"] or len({round(high, 4) for high in ranges}) == 1


def test_the_page_shows_every_film_and_the_readme_names_every_scene(script):
    page, readme = (path.read_text(encoding="utf-8") for path in (script["PAGE"], ROOT / "README.md"))
    assert script["with_films"](page) == page, "docs/scenes.md: make gallery writes the films into it"
    assert all(f"`scalarviz {name}`" in text for name in script["films"]() for text in (page, readme))
