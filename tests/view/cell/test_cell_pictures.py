"""`display="pictures"`: the window's picture, frame by frame; and the graph of a Value in a cell."""

import io
import re
import time

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz.errors import InputError, StateError
from scalarviz.view.cell.live import GraphShown, is_graph, script_of
from scalarviz.view.cell.shown import Shown

pytestmark = pytest.mark.gl


class Screen:
    """jupyter_rfb's side: it shows pictures and says so."""

    def __init__(self, shown):
        self.shown, self.pictures = shown, []
        shown.post = self._take
        shown.hear({"kind": "ready", "place": "pictures"})

    def _take(self, content, buffers):
        if content["kind"] == "frame":
            self.pictures.append((content, bytes(buffers[0])))
            self.shown.hear({"kind": "drawn", "place": "pictures", "number": content["index"]})

    def newest(self):
        content, data = self.pictures[-1]
        return content, np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


@pytest.fixture
def screen(scene):
    shown = Shown(scene, (320, 240), ("pace",), pictures=True)
    yield Screen(shown)
    shown.close()


def wait(screen, condition):
    screen.shown.session.call(lambda play: None)
    for _ in range(400):
        if condition():
            return
        screen.shown.session.call(lambda play: None)
        time.sleep(0.02)
    raise AssertionError(len(screen.pictures))


def test_the_picture_is_the_windows_and_at_rest_it_is_exact(screen, scene):
    wait(screen, lambda: screen.pictures)
    first = screen.newest()[1]
    screen.shown.hear({"type": "key_down", "key": "ArrowRight", "modifiers": ["Shift"]})
    wait(screen, lambda: scene.run.steps == 10)
    wait(screen, lambda: screen.pictures[-1][0]["mimetype"] == "image/png")
    picture = screen.newest()[1]
    assert picture.shape == (240, 320, 3)
    assert not np.array_equal(picture, first)
    drawn = screen.shown.session.call(lambda play: play._canvas.render(play.viewer.draw, (320, 240)))
    assert np.array_equal(picture, drawn)


def test_size_pointer_and_keys_of_the_page_reach_the_viewer(screen, scene):
    wait(screen, lambda: screen.pictures)
    screen.shown.hear({"type": "resize", "width": 400.0, "height": 300.0, "ratio": 1.5})
    wait(screen, lambda: screen.newest()[1].shape == (450, 600, 3))
    shown = screen.shown.session.call(lambda play: play.viewer.bench.camera)
    for kind, x in (("pointer_down", 200), ("pointer_move", 260), ("pointer_up", 260)):
        screen.shown.hear({"type": kind, "x": x, "y": 120, "button": 1, "ratio": 1.0, "modifiers": []})
    turned = screen.shown.session.call(lambda play: play.viewer.bench.camera)
    assert not np.array_equal(shown.matrix, turned.matrix)


def test_a_place_says_how_it_looks(screen):
    wait(screen, lambda: screen.pictures)
    assert screen.newest()[1].mean() < 100
    screen.shown.hear({"kind": "look", "theme": "light", "density": 1, "place": "pictures"})
    wait(screen, lambda: screen.newest()[1].mean() > 150)


HOSTILE = [
    {"type": "resize"}, {"type": "resize", "width": float("nan"), "height": 1},
    {"type": "resize", "width": "9", "height": 1},
    {"type": "pointer_down"}, {"type": "pointer_down", "x": None, "y": 1}, {"type": "pointer_down", "x": 1e308, "y": 1,
     "button": []}, {"type": "wheel", "x": 1, "y": 1, "dy": "1"}, {"type": "key_down"}, {"type": "key_down", "key": 3},
    {"type": "key_down", "key": "s"}, {"type": "key_down", "key": "x" * 10**6}, {"type": "key_down", "key": "]"},
    {"type": "key_down", "key": "a", "modifiers": 3}, {"type": "pointer_move", "x": 1, "y": 1, "modifiers": None},
    {"type": "?"}, {"type": 3}, {"kind": "eval"}, {"type": "wheel", "x": 1, "y": 1, "modifiers": [[]]},
]  # fmt: skip


def test_hostile_events_do_nothing(screen, scene):
    wait(screen, lambda: screen.pictures)
    values, speed = scene.run.values.copy(), screen.shown.session.call(lambda play: play.viewer.playback.speed)
    for event in HOSTILE:
        screen.shown.hear(event)
    assert screen.shown.session.call(lambda play: play.viewer.playback.speed) == speed  # hide=("pace",)
    assert not screen.shown.session.error
    assert (scene.run.steps, len(scene.run.log)) == (0, 0)
    assert np.array_equal(scene.run.values, values)


def test_the_module_of_jupyter_rfb_is_wrapped_once():
    rfb = pytest.importorskip("jupyter_rfb", reason="no jupyter_rfb (extra notebook)")
    made = script_of(rfb.RemoteFrameBuffer._esm if isinstance(rfb.RemoteFrameBuffer._esm, str) else str(
        rfb.RemoteFrameBuffer._esm))  # fmt: skip
    assert made.count("export default") == 1
    assert "const scalarvizPictures = () =>" in made


def test_the_widget_of_pictures_says_nothing_when_it_is_made(scene, capsys):
    widget = sv.live(scene, display="pictures", size=(320, 240))
    assert capsys.readouterr().out == ""
    assert repr(widget) == "Live(rgb)"
    widget.close()


# ---- graphs


def test_what_a_graph_is_drawn_of():
    z = sv.Value(2.0) * 3.0
    assert is_graph(z)
    assert is_graph([z, z + 1.0])
    assert not is_graph(sv.Weight(1.0))
    assert not is_graph([])
    assert not is_graph(None)


@pytest.mark.parametrize("given", [{"display": "pictures"}, {"hide": ("timeline",)}, {"controls": False}])
def test_what_a_graph_has_not_cannot_be_chosen(given):
    with pytest.raises(InputError, match="a graph has no controls"):
        sv.live(sv.Value(2.0) * 3, **given)


def test_a_graph_follows_its_numbers():
    a, w = sv.Value(2.0), sv.Weight(-0.75, name="w")
    z = (a * w).tanh()
    widget = sv.live(z)
    shown = widget._shown
    assert isinstance(shown, GraphShown)
    sent = []
    shown.post = lambda content, buffers: sent.append(content)
    shown.hear({"kind": "ready", "place": "x"})
    assert sent[0]["kind"] == "graph"
    assert ">w<" in sent[0]["svg"]
    assert ">z<" in sent[0]["svg"]  # the name of the variable that holds it
    widget.update()
    assert len(sent) == 1  # nothing is new
    z.backward()
    widget.update()
    assert len(sent) == 2
    assert sent[1]["svg"] != sent[0]["svg"]
    shown.appear()
    assert re.match(r'<img class="scalarviz-still-\w+" alt="graph of z" src="data:image/svg', shown.still.html)
    data, _ = shown.still.output._repr_mimebundle_()
    assert data["image/svg+xml"] == shown.svg  # for who shows no HTML
    assert data["text/plain"] == "graph of z"
    with pytest.raises(InputError, match="a graph has no steps"):
        widget.update(loss=1.0)
    with pytest.raises(InputError, match="a graph has no action 'step'"):
        widget.act("step")
    widget.close()
    with pytest.raises(StateError):
        widget.update()
