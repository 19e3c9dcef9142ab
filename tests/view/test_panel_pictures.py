"""Pictures of panels in recordings: what the window's column shows at that step, within the room there is."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from kit.commands import make_scene
from scalarviz.errors import InputError
from scalarviz.run.sources.recording.contents import Picture, write_pictures
from scalarviz.view.page import pictures as drawing
from scalarviz.view.page.pictures import chosen, panel_pictures


def pixels(picture):
    image = Image.open(io.BytesIO(picture.image))
    assert image.size == (picture.width, picture.height)
    return np.asarray(image.convert("RGB"), int)


def recorded(thing, path, steps, **more):
    with sv.Recording(thing, panels=True, path=path, **more):
        getattr(thing, "run", thing).step(steps)
    return sv.load_recording(path)


def test_they_are_what_the_window_shows_at_each_step_and_change_nothing(tmp_path):
    scene = make_scene("rgb")
    with recorded(scene, tmp_path / "run.svz", 200, every=20, activations=True) as record:
        pictures, after = record.pictures, scene.run.values.copy()
        assert panel_pictures(scene, range(len(record)), record.frame)
    assert np.array_equal(scene.run.values, after)
    assert scene.run.steps == 200
    window = sv.render(scene, (1280, 720)).astype(int)
    assert {one.panel for one in pictures} == {"pictures", "colours"}
    assert sorted({one.step for one in pictures}) == list(range(0, 201, 20))
    for name, (x, y) in (("pictures", (952, 24)), ("colours", (952, 165))):
        first, *_, last = (one for one in pictures if one.panel == name)
        found = pixels(last)[:: last.width // 312, :: last.width // 312][:, 4:-4]
        rows = [np.abs(found[: 100 - 4] - window[top : top + 96, x : x + found.shape[1]]).max(axis=2)
                for top in range(y - 12, y + 12)]  # fmt: skip
        assert min((part > 24).mean() for part in rows) < 0.02, name
        assert np.abs(pixels(first) - pixels(last)).mean() > 1


def test_they_stay_within_their_room_and_have_both_ends(monkeypatch):
    monkeypatch.setattr(drawing, "MOST", 4)
    scene = make_scene("xor")
    with sv.Recording(scene, every=1) as recording:
        scene.run.step(9)
        with recording.read() as record:
            for room, least in ((400_000, 2), (24_000, 2), (10, 0)):
                found = panel_pictures(scene, range(len(record)), record.frame, room=room)
                assert sum(4 * -(-len(one.image) // 3) for one in found) <= room
                assert max((sum(one.panel == p.panel for one in found) for p in found), default=0) <= 4
                assert len({one.panel for one in found}) >= least
    some = chosen(range(5, 105), 24)
    assert (some[0], some[-1], len(some)) == (5, 104, 24)
    assert (chosen([3, 4], 24), chosen([], 24)) == ([3, 4], [])


def test_a_run_without_panels_and_a_place_without_gl_have_none(monkeypatch, tmp_path):
    scene = make_scene("rgb")
    with recorded(scene.run, tmp_path / "a.svz", 1) as record:
        assert record.pictures == ()
    monkeypatch.setattr(drawing, "available", lambda: "no GL here")
    with recorded(scene, tmp_path / "b.svz", 1) as record:
        assert record.pictures == ()
    with pytest.raises(InputError, match=r"cannot write pictures of panels into .*gone\.svz"):
        write_pictures(tmp_path / "gone.svz", [(1, Picture("a", 0, 1, 1, b"RIFF"))])


def test_a_sheet_that_nobody_has_drawn_on_has_no_picture():
    scene = make_scene("digits")
    assert {one.panel for one in panel_pictures(scene, [0], lambda k: scene.run.frame())} == {"digits"}
