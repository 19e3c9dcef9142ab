"""The gallery: films and stills of the scenes, small, and shown by the README; the writer of films, read by Pillow."""

import io
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from kit.commands import SCENES

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "scenes" / "pictures"


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(ROOT / ".ci"))
    try:
        return runpy.run_path(str(ROOT / ".ci" / "make_gallery.py"), run_name="gallery")
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def animated():
    return runpy.run_path(str(ROOT / ".ci" / "animated_webp.py"))["animated"]


def test_the_folder_is_small(script):
    files = [path for path in PICTURES.rglob("*") if path.is_file()]
    assert files
    assert {path.suffix for path in files} == {".webp"}
    assert sum(path.stat().st_size for path in files) <= script["MOST"] <= 3_000_000


def test_each_scene_has_a_still_and_a_film_of_six_seconds(script):
    names = script["films"]()
    assert names == sorted(SCENES), "a scene without a film: make gallery SCENES=its-name"
    assert {path.stem for path in script["STILLS"].glob("*.webp")} == set(names)
    for name in names:
        with Image.open(PICTURES / f"{name}.webp") as film:
            shown = []
            for number in range(film.n_frames):
                film.seek(number)
                film.load()
                shown.append(film.info["duration"])
            assert film.size == script["SIZE"]
        assert 6000 <= sum(shown) <= 6000 + script["LAST"]
        with Image.open(script["STILLS"] / f"{name}.webp") as still:
            assert still.size == script["SIZE"]


def test_the_readme_shows_every_film_with_its_command(script):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert script["told"](readme) == readme, "README.md: make gallery writes the films into it"
    assert all(f"`scalarviz {name}`" in readme for name in script["films"]())


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(2, 45), st.integers(2, 45))
def test_what_is_read_back_is_every_frame(animated, seed, count, width, height):
    """Pillow composes the frames itself: no block is missing, none is old, and unsent ones stay as they were."""
    draw = np.random.default_rng(seed)
    frames = [np.kron(draw.integers(0, 256, (-(-height // 8), -(-width // 8), 3)), np.ones((8, 8, 1)))]
    for _ in range(count - 1):
        after = frames[-1].copy()
        y, x = draw.integers(0, height), draw.integers(0, width)
        after[y // 8 * 8 : y // 8 * 8 + 8, x // 8 * 8 :] = 255 - after[y // 8 * 8, x // 8 * 8]
        frames.append(after)
    frames = [frame[:height, :width].astype(np.uint8) for frame in frames]
    shown = [40 + 10 * number for number in range(count)]
    with Image.open(io.BytesIO(animated(frames, shown, 95))) as film:
        assert film.n_frames == count
        assert film.size == (width, height)
        for number, frame in enumerate(frames):
            film.seek(number)
            read = np.asarray(film.convert("RGB")).astype(int)
            assert count == 1 or film.info["duration"] == shown[number]
            centres = [
                np.s_[y + 2 : y + 6, x + 2 : x + 6] for y in range(0, height - 7, 8) for x in range(0, width - 7, 8)
            ]
            for centre in centres:  # the encoder mixes colours over edges; a lost or an old block is quite another one
                assert np.abs(read[centre].mean((0, 1)) - frame[centre].mean((0, 1))).max() < 24
            assert film.convert("RGBA").getextrema()[3] == (255, 255)
