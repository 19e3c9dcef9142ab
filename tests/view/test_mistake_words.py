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


def said(subject, size=(680, 510)):
    """The texts of a picture that speak of mistakes; they begin at the left, and nothing of them is cut."""
    bench = Workbench(subject, size)
    bench.update(bench.subject.source.frame())
    found = [item for sketch in bench.sketches for item in sketch.texts if "mistake" in item.text]
    for one in found:
        assert 0 <= one.x < 100
        assert one.x + one.width <= size[0]
        assert 0 < one.y < size[1]
    return [one.text.rstrip(" ·") for one in found]


@pytest.mark.parametrize("size", [(680, 510), (240, 360), (1280, 720), (320, 180)])
def test_a_net_of_a_loop_by_hand_while_it_is_on_in_any_thread(size):
    model, found = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), []
    assert said(model, size) == []
    with mistakes.overwrite(), mistakes.wrong_order("found"), mistakes.no_zero_grad():
        thread = threading.Thread(target=lambda: found.append(said(model, size)))
        thread.start()
        thread.join(30)
        found.append(said(model, size))
    assert found[0] == found[1]
    assert found[0][0] in ("3 mistakes on", "mistake on: overwrite, wrong_order (found), no_zero_grad")
    assert said(model, size) == []


def test_a_run_makes_none_but_that_of_its_beginning():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    run = sv.Run(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1), data=(np.eye(3), np.eye(3)[:, :2]),
                 engine="numpy")  # fmt: skip
    with mistakes.overwrite():
        assert said(run) == []
        with mistakes.symmetric_init():
            assert said(run) == ["mistake on: symmetric_init"]
    run.close()


def words_in(ink):
    """Texts of a graph's picture that speak of mistakes: within it, at its foot."""
    found = [one for one in ink if isinstance(one, TextItem) and "mistake" in one.text]
    assert all(one.x + one.width <= ink.width and ink.height - 60 < one.y < ink.height - 2 for one in found)
    return [one.text for one in found]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_picture_of_a_graph_names_it_while_it_is_on_and_when_it_was_made_with_it(theme):
    a = sv.Value(3.0)
    b = a * a
    (b + a).backward()
    plain = sv.draw(b + a, theme=theme)
    before, high = plain.svg, plain.ink(theme).height
    assert words_in(plain.ink(theme)) == []
    with mistakes.wrong_order("found"), mistakes.overwrite():
        made = sv.draw(b + a, theme=theme)
        for drawing in (plain, made):
            assert words_in(drawing.ink(theme)) == ["mistake on: wrong_order (found), overwrite"]
        assert plain.ink(theme).height > high  # it stands below, over nothing
    assert plain.svg == before
    assert words_in(made.ink(theme)) == ["drawn while a mistake was on: wrong_order (found), overwrite"]
    assert "drawn while a mistake was on" in made.svg


@pytest.mark.gl
def test_the_window_of_a_graph_names_it_too():
    with offscreen():
        a = sv.Value(2.0)
        view = GraphView(sv.draw(a * a), (640, 360))
        before = view.ink.height
        with mistakes.no_zero_grad():
            view._again()
            assert words_in(view.ink) == ["mistake on: no_zero_grad"]
        view._again()
        assert (words_in(view.ink), view.ink.height) == ([], before)
