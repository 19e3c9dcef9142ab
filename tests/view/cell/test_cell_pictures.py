"""`sv.live`: its words and what it refuses, pictures of the window frame by frame, and the graph of a Value."""

import io
import re
import sys

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from kit.windows import wait_until
from scalarviz import nn
from scalarviz.errors import InputError, MissingDependencyError, StateError
from scalarviz.view.cell.live import GraphShown, is_graph, live_class
from scalarviz.view.page.pictures import output_of

pytestmark = pytest.mark.gl


class Screen:
    """jupyter_rfb's side: it shows pictures and says so."""

    def __init__(self, shown):
        self.shown, self.pictures, self.ask = shown, [], shown.call
        shown.post = self._take
        shown.hear({"kind": "ready", "place": "pictures"})
        wait_until(lambda: self.pictures)

    def _take(self, content, buffers):
        if content["kind"] == "frame":
            self.pictures.append((content, bytes(buffers[0])))
            self.shown.hear({"kind": "drawn", "place": "pictures", "number": content["index"]})

    @property
    def newest(self):
        return np.asarray(Image.open(io.BytesIO(self.pictures[-1][1])).convert("RGB"))


def test_the_picture_is_the_windows_at_its_size_in_its_look_and_the_pages_hand_reaches_it(cell, scene):
    screen = Screen(cell(scene, size=(320, 240), pictures=True))

    def exact(size):
        return np.array_equal(screen.newest, screen.ask(lambda play: play.drawing.render(play.viewer.draw, size)))

    first = screen.newest
    assert first.mean() > 150
    screen.shown.hear({"type": "key_down", "key": "ArrowRight", "modifiers": ["Shift"]})
    wait_until(lambda: scene.run.steps == 10 and screen.pictures[-1][0]["mimetype"] == "image/png")
    assert not np.array_equal(screen.newest, first)
    assert exact((320, 240))
    screen.shown.hear({"kind": "look", "theme": "dark", "density": 1, "place": "pictures"})
    wait_until(lambda: screen.newest.mean() < 100)
    screen.shown.hear({"type": "resize", "width": 400.0, "height": 300.0, "ratio": 1.5})
    wait_until(lambda: screen.newest.shape == (450, 600, 3))
    hand = [{"type": kind, "x": x, "y": 120, "button": 1, "ratio": 1.0, "modifiers": []}
            for kind, x in (("pointer_down", 200), ("pointer_move", 260), ("pointer_up", 260))]  # fmt: skip
    for events in (hand, [{"type": "wheel", "x": 200, "y": 120, "dx": 0.0, "dy": -120.0}]):
        before = screen.ask(lambda play: play.viewer.bench.camera.matrix)
        for event in events:
            screen.shown.hear(event)
        assert not np.array_equal(screen.ask(lambda play: play.viewer.bench.camera.matrix), before)


def test_words_are_escaped_and_what_is_missing_or_for_a_player_is_said(monkeypatch, scene):
    said = output_of(None, 'x"><script>alert(1)</script>', "a").html
    assert said == '<p class="a">x&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>'
    with sv.Recording(scene, every=1) as recording:
        scene.run.step(3)
        with recording.read() as read, pytest.raises(InputError, match=r"sv\.player"):
            sv.live(read.compare(read))
    live_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    try:
        with pytest.raises(MissingDependencyError, match=re.escape("pip install 'scalarviz[notebook]'")):
            sv.live(nn.Linear(2, 2))
    finally:
        live_class.cache_clear()


# ---- graphs


def test_a_graph_follows_its_numbers():
    a, w = sv.Value(2.0), sv.Weight(-0.75, name="w")
    z = (a * w).tanh()
    assert [is_graph(one) for one in (z, [z, z + 1.0], w, [], None)] == [True, True, False, False, False]
    for chosen in ({"display": "pictures"}, {"hide": ("timeline",)}, {"controls": False}):
        with pytest.raises(InputError, match="a graph takes no display, hide or controls"):
            sv.live(z, **chosen)
    widget, sent = sv.live(z), []
    shown = widget._shown
    assert isinstance(shown, GraphShown)
    shown.post = lambda content, buffers: sent.append(content)
    shown.hear({"kind": "ready", "place": "x"})
    assert sent[0]["kind"] == "graph"
    assert all(text in sent[0]["svg"] for text in (">w<", ">z<"))  # z: the variable that holds it
    widget.update()
    assert len(sent) == 1  # nothing is new
    z.backward()
    widget.update()
    assert [one["svg"] == sent[0]["svg"] for one in sent] == [True, False]
    shown.appear()
    assert re.match(r'<img class="scalarviz-still-\w+" alt="graph of z" src="data:image/svg', shown.still.output.html)
    assert "This picture does not move." in shown.still.output.html
    data, _ = shown.still.output._repr_mimebundle_()
    assert (data["image/svg+xml"], data["text/plain"]) == (shown._drawing.svg, "graph of z")  # for who shows no HTML
    with pytest.raises(InputError, match="a graph has no steps"):
        widget.update(loss=1.0)
    with pytest.raises(InputError, match="a graph has no action 'step'"):
        widget.act("step")
    widget.close()
    with pytest.raises(StateError):
        widget.update()
