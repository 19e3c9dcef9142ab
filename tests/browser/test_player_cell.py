"""`sv.player(recording)`: it plays in a cell and on a notebook's web page; without scripts the last step is seen."""

import re

import numpy as np
import pytest

import scalarviz as sv
from kit.windows import wait_until
from scalarviz.errors import InputError, TypeMismatchError

from .players import pixels_of, scene

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A player of a hundred steps, and the file of its recording."""
    made = scene("rgb", 0)
    path = tmp_path_factory.mktemp("recorded") / "run.svz"
    with sv.Recording(made, every=5, path=path) as record:
        made.run.step(100)
        return sv.player(record, size=(560, 420)), path, made


def page_of(player):
    return f"<!doctype html><title>notebook</title><body><h1>text</h1>{player._repr_html_()}</body>"


def test_it_plays_in_its_frame_and_the_picture_is_hidden(shown, page):
    page.set_content(page_of(shown[0]))
    frame = page.frames[1]
    frame.wait_for_function("() => window.scalarviz && window.scalarviz.run.steps.length")
    assert frame.evaluate("window.scalarviz.run.steps.at(-1)") == 100
    assert frame.evaluate("window.origin") == "null"  # of nobody: it reaches nothing of the notebook
    assert not page.locator("body > div > img").is_visible()
    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"


def test_without_scripts_the_last_step_stands_there(shown, browse):
    page = browse(java_script_enabled=False, viewport={"width": 700, "height": 700})
    page.set_content(page_of(shown[0]))
    # cubes, not an empty frame; what it holds may still be decoded, and no script can be asked
    wait_until(lambda: pixels_of(page.screenshot())[100:480, 40:520].std() > 20)


def test_where_frames_or_html_are_taken_out_the_picture_of_the_last_step_is_seen(shown, page):
    """As JupyterLab does with a notebook that is not trusted; the lab's own test is in test_notebooks_live."""
    player, path, made = shown
    page.set_content(re.sub(r"<iframe.*?</iframe>|<style>.*?</style>", "", page_of(player), flags=re.DOTALL))
    image = page.locator("img")
    assert image.is_visible()
    data, _ = player._repr_mimebundle_()
    assert data["text/html"] == player._repr_html_()
    for words in (image.get_attribute("alt"), data["text/plain"]):
        assert words.startswith("rgb: a recording of steps 0 to 100, loss 0.")
    with sv.load_recording(path) as record:
        assert np.array_equal(record.frame(-1).values, made.run.values)
        wanted = sv.render(record, (560, 420), theme="light", step=100).astype(int)
    for address in (image.get_attribute("src"), "data:," + data["image/jpeg"]):
        drawn = pixels_of(address)
        assert drawn.shape == wanted.shape
        assert (np.abs(drawn - wanted).max(2) > 60).mean() < 0.03  # the same cubes and numbers


def test_a_file_and_a_reader_play_as_well(shown):
    player, path, _ = shown
    with sv.load_recording(path) as record:
        assert sv.player(record, size=(560, 420)).words == player.words
    assert repr(sv.player(str(path), title='a "title" <b>')).startswith('Player(a "title" <b>: a recording')
    assert 'a "title" <b>' not in sv.player(path, title='a "title" <b>')._repr_html_()


def test_two_recordings_without_names_play_with_their_difference(page):
    with sv.Recording(scene("rgb", 0), every=5) as a, sv.Recording(scene("rgb", 0), every=5) as b:
        a.subject.run.step(10)
        b.subject.run.step(20)
        with a.read() as one, b.read() as other:
            player = sv.player(one.compare(other))
    assert player.words == "rgb 1 and rgb 2: two recordings to step 20, and their difference"
    page.set_content(page_of(player))
    page.frame_locator("iframe").locator("canvas").first.wait_for(timeout=60_000)


def test_nothing_recorded_is_said(tmp_path):
    for bad in (None, 3, scene("rgb", 0)):
        with pytest.raises(TypeMismatchError, match="player: got"):
            sv.player(bad)
    with pytest.raises(InputError):
        sv.player(tmp_path / "none.svz")
