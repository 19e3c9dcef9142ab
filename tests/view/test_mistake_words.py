"""A mistake that is made on purpose is named in the picture while it is on, and of a Run only what is true of it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import mistakes, nn, optim
from scalarviz.view.graph_view import GraphView
from scalarviz.view.ink.sketch import TextItem
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl


def net():
    return nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2))


def said(subject, size=(680, 510)):
    """The texts of a picture that speak of mistakes, with where they end."""
    with offscreen():
        bench = Workbench(subject, size)
        bench.update(bench.subject.source.frame())
        found = [(item.text, item.x, item.y) for sketch in bench.sketches for item in sketch.texts]
    return [(text, x, y) for text, x, y in found if "mistake" in text]


def test_a_net_of_a_loop_by_hand():
    model = net()
    assert said(model) == []
    with mistakes.overwrite(), mistakes.wrong_order("found"):
        ((text, x, y),) = said(model)
        assert text == "mistake on: overwrite, wrong_order (found)"
        assert 0 <= x < 100
        assert 300 < y < 500
    assert said(model) == []


@pytest.mark.parametrize("size", [(240, 360), (1280, 720), (320, 180)])
def test_the_words_fit(size):
    weight = sv.Weight(2.0)
    before = sv.render(weight, size)
    with mistakes.overwrite(), mistakes.no_zero_grad(), mistakes.missing_factor("square"):
        ((text, _, y),) = said(weight, size)
        during = sv.render(weight, size)
    assert text in ("3 mistakes on", "mistake on: overwrite, no_zero_grad, missing_factor (square)")
    assert y <= size[1]
    assert (before != during).any()
    assert (before == sv.render(weight, size)).all()
    rows, columns = np.nonzero((before != during).any(axis=2))
    assert columns.max() < size[0] - 10  # nothing is cut
    assert rows.max() < size[1]


def test_a_run_makes_none_but_that_of_its_beginning():
    model = net()
    run = sv.Run(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1), data=(np.eye(3), np.eye(3)[:, :2]),
                 engine="numpy")  # fmt: skip
    with mistakes.overwrite():
        assert said(run) == []
    with mistakes.symmetric_init(), mistakes.overwrite():
        ((text, _, _),) = said(run)
    assert "mistake on: symmetric_init" in text
    assert "overwrite" not in text
    run.close()


def test_a_cell_says_it_with_the_frame_that_it_is_true_of():
    pytest.importorskip("anywidget")
    from scalarviz.view.cell.play import head

    with offscreen():
        with mistakes.overwrite():
            viewer = Seen(Workbench(net(), (340, 255)))
            assert head(viewer, viewer.frame)["pace"].startswith("mistake on: overwrite")
        assert "mistake" not in head(viewer, viewer.frame)["pace"]


class Seen:
    """What a cell's words are made of."""

    def __init__(self, bench):
        self.bench, self.frame = bench, bench.subject.source.frame()
        bench.update(self.frame)

    def pace_text(self, frame):
        return ""


def test_a_picture_of_another_thread_says_it_too():
    model, found = net(), []
    with mistakes.overwrite():
        thread = threading.Thread(target=lambda: found.extend(said(model)))
        thread.start()
        thread.join(30)
    assert [text for text, _, _ in found] == ["mistake on: overwrite"]


def letters(drawing, theme):
    """Texts of a graph's picture that speak of mistakes, with the picture's size."""
    ink = drawing.ink(theme)
    return [one for one in ink if isinstance(one, TextItem) and "mistake" in one.text], (ink.width, ink.height)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_picture_of_a_graph_names_it_while_it_is_on_and_when_it_was_made_with_it(theme):
    a = sv.Value(3.0)
    b = a * a
    (b + a).backward()
    plain = sv.draw(b + a, theme=theme)
    before, picture = plain.svg, plain.pixels()
    assert letters(plain, theme)[0] == []
    with mistakes.wrong_order("found"), mistakes.overwrite():
        made = sv.draw(b + a, theme=theme)
        for drawing in (plain, made):
            (words,), (width, height) = letters(drawing, theme)
            assert words.text == "mistake on: wrong_order (found), overwrite"
            assert words.x + words.width <= width
            assert words.y < height - 2
        during = plain.pixels()
        assert during.shape[0] > picture.shape[0]
        high, wide = min(during.shape[0], picture.shape[0]) - 60, min(during.shape[1], picture.shape[1])
        apart = np.abs(during[:high, :wide].astype(int) - picture[:high, :wide])
        assert apart.max() <= 2  # it stands below, over nothing; edges of curves are rounded otherwise
    assert plain.svg == before
    (words,), (width, _) = letters(made, theme)
    assert words.text == "drawn while a mistake was on: wrong_order (found), overwrite"
    assert words.x + words.width <= width
    assert "drawn while a mistake was on" in made.svg


def test_the_window_of_a_graph_names_it_too():
    with offscreen():
        a = sv.Value(2.0)
        view = GraphView(sv.draw(a * a), (640, 360))
        before = view.ink.height
        with mistakes.no_zero_grad():
            view._again()
            assert [one.text for one in view.ink if isinstance(one, TextItem)][-1] == "mistake on: no_zero_grad"
            assert view.ink.height > before
        view._again()
        assert view.ink.height == before
