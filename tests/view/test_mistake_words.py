"""A mistake that is made on purpose is named in the picture while it is on."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import bench_of, texts
from scalarviz import mistakes, nn, optim
from scalarviz.view.graph_view import GraphView
from scalarviz.view.ink.sketch import TextItem
from scalarviz.view.out.offscreen import offscreen


def said(subject, size=(680, 510)):
    """The texts of a picture that speak of mistakes; they begin at the left, and nothing of them is cut."""
    found = [item for item in texts(bench_of(subject, size).sketches) if "mistake" in item.text]
    assert all(0 <= one.x < 100 and one.x + one.width <= size[0] and 0 < one.y < size[1] for one in found)
    return [one.text.rstrip(" ·") for one in found]


@pytest.mark.parametrize("size", [(680, 510), (240, 360), (1280, 720), (320, 180)])
def test_it_is_named_while_it_is_on_in_any_thread_and_a_run_makes_none_but_that_of_its_beginning(size):
    model, found = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), []
    assert said(model, size) == []
    with mistakes.overwrite(), mistakes.wrong_order("found"), mistakes.no_zero_grad():
        thread = threading.Thread(target=lambda: found.append(said(model, size)))
        thread.start()
        thread.join(30)
        assert found == [said(model, size)]
    assert found[0][0] in ("3 mistakes on", "mistake on: overwrite, wrong_order (found), no_zero_grad")
    assert said(model, size) == []
    data, sgd = (np.eye(3), np.eye(3)[:, :2]), optim.SGD(model.parameters(), lr=0.1)
    with sv.Run(model, nn.MSELoss(), sgd, data=data, engine="numpy") as run, mistakes.overwrite():
        assert said(run, size) == []
        with mistakes.symmetric_init():
            assert said(run, size) == ["mistake on: symmetric_init"]


def words_in(ink):
    """Texts of a graph's picture that speak of mistakes: within it, at its foot."""
    found = [one for one in ink if isinstance(one, TextItem) and "mistake" in one.text]
    assert all(one.x + one.width <= ink.width and ink.height - 60 < one.y < ink.height - 2 for one in found)
    return [one.text for one in found]


@pytest.mark.gl
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_picture_of_a_graph_names_it_while_it_is_on_and_when_it_was_made_with_it(theme):
    a = sv.Value(3.0)
    b = a * a
    (b + a).backward()
    plain = sv.draw(b + a, theme=theme)
    before, high = plain.svg, plain.ink(theme).height
    with offscreen():
        view = GraphView(plain, (640, 360))
        with mistakes.wrong_order("found"), mistakes.overwrite():
            made = sv.draw(b + a, theme=theme)
            view._again()
            for ink in (plain.ink(theme), made.ink(theme), view.ink):
                assert words_in(ink) == ["mistake on: wrong_order (found), overwrite"]
            assert plain.ink(theme).height > high  # it stands below, over nothing
        view._again()
    assert words_in(plain.ink(theme)) == words_in(view.ink) == []
    assert plain.svg == before
    assert words_in(made.ink(theme)) == ["drawn while a mistake was on: wrong_order (found), overwrite"]
    assert "drawn while a mistake was on" in made.svg
