"""Pictures of panels in recordings: what the window's column shows at that step, within the room there is."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from scalarviz.scenes import digits, rgb, xor

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.run.panels import DigitPad
from scalarviz.run.sources.recording.contents import Picture, write_pictures
from scalarviz.view.page import pictures as drawing
from scalarviz.view.page.pictures import chosen, panel_pictures


def pixels(picture):
    image = Image.open(io.BytesIO(picture.image))
    assert image.size == (picture.width, picture.height)
    return np.asarray(image.convert("RGB"), int)


@pytest.fixture(scope="module")
def scene():
    return rgb.build(rgb.Options(engine="numpy"))


def test_they_are_what_the_window_shows_at_each_step(scene, tmp_path):
    before, start = scene.run.values.copy(), scene.run.steps
    with sv.Recording(scene, every=20, activations=True, panels=True, path=tmp_path / "run.svz") as recording:
        scene.run.step(200)
    after = scene.run.values.copy()
    with sv.load_recording(recording.path) as record:
        pictures = record.pictures
        assert panel_pictures(scene, range(len(record)), record.frame)
    assert np.array_equal(scene.run.values, after)  # nothing is trained or changed for them
    assert not np.array_equal(before, after)
    assert scene.run.steps == start + 200
    window = sv.render(scene, (1280, 720)).astype(int)
    assert {one.panel for one in pictures} == {"pictures", "colours"}
    assert sorted({one.step for one in pictures}) == list(range(start, start + 201, 20))
    for name, (x, y) in (("pictures", (952, 24)), ("colours", (952, 165))):
        first, *_, last = (one for one in pictures if one.panel == name)
        found = pixels(last)[:: last.width // 312, :: last.width // 312][:, 4:-4]
        rows = [np.abs(found[: 100 - 4] - window[top : top + 96, x : x + found.shape[1]]).max(axis=2)
                for top in range(y - 12, y + 12)]  # fmt: skip
        assert min((part > 24).mean() for part in rows) < 0.02, name
        assert np.abs(pixels(first) - pixels(last)).mean() > 1


def test_they_stay_within_their_room(monkeypatch):
    monkeypatch.setattr(drawing, "MOST", 4)
    scene = xor.build(xor.Options(engine="numpy"))
    with sv.Recording(scene, every=1) as recording:
        scene.run.step(9)
        with recording.read() as record:
            for room, least in ((400_000, 2), (24_000, 2), (10, 0)):
                found = panel_pictures(scene, range(len(record)), record.frame, room=room)
                assert sum(4 * -(-len(one.image) // 3) for one in found) <= room
                assert max((sum(one.panel == p.panel for one in found) for p in found), default=0) <= 4
                assert len({one.panel for one in found}) >= least


def test_chosen_have_both_ends():
    found = chosen(range(5, 105), 24)
    assert (found[0], found[-1], len(found)) == (5, 104, 24)
    assert chosen([3, 4], 24) == [3, 4]
    assert chosen([], 24) == []


def test_a_run_without_panels_and_a_place_without_gl_have_none(scene, monkeypatch, tmp_path):
    path = tmp_path / "a.svz"
    with sv.Recording(scene.run, panels=True, path=path):
        scene.run.step(1)
    with sv.load_recording(path) as record:
        assert record.pictures == ()
    monkeypatch.setattr(drawing, "available", lambda: "no GL here")
    path = tmp_path / "b.svz"
    with sv.Recording(scene, panels=True, path=path):
        scene.run.step(1)
    with sv.load_recording(path) as record:
        assert record.pictures == ()


def test_a_file_that_takes_none_says_so(tmp_path):
    with pytest.raises(InputError, match=r"cannot write pictures of panels into .*gone\.svz"):
        write_pictures(tmp_path / "gone.svz", [(1, Picture("a", 0, 1, 1, b"RIFF"))])


def test_a_sheet_that_nobody_has_drawn_on_has_no_picture():
    scene = digits.build(digits.Options(engine="numpy"))
    assert any(isinstance(panel, DigitPad) for panel in scene.panels)
    assert {one.panel for one in panel_pictures(scene, [0], lambda k: scene.run.frame())} == {"digits"}
